/* The memory of a web application that never existed, as a recorder would write it:
   heap_story PATH [exact|fixed|sampled|live|disorder|missed|killed].

   Each request parses a body with a library (1 MiB each, freed at once), keeps a session of 10 KiB
   for good and fills a cache of 64 KiB pages, of which it drops the oldest. "fixed" drops the
   sessions too. Two megabytes are mapped at the start, an arena holds the small objects. */
#include <signal.h>

#include "heapmade.h"

enum { REQUESTS = 100, PAGES = 8 };

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static uint32_t in_main, in_parse, in_session, in_cache, in_start, in_worker;

static void find_places(void)
{
    static const char app[] = "/srv/shop/app.py";
    uint32_t serve = heapmade_line("serve", app, 40, 44),
             handle = heapmade_line("handle", app, 10, 14);
    in_main = heapmade_stack_of(0, heapmade_line("<module>", app, 1, 60));
    in_parse = heapmade_stack_of(
        handle,
        heapmade_line("loads", "/usr/lib/python3.13/site-packages/fastjson/reader.py", 5, 9));
    in_session = heapmade_stack_of(serve, heapmade_line("Session.__init__", app, 20, 23));
    in_cache = heapmade_stack_of(serve, heapmade_line("Cache.add", app, 30, 33));
    in_start = heapmade_stack_of(0, heapmade_line("setup", app, 50, 52));
    in_worker = heapmade_stack_of(0, heapmade_line("worker", app, 70, 71));
}

static void *work(void *arg)
{
    (void)arg;
    heapmade_alloc(500000, "malloc", 0x7700000000, 3 * MIB, in_worker);
    heapmade_free(600000, 0x7700000000);
    return NULL;
}

static void serve(bool keep)
{
    heapmade_resident(0, 20 * MIB);
    heapmade_free(10, 0x4444000);
    heapmade_map(100, "mmap", 0x7f0000000000, 2 * MIB, in_start);
    heapmade_map(200, "arena", 0x7e0000000000, MIB, in_main);
    for (uint64_t i = 0; i < 1200; i++)
        heapmade_alloc(300, "PyObject_Malloc", 0x7e0000000040 + 512 * i, 512, in_main);
    heapmade_thread(work, NULL);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        double time = 1000 + 10000 * (double)i;
        uint64_t body = 0x10000000, page = 0x20000000 + i % PAGES * 0x100000;
        heapmade_alloc(time, "malloc", body, MIB, in_parse);
        if (i >= PAGES)
            heapmade_free(time + 100, page);
        heapmade_alloc(time + 200, "PyMem_Malloc", page, 64 * KIB, in_cache);
        heapmade_alloc(time + 300, "PyObject_Malloc", 0x30000000 + i * 0x10000, 10 * KIB,
                       in_session);
        heapmade_free(time + 400, body);
        if (!keep)
            heapmade_free(time + 500, 0x30000000 + i * 0x10000);
        if (i % 10 == 0)
            heapmade_resident(time + 600, (24 + i / 20) * MIB);
    }
    heapmade_snapshot(1001000, 2, "signal");
    if (keep)
        heapmade_object(1002000, 0, REQUESTS, REQUESTS * 2 * KIB, REQUESTS * 8 * KIB, "Session",
                        in_session, "module app → sessions: dict → Session");
    heapmade_resident(1003000, 30 * MIB);
}

static void serve_live(void)
{
    heapmade_held(1000, 0, MIB, 100, in_session, "PyObject_Malloc");
    heapmade_held(1000, 0, 512 * KIB, 8, in_cache, "PyMem_Malloc");
    heapmade_held(1100, 1, 7 * MIB, 110, in_parse, "malloc");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    const char *story = argc > 2 ? argv[2] : "exact";
    bool sampled = strcmp(story, "sampled") == 0, live = strcmp(story, "live") == 0;
    heapmade_begin(argv[1], sampled || live ? story : "exact");
    find_places();
    if (sampled)
        kymo_metadata("memory.rate", "524288");
    if (strcmp(story, "missed") == 0)
        kymo_metadata("memory.missed", "1 library allocates by itself: libown.so");
    if (live)
        serve_live();
    else
        serve(strcmp(story, "fixed") != 0);
    if (strcmp(story, "disorder") == 0)
        heapmade_alloc(1004000, "malloc", 0x30000000, 5, in_main);
    if (strcmp(story, "killed") == 0)
        raise(SIGKILL);
    heapmade_ok(kymo_stop());
    return 0;
}
