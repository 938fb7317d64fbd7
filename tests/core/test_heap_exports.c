/* Exports of memory: what the parts of the snapshot writer promise, and memory that runs out. */
#include <errno.h>
#include <kymo/kymo.h>
#include <unistd.h>

#include "alloc.h"
#include "check.h"
#include "heapmade.h"
#include "hostsegments.h"
#include "rankset.h"

static void a_rankset_finds_neighbours(void)
{
    enum { MOST = 70000 };
    static const size_t members[] = {0, 63, 64, 4095, 4096, 69999};
    struct kymo_rankset set;
    CHECK_OK(kymo__rankset_init(&set, MOST));
    CHECK_EQ(kymo__rankset_below(&set, MOST), SIZE_MAX);
    CHECK_EQ(kymo__rankset_above(&set, 0), SIZE_MAX);
    for (size_t i = 0; i < 6; i++)
        kymo__rankset_add(&set, members[i]);
    for (size_t i = 0; i < 5; i++) {
        CHECK_EQ(kymo__rankset_below(&set, members[i + 1] - 1), members[i]);
        CHECK_EQ(kymo__rankset_above(&set, members[i] + 1), members[i + 1]);
        CHECK_EQ(kymo__rankset_above(&set, members[i]), members[i]);
    }
    CHECK_EQ(kymo__rankset_above(&set, MOST), SIZE_MAX);
    kymo__rankset_remove(&set, 4096);
    CHECK_EQ(kymo__rankset_below(&set, 69998), 4095);
    CHECK_EQ(kymo__rankset_above(&set, 4096), 69999);
    kymo__rankset_remove(&set, 0);
    CHECK_EQ(kymo__rankset_below(&set, 62), SIZE_MAX);
    kymo__rankset_fini(&set);
}

static void add_block(struct kymo_kept_blocks *kept, uint64_t address, uint64_t bytes,
                      uint64_t born, uint64_t died, bool mapping)
{
    const struct kymo_kept_block block = {
        .address = address, .bytes = bytes, .born = born, .died = died, .mapping = mapping};
    CHECK_OK(kymo__kept_add(kept, &block));
}

static void what_is_folded_is_small_and_short_lived(void)
{
    struct kymo_kept_blocks kept = {.to = 1000, .limit = 30};
    for (uint64_t i = 1; i <= 100; i++)
        add_block(&kept, i << 20, i, 10, 10 + i, false); /* areas grow with i; three entries each */
    CHECK_EQ(kept.count, 10);
    CHECK_EQ(kept.entries, 30);
    CHECK_EQ(kept.folded.count, 90);
    CHECK_EQ(kept.folded.largest, 90);
    for (size_t i = 0; i < kept.count; i++)
        CHECK_LE(91, kept.all[i].bytes);
    kymo__kept_shrink(&kept, 4);
    CHECK_EQ(kept.count, 8);
    CHECK_EQ(kept.folded.count, 92);
    kymo__kept_fini(&kept);
}

static void a_block_in_another_is_left_out(void)
{
    struct kymo_kept_blocks kept = {.to = 1000, .limit = 1000};
    struct kymo_host_segments segments;
    add_block(&kept, 0x1000, 0x100, 1, 10, false);
    add_block(&kept, 0x1080, 0x10, 5, 20, false);  /* in the first, which is alive */
    add_block(&kept, 0x1080, 0x10, 10, 30, false); /* not any more; the one before was left out */
    CHECK_OK(kymo__host_segments_init(&segments, &kept));
    CHECK_EQ(kept.overlapping, 1);
    CHECK_EQ(segments.count, 1);
    CHECK_EQ(kymo__host_segments_walk(&segments, NULL, NULL), 1 + 3 + 3);
    kymo__host_segments_fini(&segments);
    kymo__kept_fini(&kept);
}

static void a_mapping_is_the_segment_of_blocks_in_it(void)
{
    struct kymo_kept_blocks kept = {.to = 1000, .limit = 1000};
    struct kymo_host_segments segments;
    add_block(&kept, 0x7f0000000000, 1 << 20, 1, 100, true);
    add_block(&kept, 0x7f0000001000, 64, 5, 20, false);
    add_block(&kept, 0x7f0000200000, 1 << 20, 7, UINT64_MAX, true); /* nothing in it: a block */
    CHECK_OK(kymo__host_segments_init(&segments, &kept));
    CHECK_EQ(segments.count, 2);
    CHECK_EQ(segments.all[0].bytes, 1 << 20);
    /* segment, block, its free, the other segment and its block, the end of the first segment. */
    CHECK_EQ(kymo__host_segments_walk(&segments, NULL, NULL), 1 + 1 + 2 + 2 + 1);
    CHECK(!segments.all[0].open);
    CHECK(segments.all[1].open);
    kymo__host_segments_fini(&segments);
    kymo__kept_fini(&kept);
}

static void memory_may_run_out(void)
{
    static const char *const formats[] = {"snapshot", "timeline", "pprof", "html", "collapsed"};
    struct kymo_capture *capture;
    heapmade_begin(check_path("short.kymo"), "exact");
    uint32_t stack = heapmade_stack_of(0, heapmade_line("main", "app.py", 1, 5));
    for (int i = 0; i < 40; i++)
        heapmade_alloc(10 + i, "malloc", 0x10000 + 0x1000 * (uint64_t)i, 100, stack);
    for (int i = 0; i < 20; i++)
        heapmade_free(100 + i, 0x10000 + 0x1000 * (uint64_t)i);
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path("short.kymo"), &capture));
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        const struct kymo_export_options options = {.size = sizeof(options),
                                                    .format = formats[i],
                                                    .to = INT64_MAX,
                                                    .thread = -1,
                                                    .of = KYMO_OF_MEMORY};
        long n = 0;
        int rc;
        unlink(check_path("short"));
        do {
            kymo__alloc_fail_after(n++);
            rc = kymo_export(capture, check_path("short"), &options);
            kymo__alloc_fail_after(-1);
            CHECK(rc == 0 || rc == -ENOMEM);
            CHECK_EQ(access(check_path("short"), F_OK) == 0, rc == 0);
            CHECK_LE(n, 2000);
        } while (rc < 0);
        CHECK_LE(5, n);
    }
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_rankset_finds_neighbours),
    CHECK_CASE(what_is_folded_is_small_and_short_lived),
    CHECK_CASE(a_block_in_another_is_left_out),
    CHECK_CASE(a_mapping_is_the_segment_of_blocks_in_it),
    CHECK_CASE(memory_may_run_out),
};

CHECK_MAIN(cases)
