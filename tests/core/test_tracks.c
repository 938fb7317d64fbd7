/* Tracks: finished events of many of them share chunks, leave while the program runs, survive a
   kill, and have the times of the clock they were measured with. */
#include <errno.h>
#include <kymo/source.h>
#include <kymo/track.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "check.h"

static void begin(const char *name, uint64_t budget)
{
    CHECK_OK(kymo_start(&(struct kymo_options){
        .size = sizeof(struct kymo_options), .path = check_path(name), .budget = budget}));
}

static struct kymo_track *opened(uint64_t stream, int clock)
{
    struct kymo_track *track;
    CHECK_OK(kymo_track_open(&(struct kymo_track_options){.size = sizeof(struct kymo_track_options),
                                                          .device = 1,
                                                          .stream = stream,
                                                          .clock = clock},
                             &track));
    return track;
}

static void put(struct kymo_track *track, uint64_t start, uint64_t length, uint32_t key)
{
    CHECK_OK(
        kymo_track_write(track, &(struct kymo_track_event){.size = sizeof(struct kymo_track_event),
                                                           .start = start,
                                                           .end = start + length,
                                                           .key = key}));
}

/* The finished events in capture NAME, by thread into COUNTS; their durations are LENGTH. */
static uint64_t counted(const char *name, uint64_t length, uint64_t *lost)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t count = 0;
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    *lost = 0;
    while (kymo_cursor_next(cursor, &event) > 0) {
        *lost += event.kind == KYMO_GAP ? event.id : 0;
        if (event.kind != KYMO_COMPLETE)
            continue;
        CHECK_EQ(event.id, length);
        count++;
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return count;
}

static void many_lose_nothing(const char *name, uint64_t budget, int tracks, int rounds)
{
    begin(name, budget);
    struct kymo_track **all = calloc((size_t)tracks, sizeof(struct kymo_track *));
    uint32_t key = kymo_name_key("event");
    for (int i = 0; i < tracks; i++)
        all[i] = opened((uint64_t)i, KYMO_TRACK_NS);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < tracks; i++)
            put(all[i], 1000000 + (uint64_t)round * 1000 + (uint64_t)i, 77, key);
    CHECK_OK(kymo_stop());
    for (int i = 0; i < tracks; i++)
        kymo_track_close(all[i]);
    free(all);
    uint64_t lost;
    CHECK_EQ(counted(name, 77, &lost), (uint64_t)tracks * (uint64_t)rounds);
    CHECK_EQ(lost, 0);
}

static void two_thousand_tracks_lose_nothing_within_the_default_budget(void)
{
    many_lose_nothing("2000", 0, 2000, 300);
}

static void a_hundred_tracks_lose_nothing_within_a_mebibyte(void)
{
    many_lose_nothing("100", 1 << 20, 100, 3000);
}

static void a_killed_process_keeps_what_was_written(void)
{
    enum { TRACKS = 300, ROUNDS = 200 };
    pid_t child = fork();
    if (child == 0) {
        begin("killed", 2 << 20);
        struct kymo_track *all[TRACKS];
        uint32_t key = kymo_name_key("event");
        for (int i = 0; i < TRACKS; i++)
            all[i] = opened((uint64_t)i, KYMO_TRACK_TICKS);
        (void)all;
        for (int round = 0; round < ROUNDS; round++)
            for (int i = 0; i < TRACKS; i++)
                put(all[i], kymo_ticks(), 0, key);
        raise(SIGKILL);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    uint64_t lost;
    CHECK_EQ(counted("killed", 0, &lost), TRACKS * ROUNDS);
    CHECK_EQ(lost, 0);
}

/* A clock of 25 MHz that begins at 5 and loses time half-way: between snapshots it is linear. */
static void a_track_may_have_a_clock_of_its_own(void)
{
    begin("own clock", 0);
    int clock = kymo_clock_open("own", 25000000);
    CHECK(clock > KYMO_TRACK_NS);
    CHECK_OK(kymo_clock_snapshot(clock, 5, 1000000000));
    CHECK_OK(kymo_clock_snapshot(clock, 25000005, 2000000000));
    CHECK_OK(kymo_clock_snapshot(clock, 50000005, 4000000000));
    CHECK_EQ(kymo_clock_snapshot(clock + 1, 0, 0), -EINVAL);
    struct kymo_track *track = opened(3, clock), *bad;
    CHECK_EQ(kymo_track_open(&(struct kymo_track_options){.size = sizeof(struct kymo_track_options),
                                                          .clock = clock + 1},
                             &bad),
             -EINVAL);
    uint32_t key = kymo_name_key("event");
    put(track, 25000005, 25, key); /* later ones may come first */
    put(track, 5, 25, key);
    CHECK_OK(kymo_stop());
    kymo_track_close(track);

    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    CHECK_OK(kymo_open(check_path("own clock"), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    const kymo_ns times[] = {2000000000, 1000000000};
    const uint64_t lengths[] = {2000, 1000};
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
        CHECK_EQ(event.time, times[i]);
        CHECK_EQ(event.id, lengths[i]);
    }
    struct kymo_track_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_track(capture, event.thread, &info));
    CHECK_EQ(info.device, 1);
    CHECK_EQ(info.stream, 3);
    CHECK_STR(info.clock_name, "own");
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void writing_after_the_session_does_nothing(void)
{
    begin("over", 0);
    struct kymo_track *track = opened(0, KYMO_TRACK_NS);
    CHECK_OK(kymo_stop());
    CHECK_EQ(
        kymo_track_write(
            track, &(struct kymo_track_event){.size = sizeof(struct kymo_track_event), .key = 1}),
        KYMO_EIDLE);
    begin("next", 0);
    CHECK_EQ(
        kymo_track_write(
            track, &(struct kymo_track_event){.size = sizeof(struct kymo_track_event), .key = 1}),
        KYMO_EIDLE);
    CHECK_OK(kymo_stop());
    kymo_track_close(track);
    CHECK_EQ(kymo_clock_open("none", 0), KYMO_EIDLE);
}

/* A tracer that gives back every entry at the time the converter says. */
enum { ENTRIES = 9 };
static struct kymo_queue *queue;
static uint64_t entered[ENTRIES]; /* ticks */

static void *create(void *user, struct kymo_queue *q)
{
    queue = q;
    return user;
}

static int64_t get_events(void *state, const struct kymo_converter *converter,
                          const struct kymo_compressed *enters, size_t count, kymo_ns end,
                          kymo_finish_fn *finish, void *arg)
{
    (void)state, (void)end;
    for (size_t i = 0; i < count && i < ENTRIES; i++) {
        entered[i] = enters[i].ticks;
        finish(arg, &(struct kymo_finished){.size = sizeof(struct kymo_finished),
                                            .name = "finished",
                                            .tid = 1,
                                            .device = 0,
                                            .start = converter->convert(converter, enters[i].ticks),
                                            .end = converter->convert(converter, enters[i].ticks)});
    }
    return (int64_t)count;
}

/* Snapshots are taken every half second, and the clock's rate differs a little between them. */
static void finished_events_have_the_times_that_records_have(void)
{
    static const struct kymo_tracer tracer = {
        .size = sizeof(tracer), .name = "finisher", .create = create, .get_events = get_events};
    static int state;
    CHECK_OK(kymo_tracer_register(&tracer, &state));
    begin("times", 0);
    for (int i = 0; i < ENTRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        CHECK_OK(kymo_queue_enter(queue, 1, 0, 0));
    }
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_tracer_unregister(&tracer));

    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    CHECK_OK(kymo_open(check_path("times"), &capture));
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_info(capture, &info));
    CHECK(info.snapshots >= 4);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    for (int i = 0; i < ENTRIES; i++) {
        size_t hint = 0;
        CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
        CHECK_EQ(event.time, kymo__timebase_ns(&capture->base, entered[i], &hint));
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(two_thousand_tracks_lose_nothing_within_the_default_budget),
    CHECK_CASE(a_hundred_tracks_lose_nothing_within_a_mebibyte),
    CHECK_CASE(a_killed_process_keeps_what_was_written),
    CHECK_CASE(a_track_may_have_a_clock_of_its_own),
    CHECK_CASE(writing_after_the_session_does_nothing),
    CHECK_CASE(finished_events_have_the_times_that_records_have),
};
CHECK_MAIN(cases)
