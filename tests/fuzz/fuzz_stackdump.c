/* Any bytes can be read as a raw dump of stacks, and printed. */
#include <fcntl.h>
#include <kymo/stackdump.h>
#include <kymo/symbol.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int null = -1;
    if (null < 0)
        null = open("/dev/null", O_WRONLY);
    int raw = memfd_create("raw", MFD_CLOEXEC);
    if (raw < 0 || null < 0)
        abort();
    if (write(raw, data, size) == (ssize_t)size && lseek(raw, 0, SEEK_SET) == 0)
        kymo_stacks_print(raw, null, KYMO_SYMBOL_NONE);
    close(raw);
    return 0;
}
