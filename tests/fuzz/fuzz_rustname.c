/* Any bytes can be taken for a name of Rust's, and what comes of it is text of a bounded size. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "demangle.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    char *name = malloc(size + 3), *text;
    memcpy(name, "_R", 2);
    if (size)
        memcpy(name + 2, bytes, size);
    if (kymo__demangle_rust(name, size + 2, &text) < 0)
        abort();
    if (text && strlen(text) > 16384)
        abort();
    kymo__free(text);
    free(name);
    return 0;
}
