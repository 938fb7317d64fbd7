/* Makes the golden file of what version 1.5 of the format has more than 1.4, columns for events of
   memory, with a listing:

       ninja -C build/main tests/core/make_memory
       build/main/tests/core/make_memory tests/golden

   v1.4-memory was made by the recorder of version 1.4 in the same way. make_golden.c tells about
   golden files. */
#include <string.h>

#include "heapmade.h"
#include "listing.h"

enum { BLOCKS = 40 };

static uint32_t in_load, in_parse;

/* Blocks of many sizes, some freed, allocated again and moved; some are too large for the columns. */
static void use_blocks(double from, uint64_t base)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        const uint64_t address = base + i * 4096, size = 1u << i % 18;
        const double time = from + 20 * i;
        heapmade_alloc(time, i % 3 ? "malloc" : "PyObject_Malloc", address, size,
                       i % 2 ? in_load : in_parse);
        if (i % 4 == 1)
            heapmade_free(time + 5, address);
        if (i % 4 == 2)
            heapmade_realloc(time + 5, address, address + 2048, size + 100, in_load);
        if (i % 8 == 1)
            heapmade_alloc(time + 10, "malloc", address, size, in_parse);
    }
}

static void *work(void *arg)
{
    (void)arg;
    use_blocks(5000, UINT64_C(0x7e0000000010));
    return NULL;
}

static void record(const char *path)
{
    heapmade_begin(path, "exact");
    uint32_t outer = heapmade_line("main", "app.py", 1, 5);
    in_load = heapmade_stack_of(outer, heapmade_line("load", "app.py", 10, 12));
    in_parse = heapmade_stack_of(outer, heapmade_line("größe", "lib/parse.py", 20, 22));
    heapmade_resident(10, 1 << 20);
    heapmade_map(20, "mmap", UINT64_C(0x7f0000000000), 1 << 20, in_load);
    heapmade_map(30, "mmap", UINT64_C(0x7f8000000000), 8192, in_load);
    use_blocks(100, UINT64_C(0x10000));
    struct kymo_span span = kymo_span_begin("between");
    heapmade_free(4000, UINT64_C(0xffff123456789abc)); /* far away, */
    heapmade_free(3000, 0x20000);                      /* and earlier */
    kymo_span_end(span);
    heapmade_unmap(4500, UINT64_C(0x7f0000000000), 1 << 20);
    heapmade_thread(work, NULL);
    heapmade_snapshot(6000, 2, "asked");
    heapmade_ok(kymo_stop());
}

int main(int argc, char **argv)
{
    char path[512], text[512];
    struct kymo_capture *capture;
    if (argc < 2 || argc > 3)
        return 2;
    const char *version = argc == 3 ? argv[2] : "1.5";
    snprintf(path, sizeof(path), "%s/v%s-memory.kymo", argv[1], version);
    snprintf(text, sizeof(text), "%s/v%s-memory.txt", argv[1], version);
    record(path);
    FILE *out = fopen(text, "w");
    if (!out || kymo_open(path, &capture) < 0 || list_capture(out, capture) < 0)
        return 1;
    kymo_close(capture);
    return fclose(out) == 0 ? 0 : 1;
}
