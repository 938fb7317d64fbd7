/* Every block that is written gets a checkpoint and a summary, whoever writes it and however far
   the writer thread falls behind. */
#include <pthread.h>

#include "calls.h"
#include "fault.h"
#include "scan.h"
#include "summaries.h"
#include "tape.h"

enum {
    BURST = FAULT_TIMES(24000000, 600000), /* records: more than a second of work for the writer */
    GROUP = 6,                             /* records that are stored at a time */
    THREADS = 3,
    TAIL = 8 << 10,   /* bytes at the end of a thread that need no summary */
    NEAR = 256 << 10, /* records that are few to decode */
};

static void start(const char *name, int policy, uint64_t budget)
{
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path(name),
                                               .clock = 1,
                                               .policy = policy,
                                               .budget = budget}));
    tape_zero = kymo_ticks();
}

/* Record COUNT events at once: calls of one function, two in each. Returns how many had room. */
static uint64_t burst(uint64_t count)
{
    uint32_t outer = tape_function("outer"), left = tape_function("left"),
             right = tape_function("right");
    const uint64_t words[GROUP] = {
        kymo_word(KYMO_ENTER, 0, outer), kymo_word(KYMO_ENTER, 0, left),
        kymo_word(KYMO_LEAVE, 0, left),  kymo_word(KYMO_ENTER, 0, right),
        kymo_word(KYMO_LEAVE, 0, right), kymo_word(KYMO_LEAVE, 0, outer),
    };
    uint64_t ticks = tape_zero, chance = 1, stored = 0;
    for (uint64_t i = 0; i < count / GROUP; i++) {
        struct kymo_lane *lane;
        struct kymo_record *at = kymo_lane_claim(&lane, GROUP);
        chance = chance * UINT64_C(6364136223846793005) + 1;
        for (unsigned k = 0; at && k < GROUP; k++) {
            ticks += 10 + (chance >> (20 + 7 * k)) % 64;
            kymo_lane_store(at + k, ticks, words[k]);
        }
        if (at)
            kymo_lane_commit(lane, at + GROUP);
        stored += at ? GROUP : 0;
    }
    return stored;
}

/* The summaries of each thread of CAPTURE follow one another without a hole, to its end. */
static void all_is_summarized(const struct kymo_capture *capture)
{
    const struct kymo_reader *r = capture->reader;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct kymo_reader_thread *t = &r->threads[i];
        const struct kymo_thread_more *more = kymo__thread_more(r, (uint32_t)i);
        uint64_t next = 0, rest = 0;
        for (size_t k = more->summary; k < more->summary + more->summaries; k++) {
            CHECK_EQ(r->summaries[k].header.first_chunk, next);
            next += r->summaries[k].header.chunks;
        }
        for (size_t k = t->run; k < t->run + t->runs; k++) {
            struct kymo_block_header header;
            if (r->runs[k].first_chunk < next)
                continue;
            CHECK_EQ(kymo__scan_header(capture->reader, r->runs[k].offset, &header), 1);
            rest += (uint64_t)kymo__block_bytes(&header);
        }
        CHECK_LE(rest, TAIL);
    }
}

/* How many records a reader decodes before it reaches the window that begins at FROM. */
static uint64_t records_before(struct kymo_capture *capture, uint32_t thread, kymo_ns from)
{
    const struct kymo_reader *r = capture->reader;
    const struct kymo_reader_thread *t = &r->threads[thread];
    const struct kymo_visitor nobody = {0};
    struct kymo_calls calls;
    size_t hint = 0;
    uint64_t records = 0;
    CHECK_OK(kymo__calls_init(&calls, capture, thread, from, INT64_MAX, &nobody));
    for (size_t i = calls.stream.run; i < t->run + t->runs; i++) {
        if (kymo__timebase_ns(&capture->base, r->runs[i].first_ticks, &hint) < from)
            records += r->runs[i].events;
    }
    kymo__calls_fini(&calls);
    return records;
}

static void windows_are_near(struct kymo_capture *capture)
{
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_info(capture, &info));
    for (uint32_t thread = 0; thread < capture->reader->thread_count; thread++)
        for (int i = 0; i <= 20; i++)
            CHECK_LE(records_before(capture, thread, info.start + (info.end - info.start) / 20 * i),
                     NEAR);
}

static uint64_t summary_bytes(const struct kymo_capture *capture)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < capture->reader->summary_count; i++)
        bytes += kymo__block_bytes(&capture->reader->summaries[i].header);
    return bytes;
}

static void a_burst_is_summarized_to_its_last_block(void)
{
    start("burst.kymo", KYMO_HELP, 0);
    CHECK_EQ(burst(BURST), BURST);
    struct kymo_capture *capture = tape_stop("burst.kymo");
    all_is_summarized(capture);
    windows_are_near(capture);
    CHECK_LE(summary_bytes(capture) * 50, capture->reader->file_bytes);
    kymo_close(capture);
}

static void *burst_thread(void *arg)
{
    (void)arg;
    burst(BURST / 40);
    return NULL;
}

static void record_threads(const char *name)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, burst_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct kymo_capture *capture = tape_stop(name);
    all_is_summarized(capture);
    windows_are_near(capture);
    kymo_close(capture);
}

static void threads_that_help_to_write_are_summarized(void)
{
    start("threads.kymo", KYMO_HELP, SMALL_BUDGET);
    record_threads("threads.kymo");
}

static void threads_that_drop_records_are_summarized(void)
{
    start("drops.kymo", KYMO_DROP, SMALL_BUDGET);
    record_threads("drops.kymo");
}

static const struct check_case cases[] = {
    CHECK_CASE(a_burst_is_summarized_to_its_last_block),
    CHECK_CASE(threads_that_help_to_write_are_summarized),
    CHECK_CASE(threads_that_drop_records_are_summarized),
};

CHECK_MAIN(cases)
