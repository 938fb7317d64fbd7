/* A part of a capture, written as a capture, says what that part of the original says; and
   several captures become one without mixing anything up. */
#include "rewrite.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "alloc.h"
#include "crc32c.h"
#include "random.h"
#include "survey.h"
#include "tape.h"

static const struct kymo_rewrite_options plain = {0};

static struct kymo_survey *survey_of(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    const struct kymo_survey_options options = {.from = from, .to = to, .nodes = 100000};
    struct kymo_survey *survey;
    CHECK_OK(kymo__survey(capture, &options, &survey));
    return survey;
}

static const struct kymo_function_cost *cost_of(const struct kymo_survey *s,
                                                const struct kymo_callable *wanted)
{
    for (size_t i = 0; i < s->callables.count; i++) {
        const struct kymo_callable *c = &s->callables.all[i];
        if (strcmp(c->name, wanted->name) == 0 && strcmp(c->file, wanted->file) == 0 &&
            c->line == wanted->line && c->class == wanted->class && s->functions.of[i])
            return s->functions.of[i];
    }
    return NULL;
}

static void same_functions(const struct kymo_survey *a, const struct kymo_survey *b)
{
    for (size_t i = 0; i < a->callables.count; i++) {
        const struct kymo_function_cost *x = a->functions.of[i];
        if (!x || !kymo__activations(x))
            continue;
        const struct kymo_function_cost *y = cost_of(b, &a->callables.all[i]);
        if (!y)
            CHECK_FAIL("%s is missing", a->callables.all[i].name);
        CHECK_EQ(x->calls, y->calls);
        CHECK_EQ(x->resumes, y->resumes);
        CHECK_EQ(x->self, y->self);
        CHECK_EQ(x->total, y->total);
        CHECK_EQ(x->sum, y->sum);
        CHECK_EQ(x->least, y->least);
        CHECK_EQ(x->most, y->most);
        CHECK_EQ(x->lost_leaves, y->lost_leaves);
        CHECK_EQ(x->off, y->off);
    }
}

/* Everything a report is made of. */
static void same(const struct kymo_survey *a, const struct kymo_survey *b)
{
    CHECK_EQ(a->from, b->from);
    CHECK_EQ(a->to > a->from ? a->to : a->from, b->to);
    CHECK_EQ(a->calls, b->calls);
    CHECK_EQ(a->resumes, b->resumes);
    CHECK_EQ(a->counts.slices, b->counts.slices);
    CHECK_EQ(a->counts.lost_leaves, b->counts.lost_leaves);
    CHECK_EQ(a->counts.orphan_leaves, b->counts.orphan_leaves);
    CHECK_EQ(a->counts.deepest, b->counts.deepest);
    CHECK_EQ(a->counts.gaps, b->counts.gaps);
    CHECK_EQ(a->counts.missing, b->counts.missing);
    CHECK_EQ(a->tree.count, b->tree.count);
    CHECK_EQ(a->completes, b->completes);
    CHECK_EQ(a->complete_time, b->complete_time);
    for (int i = 0; i < KYMO__GENERATIONS; i++) {
        CHECK_EQ(a->gc.count[i], b->gc.count[i]);
        CHECK_EQ(a->gc.time[i], b->gc.time[i]);
    }
    CHECK_EQ(a->gc.collected, b->gc.collected);
    CHECK_EQ(a->thread_count, b->thread_count);
    for (size_t i = 0; i < a->thread_count; i++)
        CHECK_EQ(a->threads[i].busy, b->threads[i].busy);
    same_functions(a, b);
    same_functions(b, a);
}

/* Cut CAPTURE from FROM to TO and open the result. */
static struct kymo_capture *cut(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    struct kymo_capture *result;
    const struct kymo_part part = {.capture = capture, .from = from, .to = to};
    CHECK_OK(kymo__rewrite(&part, 1, check_path("cut.kymo"), &plain));
    CHECK_OK(kymo_open(check_path("cut.kymo"), &result));
    CHECK_EQ(kymo_capture_verify(result), 0);
    return result;
}

static void cut_says_the_same(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    struct kymo_capture *part = cut(capture, from, to);
    struct kymo_survey *a = survey_of(capture, from, to);
    struct kymo_survey *b = survey_of(part, INT64_MIN, INT64_MAX);
    same(a, b);
    kymo__survey_free(a);
    kymo__survey_free(b);
    kymo_close(part);
}

/* A program of LENGTH events in which calls nest as they should, with generators, their
   ids, arguments, collections, counters and all other kinds. */
static uint64_t orderly(uint64_t seed, unsigned length)
{
    uint32_t keys[6], open[64];
    char name[2] = "a";
    for (int i = 0; i < 6; i++, name[0]++)
        keys[i] = tape_function(name);
    keys[5] = tape_key("Python GC", NULL, 0, KYMO_CLASS_GC);
    uint32_t generation = tape_span("generation"), counter = tape_span("rows");
    uint64_t time = 0;
    unsigned depth = 0;
    for (unsigned i = 0; i < length; i++) {
        time += random_next(&seed) % 4 * 10;
        uint64_t what = random_next(&seed) % 16, key = random_next(&seed) % 6;
        if (what < 7 && depth < 64) {
            open[depth++] = keys[key];
            if (what == 0)
                tape_put_value(time, KYMO_ENTER, 1 | KYMO_HAS_ID, keys[key], i + 1);
            else
                tape_enter(time, keys[key]);
            if (key == 5)
                tape_put_value(time, KYMO_ARG, 0, generation, i % 3);
        } else if (what < 13 && depth) {
            tape_put(time, KYMO_LEAVE, what == 7, open[--depth]);
        } else if (what == 13) {
            double value = i;
            uint64_t bits;
            memcpy(&bits, &value, sizeof(bits));
            tape_put_value(time, KYMO_COUNTER, 0, counter, bits);
        } else if (what == 14) {
            tape_put_value(time, KYMO_COMPLETE, 0, counter, 7);
        } else {
            tape_put(time, KYMO_INSTANT, 0, counter);
        }
    }
    return time;
}

static void any_part_of_an_orderly_program_is_equivalent(void)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        tape_start("orderly");
        kymo_ns end = (kymo_ns)orderly(seed, 200), zero = (kymo_ns)tape_zero;
        struct kymo_capture *capture = tape_stop("orderly");
        for (kymo_ns from = 0; from < end; from += end / 7)
            for (kymo_ns to = from; to <= end + 100; to += end / 5)
                cut_says_the_same(capture, zero + from, zero + to);
        kymo_close(capture);
    }
}

static void a_copy_of_everything_is_equivalent(void)
{
    tape_start("copy");
    orderly(77, 100000);
    struct kymo_capture *capture = tape_stop("copy");
    cut_says_the_same(capture, INT64_MIN, INT64_MAX);
    kymo_close(capture);
}

static void a_disorderly_program_is_equivalent(void)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        tape_start("disorder");
        uint64_t state = seed, time = 0;
        uint32_t keys[4] = {tape_function("a"), tape_function("b"), tape_function("c"),
                            tape_function("d")};
        for (unsigned i = 0; i < 200; i++) {
            time += random_next(&state) % 3 * 10;
            uint64_t what = random_next(&state) % 8, key = random_next(&state) % 4;
            tape_put(time, what < 4 ? KYMO_ENTER : KYMO_LEAVE, 0, keys[key]);
        }
        struct kymo_capture *capture = tape_stop("disorder");
        kymo_ns end = (kymo_ns)time, zero = (kymo_ns)tape_zero;
        for (kymo_ns from = 0; from < end; from += end / 9)
            cut_says_the_same(capture, zero + from, zero + from + end / 3);
        kymo_close(capture);
    }
}

static void a_span_that_ended_inside_a_call_still_has(void)
{
    tape_start("inside");
    uint32_t f = tape_function("f"), s = tape_span("s"), t = tape_span("t");
    tape_enter(0, s);
    tape_enter(10, t);
    tape_enter(20, f);
    tape_leave(30, t);
    tape_leave(40, s);
    tape_leave(100, f);
    tape_enter(110, f);
    tape_leave(200, f);
    struct kymo_capture *capture = tape_stop("inside");
    kymo_ns zero = (kymo_ns)tape_zero;
    for (kymo_ns from = 0; from < 200; from += 5)
        cut_says_the_same(capture, zero + from, INT64_MAX);
    kymo_close(capture);
}

static void a_pause_is_kept(void)
{
    tape_start("pause");
    uint32_t f = tape_function("f"), g = tape_function("g"), none = tape_span("");
    tape_enter(0, f);
    tape_enter(10, g);
    tape_put_value(100, KYMO_RESYNC, 0, none, tape_zero + 50);
    tape_put(100, KYMO_ENTER, 3, f);
    tape_leave(150, f);
    struct kymo_capture *capture = tape_stop("pause");
    kymo_ns zero = (kymo_ns)tape_zero;
    for (kymo_ns from = 0; from < 150; from += 10)
        cut_says_the_same(capture, zero + from, INT64_MAX);
    kymo_close(capture);
}

static void gaps_are_kept_where_they_were(void)
{
    tape_start("gaps");
    uint32_t f = tape_function("f");
    tape_enter(0, f);
    tape_gap(3);
    kymo_ns after = (kymo_ns)kymo_ticks() + 1000000;
    tape_put((uint64_t)after - tape_zero, KYMO_LEAVE, 0, f);
    struct kymo_capture *capture = tape_stop("gaps");
    cut_says_the_same(capture, (kymo_ns)tape_zero, INT64_MAX);
    cut_says_the_same(capture, after - 1, INT64_MAX);
    cut_says_the_same(capture, (kymo_ns)tape_zero, (kymo_ns)tape_zero + 1);
    kymo_close(capture);
}

static void only_what_is_used_is_defined(void)
{
    tape_start("names");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    tape_leave(10, f);
    tape_enter(20, g);
    tape_leave(30, g);
    struct kymo_capture *capture = tape_stop("names");
    struct kymo_capture *part = cut(capture, (kymo_ns)tape_zero + 15, INT64_MAX);
    CHECK_EQ(part->reader->key_count, 2); /* with that of 0 */
    CHECK_STR(kymo__reader_string(part->reader, part->reader->keys[1].name), "g");
    kymo_close(part);
    kymo_close(capture);
}

static void times_and_the_time_of_day_are_those_of_the_original(void)
{
    tape_start("times");
    uint32_t f = tape_function("f");
    tape_enter(0, f);
    tape_leave(1000, f);
    struct kymo_capture *capture = tape_stop("times");
    struct kymo_capture *part = cut(capture, (kymo_ns)tape_zero + 400, (kymo_ns)tape_zero + 600);
    struct kymo_info a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
    kymo_capture_info(capture, &a);
    kymo_capture_info(part, &b);
    CHECK_EQ(b.start, a.start + 400);
    CHECK_EQ(b.end, a.start + 600);
    CHECK_EQ(b.wall_start, a.wall_start + 400);
    CHECK_EQ(b.pid, a.pid);
    CHECK_EQ(b.ending, KYMO_ENDED_CLEAN);
    kymo_close(part);
    kymo_close(capture);
}

static void an_empty_capture_can_be_cut(void)
{
    tape_start("empty");
    struct kymo_capture *capture = tape_stop("empty");
    struct kymo_capture *part = cut(capture, INT64_MIN, INT64_MAX);
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(part, &info);
    CHECK_EQ(info.records, 0);
    kymo_close(part);
    kymo_close(capture);
}

static void names_of_any_length_and_content_are_copied(void)
{
    char *name = malloc(50001);
    memset(name, 'x', 50000);
    memcpy(name, "\x01\xff\n\"", 4);
    name[50000] = '\0';
    tape_start("hostile");
    uint32_t f = tape_key(name, "/a\nb.py", 3, KYMO_CLASS_FUNCTION), none = tape_span("");
    tape_enter(0, f);
    tape_leave(10, f);
    tape_put(20, KYMO_INSTANT, 0, none);
    struct kymo_capture *capture = tape_stop("hostile");
    struct kymo_capture *part = cut(capture, INT64_MIN, INT64_MAX);
    CHECK_STR(kymo__reader_string(part->reader, part->reader->keys[1].name),
              kymo__reader_string(capture->reader, capture->reader->keys[f].name));
    CHECK_STR(kymo__reader_string(part->reader, part->reader->keys[1].file), "/a\nb.py");
    CHECK(part->reader->keys[2].name != 0); /* an empty name is one */
    kymo_close(part);
    kymo_close(capture);
    free(name);
}

/* ---- merging ---- */

static struct kymo_capture *merge(struct kymo_part *parts, size_t count)
{
    struct kymo_capture *result;
    CHECK_OK(kymo__rewrite(parts, count, check_path("merged.kymo"), &plain));
    CHECK_OK(kymo_open(check_path("merged.kymo"), &result));
    CHECK_EQ(kymo_capture_verify(result), 0);
    return result;
}

/* A capture in which FUNCTION runs for LENGTH, and async span 5 of the same name with it. */
static struct kymo_capture *small(const char *file, const char *function, uint64_t length)
{
    tape_start(file);
    kymo_thread_name(function);
    uint32_t f = tape_function(function), both = tape_function("both");
    tape_enter(0, f);
    tape_put_value(0, KYMO_ASYNC_BEGIN, 0, both, 5);
    tape_enter(1, both);
    tape_leave(2, both);
    tape_put_value(length, KYMO_ASYNC_END, 0, both, 5);
    return tape_stop(file);
}

static void every_part_becomes_a_process(void)
{
    struct kymo_part parts[2] = {{.from = INT64_MIN, .to = INT64_MAX},
                                 {.from = INT64_MIN, .to = INT64_MAX}};
    parts[0].capture = small("one", "first", 1000);
    kymo_ns zero = (kymo_ns)tape_zero;
    parts[1].capture = small("two", "second", 500);
    kymo_ns later = (kymo_ns)tape_zero;
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, 2, KYMO__ALIGN_BEST, &alignment));
    CHECK(!alignment.wall && !alignment.start);
    parts[1].capture->reader->header.pid = 4711;
    struct kymo_capture *merged = merge(parts, 2);

    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(merged, &info);
    CHECK_EQ(info.processes, 2);
    CHECK_EQ(info.threads, 2);
    CHECK_EQ(info.start, zero);
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    CHECK_OK(kymo_capture_thread(merged, 0, &thread));
    CHECK_EQ(thread.pid, getpid());
    CHECK_STR(thread.name, "first");
    CHECK_OK(kymo_capture_thread(merged, 1, &thread));
    CHECK_EQ(thread.pid, 4711);
    CHECK_EQ(thread.process, 1);
    CHECK_EQ(thread.first, later);
    CHECK_STR(thread.name, "second");
    struct kymo_process_info process = {.size = sizeof(process)};
    CHECK_OK(kymo_capture_process(merged, 1, &process));
    CHECK_EQ(process.pid, 4711);
    CHECK_EQ(kymo_capture_process(merged, 2, &process), -EINVAL);

    /* A call open at the end of its own capture ends there. */
    struct kymo_survey *s = survey_of(merged, INT64_MIN, INT64_MAX);
    CHECK_EQ(s->threads[0].busy, 1000);
    CHECK_EQ(s->threads[1].busy, 500);
    /* What is the same function in both is one. */
    size_t both = 0;
    for (size_t i = 0; i < s->callables.count; i++)
        if (strcmp(s->callables.all[i].name, "both") == 0 && s->functions.of[i])
            both += s->functions.of[i]->calls;
    CHECK_EQ(both, 2);
    kymo__survey_free(s);

    /* But async spans with the same name and id are two. */
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t ids[2] = {0, 0};
    CHECK_OK(kymo_cursor_new(merged, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0)
        if (event.kind == KYMO_ASYNC_BEGIN)
            ids[event.thread] = event.id;
    kymo_cursor_free(cursor);
    CHECK_EQ(ids[0], 5);
    CHECK(ids[1] != 0 && ids[1] != 5);
    kymo_close(merged);
    for (int i = 0; i < 2; i++)
        kymo_close(parts[i].capture);
}

static void merging_again_keeps_all_processes(void)
{
    struct kymo_part parts[2] = {{.from = INT64_MIN, .to = INT64_MAX},
                                 {.from = INT64_MIN, .to = INT64_MAX}};
    parts[0].capture = small("one", "first", 1000);
    parts[1].capture = small("two", "second", 500);
    struct kymo_capture *merged = merge(parts, 2), *again;
    kymo_close(parts[0].capture);
    parts[0].capture = merged;
    CHECK_OK(kymo__rewrite(parts, 2, check_path("again.kymo"), &plain));
    CHECK_OK(kymo_open(check_path("again.kymo"), &again));
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(again, &info);
    CHECK_EQ(info.processes, 3);
    CHECK_EQ(info.threads, 3);
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    CHECK_OK(kymo_capture_thread(again, 2, &thread));
    CHECK_EQ(thread.process, 2);
    struct kymo_capture *part = cut(again, INT64_MIN, INT64_MAX);
    kymo_capture_info(part, &info);
    CHECK_EQ(info.processes, 3);
    kymo_close(part);
    kymo_close(again);
    for (int i = 0; i < 2; i++)
        kymo_close(parts[i].capture);
}

/* Let the wall clock of CAPTURE be ahead of its monotonic clock by OFFSET. */
static void set_wall(struct kymo_capture *capture, kymo_ns offset)
{
    for (size_t i = 0; i < capture->reader->snapshot_count; i++)
        capture->reader->snapshots[i].wall = capture->reader->snapshots[i].monotonic + offset;
    capture->base.wall_offset = offset;
}

static void captures_of_other_machines_are_aligned_by_wall_clock(void)
{
    struct kymo_part parts[2] = {{.from = INT64_MIN, .to = INT64_MAX},
                                 {.from = INT64_MIN, .to = INT64_MAX}};
    parts[0].capture = small("one", "first", UINT64_C(10000000000));
    kymo_ns zero = (kymo_ns)tape_zero;
    parts[1].capture = small("two", "second", 500);
    kymo_ns later = (kymo_ns)tape_zero;
    struct kymo_alignment alignment;
    /* The other machine's monotonic clock is a day behind, its time of day is right. */
    parts[1].capture->reader->header.boot[3] ^= 1;
    kymo_ns day = 86400000000000, offset = parts[0].capture->base.wall_offset;
    set_wall(parts[1].capture, offset + day);
    CHECK_EQ(kymo__align(parts, 2, KYMO__ALIGN_BEST, &alignment), -EDOM);
    CHECK_EQ(alignment.strange, 1);
    CHECK(alignment.apart > day - 20000000000);
    CHECK_OK(kymo__align(parts, 2, KYMO__ALIGN_WALL, &alignment));
    CHECK(alignment.wall);
    CHECK_LE(day - 1000000000, parts[1].relation.shift);
    CHECK_LE(parts[1].relation.shift, day + 1000000000);
    CHECK_OK(kymo__align(parts, 2, KYMO__ALIGN_START, &alignment));
    CHECK(alignment.start);
    CHECK_EQ(parts[1].relation.shift, zero - later);

    set_wall(parts[0].capture, offset);
    set_wall(parts[1].capture, offset + 1000);
    CHECK_OK(kymo__align(parts, 2, KYMO__ALIGN_BEST, &alignment));
    CHECK(alignment.wall);
    CHECK_EQ(parts[1].relation.shift, 1000);
    struct kymo_capture *merged = merge(parts, 2);
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    CHECK_OK(kymo_capture_thread(merged, 1, &thread));
    CHECK_EQ(thread.first, later + 1000);
    kymo_close(merged);
    for (int i = 0; i < 2; i++)
        kymo_close(parts[i].capture);
}

static void times_before_the_beginning_of_the_clock_are_possible(void)
{
    struct kymo_part parts[2] = {{.from = INT64_MIN, .to = INT64_MAX},
                                 {.from = INT64_MIN, .to = INT64_MAX}};
    parts[0].capture = small("one", "first", 1000);
    parts[1].capture = small("two", "second", 500);
    parts[1].relation.shift = -(kymo_ns)tape_zero - 5000000;
    struct kymo_capture *merged = merge(parts, 2);
    struct kymo_thread_info a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
    CHECK_OK(kymo_capture_thread(merged, 0, &a));
    CHECK_OK(kymo_capture_thread(merged, 1, &b));
    CHECK_EQ(b.first, 0);
    CHECK_EQ(b.last, 500);
    CHECK_EQ(a.last - a.first, 1000);
    kymo_close(merged);
    for (int i = 0; i < 2; i++)
        kymo_close(parts[i].capture);
}

/* ---- what goes wrong ---- */

static int stop_at_once(void *arg, uint64_t done, uint64_t all)
{
    (void)arg, (void)done, (void)all;
    return -ECANCELED;
}

static bool nothing_but(const char *const *names, size_t count)
{
    char command[600];
    int len = snprintf(command, sizeof(command), "test -z \"$(ls '%s'", check_dir);
    for (size_t i = 0; i < count; i++)
        len += snprintf(command + len, sizeof(command) - (size_t)len, " | grep -vx '%s'", names[i]);
    snprintf(command + len, sizeof(command) - (size_t)len, ")\"");
    return system(command) == 0;
}

static void any_failure_leaves_nothing(void)
{
    unlink(check_path("out.kymo"));
    tape_start("source");
    orderly(5, 3000);
    struct kymo_capture *capture = tape_stop("source");
    const struct kymo_part part = {.capture = capture, .from = INT64_MIN, .to = INT64_MAX};
    const struct kymo_rewrite_options stopping = {.progress = stop_at_once};
    CHECK_EQ(kymo__rewrite(&part, 1, check_path("out.kymo"), &stopping), -ECANCELED);
    CHECK(access(check_path("out.kymo"), F_OK) < 0);

    /* A disk that is full after a few bytes. */
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    for (rlim_t most = 0; most < 4000; most += 500) {
        limit = (struct rlimit){most, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        int rc = kymo__rewrite(&part, 1, check_path("out.kymo"), &plain);
        setrlimit(RLIMIT_FSIZE, &before);
        CHECK_EQ(rc, -EFBIG);
        CHECK(access(check_path("out.kymo"), F_OK) < 0);
    }

    int rc = -ENOMEM;
    long n = 0;
    for (; rc == -ENOMEM; n++) {
        kymo__alloc_fail_after(n);
        rc = kymo__rewrite(&part, 1, check_path("out.kymo"), &plain);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || access(check_path("out.kymo"), F_OK) < 0);
    }
    CHECK_OK(rc);
    CHECK(n > 10);
    unlink(check_path("out.kymo"));
    const char *const others[] = {"source",  "cut.kymo", "merged.kymo", "again.kymo",
                                  "orderly", "copy",     "disorder",    "inside",
                                  "pause",   "gaps",     "names",       "times",
                                  "empty",   "hostile",  "one",         "two"};
    CHECK(nothing_but(others, sizeof(others) / sizeof(*others)));
    kymo_close(capture);
}

static void other_files_are_left_alone(void)
{
    tape_start("source");
    struct kymo_capture *capture = tape_stop("source");
    const struct kymo_part part = {.capture = capture, .from = INT64_MIN, .to = INT64_MAX};
    FILE *file = fopen(check_path("letter"), "w");
    fputs("Dear reader", file);
    fclose(file);
    CHECK_EQ(kymo__rewrite(&part, 1, check_path("letter"), &plain), KYMO_EOCCUPIED);
    CHECK_EQ(kymo__rewrite(&part, 1, check_path("."), &plain), -EISDIR);
    CHECK_EQ(kymo__rewrite(&part, 1, check_path("no/where"), &plain), -ENOENT);
    CHECK_OK(kymo__rewrite(&part, 1, check_path("twice"), &plain));
    CHECK_OK(kymo__rewrite(&part, 1, check_path("twice"), &plain)); /* an older one is replaced */
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(any_part_of_an_orderly_program_is_equivalent),
    CHECK_CASE(a_copy_of_everything_is_equivalent),
    CHECK_CASE(a_disorderly_program_is_equivalent),
    CHECK_CASE(a_span_that_ended_inside_a_call_still_has),
    CHECK_CASE(a_pause_is_kept),
    CHECK_CASE(gaps_are_kept_where_they_were),
    CHECK_CASE(only_what_is_used_is_defined),
    CHECK_CASE(times_and_the_time_of_day_are_those_of_the_original),
    CHECK_CASE(an_empty_capture_can_be_cut),
    CHECK_CASE(names_of_any_length_and_content_are_copied),
    CHECK_CASE(every_part_becomes_a_process),
    CHECK_CASE(merging_again_keeps_all_processes),
    CHECK_CASE(captures_of_other_machines_are_aligned_by_wall_clock),
    CHECK_CASE(times_before_the_beginning_of_the_clock_are_possible),
    CHECK_CASE(any_failure_leaves_nothing),
    CHECK_CASE(other_files_are_left_alone),
};

CHECK_MAIN(cases)
