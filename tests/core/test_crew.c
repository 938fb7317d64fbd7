/* An export written by several cores, in pieces, has the bytes that one core writes. */
#include <pthread.h>

#include "crew.h"
#include "exported.h"
#include "fault.h"
#include "pieces.h"
#include "player.h"
#include "states.h"

/* Enough for summaries in the middle. */
enum { EVENTS = FAULT_TSAN ? 100000 : 300000, PIECE = 500 };

/* With so little memory, no block holds more than a part of the events. */
static void start(void)
{
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("crew.kymo"),
                                               .clock = 1,
                                               .budget = 1 << 20}));
    tape_zero = kymo_ticks();
}

static struct kymo_capture *stop(void)
{
    return tape_stop("crew.kymo");
}

/* A random program of so many EVENTS; every COMPLETE-th is followed by a finished one. */
static struct kymo_capture *recorded(uint64_t seed, unsigned disorder, uint64_t complete,
                                     uint64_t events)
{
    struct player p;
    start();
    player_init(&p, seed, disorder);
    p.calm = true;
    for (uint64_t i = 0; i < events; i++) {
        play(&p);
        if (complete && i % complete == 0)
            tape_put_value(p.time, KYMO_COMPLETE, 0, p.keys[0], 100000);
    }
    return stop();
}

static void *play_thread(void *seed)
{
    struct player p;
    player_init(&p, (uintptr_t)seed, 0);
    p.calm = true;
    play_on(&p, EVENTS / 2);
    return NULL;
}

static size_t count_pieces(struct kymo_capture *capture)
{
    struct kymo_piece *pieces = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < capture->reader->thread_count; i++)
        CHECK_OK(
            kymo__pieces_plan(capture, i, INT64_MIN, INT64_MAX, PIECE, &pieces, &count, &capacity));
    kymo__pieces_free(pieces, count);
    return count;
}

/* Export with so many MEMBERS and RECORDS in a piece. The caller frees the result. */
static char *exported(struct kymo_capture *capture, const char *format, unsigned members,
                      uint64_t records, kymo_ns from, kymo_ns to, size_t *len)
{
    const struct kymo_export_options options = {
        .size = sizeof(options), .format = format, .from = from, .to = to, .thread = -1};
    kymo__crew_limit(members, records);
    CHECK_OK(kymo_export(capture, check_path("out"), &options));
    kymo__crew_limit(0, 0);
    load_text(check_path("out"));
    char *taken = text;
    *len = text_len;
    text = NULL;
    return taken;
}

static void same_bytes(const char *a, size_t a_len, const char *b, size_t b_len, const char *what)
{
    size_t at = 0;
    if (a_len == b_len && memcmp(a, b, a_len) == 0)
        return;
    while (at < a_len && at < b_len && a[at] == b[at])
        at++;
    CHECK_FAIL("%s differs at byte %zu of %zu and %zu:\n%.300s\nand:\n%.300s", what, at, a_len,
               b_len, a + (at < 100 ? 0 : at - 100), b + (at < 100 ? 0 : at - 100));
}

static void same_for_all(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    static const char *const formats[] = {"chrome", "speedscope", "perfetto"};
    /* Under a thread sanitizer the first will do: all are written by the same code. */
    for (int f = 0; f < (FAULT_TSAN ? 1 : 3); f++) {
        size_t len, other_len;
        char *one = exported(capture, formats[f], 1, PIECE, from, to, &len);
        char *many = exported(capture, formats[f], 5, PIECE, from, to, &other_len);
        same_bytes(one, len, many, other_len, formats[f]);
        free(many);
        /* Only a Perfetto trace shows where it was cut. */
        char *uncut =
            f == 2 ? NULL : exported(capture, formats[f], 1, UINT64_MAX, from, to, &other_len);
        if (uncut)
            same_bytes(one, len, uncut, other_len, "in pieces");
        free(uncut);
        free(one);
    }
}

static void any_number_of_cores_writes_the_same_file(void)
{
    for (uint64_t seed = 1; seed < 3; seed++) {
        struct kymo_capture *capture = recorded(seed, seed == 2 ? 30 : 0, 0, EVENTS);
        CHECK_LE(2, count_pieces(capture));
        same_for_all(capture, 0, INT64_MAX);
        kymo_close(capture);
    }
}

static void a_window_is_the_same(void)
{
    struct kymo_capture *capture = recorded(4, 5, 0, EVENTS);
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    same_for_all(capture, info.start + EVENTS * 4, info.start + EVENTS * 15);
    kymo_close(capture);
}

static void threads_come_in_order(void)
{
    pthread_t threads[3];
    start();
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, play_thread, (void *)(i + 10));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    struct kymo_capture *capture = stop();
    CHECK_LE(4, count_pieces(capture));
    same_for_all(capture, 0, INT64_MAX);
    kymo_close(capture);
}

static void finished_events_that_overlap_are_not_cut_apart(void)
{
    struct kymo_capture *capture = recorded(5, 0, 1000, EVENTS);
    CHECK_LE(2, count_pieces(capture));
    same_for_all(capture, 0, INT64_MAX);
    kymo_close(capture);
}

static void a_wrong_checkpoint_is_read_past(void)
{
    struct kymo_capture *capture = recorded(6, 0, 0, 2 * EVENTS);
    size_t len, other_len;
    char *right = exported(capture, "chrome", 1, UINT64_MAX, 0, INT64_MAX, &len);
    struct kymo_summary *first = next_state(capture, 1), *second;
    second = next_state(capture, (size_t)(first - capture->reader->summaries) + 1);
    second->header = first->header;
    second->offset = first->offset;
    char *past = exported(capture, "chrome", 4, PIECE, 0, INT64_MAX, &other_len);
    same_bytes(right, len, past, other_len, "past it");
    free(right);
    free(past);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(any_number_of_cores_writes_the_same_file),
    CHECK_CASE(a_window_is_the_same),
    CHECK_CASE(threads_come_in_order),
    CHECK_CASE(finished_events_that_overlap_are_not_cut_apart),
    CHECK_CASE(a_wrong_checkpoint_is_read_past),
};

CHECK_MAIN(cases)
