/* heap_history FILE WHAT [COUNT]: write a capture with memory events.

   few: a handful that can be checked by hand. many: COUNT random ones with everything that may occur
   in a real capture. live: only what was alive. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heapmade.h"

static uint64_t state = UINT64_C(0x243f6a8885a308d3);

static uint64_t below(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % limit;
}

/* 300 bytes at the peak, after 3 ms, and 200 at the end; a mapping of 1 MiB from 4 to 5 ms. */
static void few(void)
{
    uint32_t outer = heapmade_line("main", "app.py", 1, 5);
    uint32_t load = heapmade_stack_of(outer, heapmade_line("load", "app.py", 10, 12));
    uint32_t parse = heapmade_stack_of(outer, heapmade_line("größe", "lib/parse.py", 20, 22));
    kymo_span_end(kymo_span_begin("work"));
    heapmade_resident(500, 4096);
    heapmade_alloc(1000, "malloc", 0x10000, 100, load);
    heapmade_alloc(3000, "PyObject_Malloc", 0x20000, 200, parse);
    heapmade_free(3500, 0x10000);
    heapmade_map(4000, "mmap", 0x7f0000000000, 1 << 20, load);
    heapmade_free(4500, 0x99990); /* allocated before the start */
    heapmade_unmap(5000, 0x7f0000000000, 1 << 20);
    heapmade_resident(5500, 8192);
    heapmade_snapshot(6000, 2, "asked");
}

enum { SLOTS = 4096, STACKS = 200, MAPPINGS = 8 };

/* Blocks have places of their own, so that none overlaps another: small ones in a heap, large ones
   in mappings, and tracked ones inside a mapping. */
static uint64_t place_of(uint64_t slot)
{
    if (slot % 64 == 63)
        return 0x7f1000000010 + slot * (UINT64_C(4) << 20);
    return slot % 3 ? 0x555500001000 + slot * 4096 : 0x7f8000000000 + slot * 4096;
}

static void many(uint64_t count)
{
    static uint64_t held[SLOTS], mapped[MAPPINGS];
    static char names[STACKS][32];
    uint32_t stacks[STACKS], outer = heapmade_line("main", "app.py", 1, 5);
    static const char *const functions[] = {"malloc", "PyObject_Malloc", "PyMem_Malloc",
                                            "operator new"};
    for (int i = 0; i < STACKS; i++) {
        snprintf(names[i], sizeof(names[i]), "function_%d", i);
        stacks[i] =
            heapmade_stack_of(outer, heapmade_line(names[i], "app.py", 10 * i + 1, 10 * i + 3));
    }
    /* The tracked blocks of every third slot lie in it. */
    heapmade_map(1, "mmap", 0x7f8000000000, (uint64_t)SLOTS * 4096, stacks[0]);
    for (uint64_t i = 0; i < count; i++) {
        double time = 10 + (double)i / 10;
        uint64_t slot = below(SLOTS), address = place_of(slot);
        uint64_t size = slot % 64 == 63 ? (128 << 10) + below(3 << 20) : 1 + below(4000);
        uint32_t stack = stacks[below(STACKS)];
        if (i % 1000 == 0)
            heapmade_resident(time, 1 << 20 | i);
        if (i % 500 == 499) {
            uint64_t which = below(MAPPINGS), at = 0x7fa000000000 + which * (1 << 24);
            if (mapped[which] && below(2)) /* half of it */
                heapmade_unmap(time, at + mapped[which] / 2, mapped[which] / 2);
            else
                heapmade_map(time, "mmap", at, mapped[which] = (1 + below(100)) * 8192, stack);
            continue;
        }
        if (!held[slot]) {
            heapmade_alloc(time, slot % 3 ? functions[below(4)] : "tracked numpy", address, size,
                           stack);
            held[slot] = 1;
        } else if (slot % 3 && below(4) == 0) {
            heapmade_realloc(time, address, address, size, stack);
        } else {
            heapmade_free(time, address);
            held[slot] = 0;
        }
    }
}

static void live(void)
{
    uint32_t outer = heapmade_line("main", "app.py", 1, 5);
    uint32_t load = heapmade_stack_of(outer, heapmade_line("load", "app.py", 10, 12));
    heapmade_held(1000, 0, 5000, 3, load, "malloc");
    heapmade_held(1000, 0, 700, 2, heapmade_stack_of(outer, 0), "PyObject_Malloc");
    heapmade_held(1000, 1, 9000, 7, load, "malloc");
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    bool alive = strcmp(argv[2], "live") == 0;
    heapmade_begin(argv[1], alive ? "live" : "exact");
    if (alive)
        live();
    else if (strcmp(argv[2], "many") == 0)
        many(strtoull(argc > 3 ? argv[3] : "10000", NULL, 10));
    else
        few();
    return kymo_stop() < 0;
}
