/* The events of a thread become properly nested calls, whatever is missing from them. */
#include "calls.h"

#include <errno.h>

#include "alloc.h"
#include "tape.h"

/* What the visitor was given, a line for each call in the order of their ends:
   NAME DEPTH START-END self SELF and what else there is to say. */
static char told[8192];
static size_t told_len;
static struct kymo_capture *capture;
static struct kymo_calls_counts counts;
static kymo_ns zero;
static uint64_t last_end_of[64]; /* by depth: where the last call there ended */

static const char *name_of(uint32_t key)
{
    const struct kymo_reader *r = capture->reader;
    return key < r->key_count ? kymo__reader_string(r, r->keys[key].name) : "?";
}

static int leave(void *arg, const struct kymo_slice *slice)
{
    const struct kymo_open_call *f = slice->frame;
    (void)arg;
    CHECK_LE(f->start, slice->end);
    CHECK_LE(0, slice->self);
    if (slice->depth > 0)
        CHECK_LE(f[-1].start, f->start);
    told_len +=
        (size_t)snprintf(told + told_len, sizeof(told) - told_len, "%s %u %lld-%lld self %lld",
                         name_of(f->key), slice->depth, (long long)(f->start - zero),
                         (long long)(slice->end - zero), (long long)slice->self);
    static const char *const flags[] = {" open", " unfinished", " lost", " inside"};
    for (int i = 0; i < 4; i++)
        if (slice->flags & 1 << i)
            told_len += (size_t)sprintf(told + told_len, "%s", flags[i]);
    if (f->enter == 1 || f->enter == 2)
        told_len += (size_t)sprintf(told + told_len, " again");
    if (slice->leave)
        told_len += (size_t)sprintf(told + told_len, " leave %u", slice->leave);
    if (f->id)
        told_len += (size_t)sprintf(told + told_len, " id %llu", (unsigned long long)f->id);
    for (unsigned i = 0; i < slice->arg_count; i++)
        told_len += (size_t)sprintf(told + told_len, " %s=%llu", name_of(slice->args[i].key),
                                    (unsigned long long)slice->args[i].value);
    told_len += (size_t)sprintf(told + told_len, "\n");
    return 0;
}

static int other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned count)
{
    (void)arg;
    if (event->kind == KYMO_RESYNC)
        return 0;
    if (event->kind == KYMO_GAP) {
        told_len +=
            (size_t)sprintf(told + told_len, "gap of %llu\n", (unsigned long long)event->id);
        return 0;
    }
    told_len += (size_t)sprintf(told + told_len, "%s at %lld", event->name,
                                (long long)(event->time - zero));
    for (unsigned i = 0; i < count; i++)
        told_len += (size_t)sprintf(told + told_len, " %s=%llu", name_of(args[i].key),
                                    (unsigned long long)args[i].value);
    told_len += (size_t)sprintf(told + told_len, "\n");
    return 0;
}

/* A visitor that wants every event has each made for it: then nothing is gone past quickly. */
static int each_event(void *arg, const struct kymo_event *event)
{
    (void)arg, (void)event;
    return 0;
}

static void read_with(const struct kymo_visitor *visitor, unsigned step, kymo_ns from, kymo_ns to)
{
    static struct kymo_calls calls;
    CHECK_OK(kymo__calls_init(&calls, capture, 0, from, to, visitor));
    int rc;
    do
        rc = kymo__calls_read(&calls, step);
    while (rc > 0);
    CHECK_OK(rc);
    CHECK_EQ(calls.nest.depth, 0);
    counts = calls.nest.counts;
    kymo__calls_fini(&calls);
}

/* Read it event by event, and quickly: what is told is the same. */
static void read_part(kymo_ns from, kymo_ns to)
{
    static char slowly[sizeof(told)];
    struct kymo_visitor visitor = {.leave = leave, .other = other, .event = each_event};
    for (unsigned step = 1; step <= 1000; step = visitor.event ? step : step * 10) {
        told_len = 0;
        told[0] = '\0';
        read_with(&visitor, step, from, to);
        if (visitor.event)
            memcpy(slowly, told, sizeof(slowly));
        CHECK_STR(told, slowly);
        visitor.event = NULL;
    }
}

static void finish(const char *name)
{
    uint64_t start = tape_zero;
    capture = tape_stop(name);
    zero = (kymo_ns)start;
    read_part(INT64_MIN, INT64_MAX);
}

static void nested_calls_have_their_own_time(void)
{
    tape_start("nested");
    uint32_t f = tape_function("f"), g = tape_function("g"), h = tape_function("h");
    tape_enter(100, f);
    tape_enter(110, g);
    tape_enter(120, h);
    tape_leave(130, h);
    tape_leave(160, g);
    tape_enter(170, h);
    tape_leave(190, h);
    tape_leave(200, f);
    finish("nested");

    CHECK_STR(told, "h 2 120-130 self 10\n"
                    "g 1 110-160 self 40\n"
                    "h 1 170-190 self 20\n"
                    "f 0 100-200 self 30\n");
    CHECK_EQ(counts.slices, 4);
    CHECK_EQ(counts.events, 8);
    CHECK_EQ(counts.deepest, 3);
    CHECK_EQ(counts.lost_leaves + counts.orphan_leaves, 0);
    kymo_close(capture);
}

static void a_lost_leave_ends_with_the_call_around_it(void)
{
    tape_start("lost");
    uint32_t f = tape_function("f"), g = tape_function("g"), h = tape_function("h");
    tape_enter(100, f);
    tape_enter(110, g);
    tape_enter(120, h); /* neither this */
    tape_leave(200, f); /* nor g has left */
    tape_enter(300, g);
    tape_leave(310, g);
    finish("lost");

    CHECK_STR(told, "h 2 120-200 self 80 lost\n"
                    "g 1 110-200 self 10 lost\n"
                    "f 0 100-200 self 10\n"
                    "g 0 300-310 self 10\n");
    CHECK_EQ(counts.lost_leaves, 2);
    CHECK_EQ(counts.orphan_leaves, 0);
    kymo_close(capture);
}

static void an_orphan_leave_shifts_nothing(void)
{
    tape_start("orphan");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_leave(50, g);
    tape_enter(100, f);
    tape_leave(110, g);
    tape_leave(111, g);
    tape_leave(200, f);
    finish("orphan");

    CHECK_STR(told, "f 0 100-200 self 100\n");
    CHECK_EQ(counts.orphan_leaves, 3);
    CHECK_EQ(counts.lost_leaves, 0);
    kymo_close(capture);
}

static void calls_open_at_the_start_begin_there(void)
{
    tape_start("open");
    uint32_t module = tape_function("<module>"), f = tape_function("f");
    tape_put(10, KYMO_ENTER, 3, module);
    tape_put(10, KYMO_ENTER, 3, f);
    tape_leave(50, f);
    tape_leave(60, module);
    finish("open");

    CHECK_STR(told, "f 1 10-50 self 40 open\n"
                    "<module> 0 10-60 self 10 open\n");
    kymo_close(capture);
}

static void calls_open_at_the_end_last_until_then(void)
{
    tape_start("unfinished");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(10, f);
    tape_enter(20, g);
    tape_put(100, KYMO_INSTANT, 0, tape_span("last"));
    finish("unfinished");

    CHECK_STR(told, "last at 100\n"
                    "g 1 20-100 self 80 unfinished\n"
                    "f 0 10-100 self 10 unfinished\n");
    kymo_close(capture);
}

static void recursion_is_matched_call_by_call(void)
{
    tape_start("recursion");
    uint32_t f = tape_function("f");
    for (uint64_t i = 0; i < 3; i++)
        tape_enter(10 * i, f);
    for (uint64_t i = 3; i < 6; i++)
        tape_leave(10 * i, f);
    finish("recursion");

    CHECK_STR(told, "f 2 20-30 self 10\n"
                    "f 1 10-40 self 20\n"
                    "f 0 0-50 self 20\n");
    kymo_close(capture);
}

static void slices_of_generators_keep_their_id(void)
{
    tape_start("generator");
    uint32_t f = tape_function("f"), g = tape_function("generator");
    tape_enter(10, f);
    tape_put_value(20, KYMO_ENTER, 0 | KYMO_HAS_ID, g, 7);
    tape_put(30, KYMO_LEAVE, 1, g);
    tape_put_value(40, KYMO_ENTER, 1 | KYMO_HAS_ID, g, 7);
    tape_put(50, KYMO_LEAVE, 2, g);
    tape_leave(60, f);
    finish("generator");

    CHECK_STR(told, "generator 1 20-30 self 10 leave 1 id 7\n"
                    "generator 1 40-50 self 10 again leave 2 id 7\n"
                    "f 0 10-60 self 30\n");
    kymo_close(capture);
}

static void numbers_belong_to_the_event_before_them(void)
{
    tape_start("arguments");
    uint32_t gc = tape_key("Python GC", NULL, 0, KYMO_CLASS_GC), f = tape_function("f");
    uint32_t generation = tape_span("generation"), collected = tape_span("collected");
    uint32_t moment = tape_span("moment");
    tape_enter(10, f);
    tape_put_value(10, KYMO_ARG, 0, collected, 1);
    tape_enter(20, gc);
    tape_put_value(20, KYMO_ARG, 0, generation, 2);
    tape_leave(30, gc);
    tape_put_value(30, KYMO_ARG, 0, collected, UINT64_MAX);
    tape_put(35, KYMO_INSTANT, 0, moment);
    tape_put_value(35, KYMO_ARG, 0, generation, 5);
    tape_leave(40, f);
    finish("arguments");

    CHECK_STR(told, "Python GC 1 20-30 self 10 generation=2 collected=18446744073709551615\n"
                    "moment at 35 generation=5\n"
                    "f 0 10-40 self 20 collected=1\n");
    kymo_close(capture);
}

static void a_span_may_outlive_the_call_in_which_it_began(void)
{
    /* As a context manager does that is written as a generator. */
    tape_start("context");
    uint32_t f = tape_function("f"), manager = tape_function("manager"),
             work = tape_function("work");
    uint32_t span = tape_span("span");
    tape_enter(10, f);
    tape_enter(20, manager);
    tape_enter(22, span);
    tape_put(25, KYMO_LEAVE, 1, manager);
    tape_enter(30, work);
    tape_leave(70, work);
    tape_put(80, KYMO_ENTER, 1, manager);
    tape_leave(83, span);
    tape_leave(85, manager);
    tape_leave(100, f);
    finish("context");

    CHECK_STR(told, "span 2 22-25 self 3 leave 1\n"
                    "manager 1 20-25 self 2 leave 1\n"
                    "work 2 30-70 self 40\n"
                    "manager 2 80-85 self 5 again\n"
                    "span 1 25-85 self 15 inside again\n"
                    "f 0 10-100 self 25\n");
    CHECK_EQ(counts.lost_leaves + counts.orphan_leaves, 0);
    CHECK_EQ(counts.split_spans, 1);
    kymo_close(capture);
}

static void two_spans_may_end_in_the_same_call(void)
{
    tape_start("two");
    uint32_t f = tape_function("f"), a = tape_span("a"), b = tape_span("b");
    tape_enter(10, a);
    tape_enter(20, b);
    tape_enter(30, f);
    tape_leave(40, b);
    tape_leave(50, a);
    tape_leave(60, f);
    tape_enter(70, f);
    tape_leave(80, f);
    finish("two");

    CHECK_STR(told, "f 2 30-60 self 30\n"
                    "b 1 20-60 self 10 inside\n"
                    "a 0 10-60 self 10 inside\n"
                    "f 0 70-80 self 10\n");
    kymo_close(capture);
}

static void a_span_that_is_never_ended_in_another_one_is_lost(void)
{
    tape_start("forgotten");
    uint32_t a = tape_span("a"), b = tape_span("b");
    tape_enter(10, a);
    tape_enter(20, b);
    tape_leave(50, a);
    tape_enter(60, a);
    tape_leave(70, a);
    finish("forgotten");

    CHECK_STR(told, "b 1 20-50 self 30 lost\n"
                    "a 0 10-50 self 10\n"
                    "a 0 60-70 self 10\n");
    CHECK_EQ(counts.lost_leaves, 1);
    kymo_close(capture);
}

static void after_a_gap_what_is_unmatched_is_a_loss(void)
{
    const uint64_t later = 1000000000;
    tape_start("gap");
    uint32_t f = tape_function("f"), g = tape_function("g"), span = tape_span("span");
    tape_enter(1, f);
    tape_enter(2, span);
    tape_gap(5);
    tape_leave(later, g); /* entered in the gap */
    tape_leave(later + 10, f);
    finish("gap");

    CHECK_STR(told, "gap of 5\n"
                    "span 1 2-1000000010 self 1000000008 lost\n"
                    "f 0 1-1000000010 self 1\n");
    CHECK_EQ(counts.orphan_leaves, 1);
    CHECK_EQ(counts.lost_leaves, 1);
    CHECK_EQ(counts.gaps, 1);
    CHECK_EQ(counts.missing, 5);
    kymo_close(capture);
}

static void a_pause_cuts_calls_and_not_spans(void)
{
    tape_start("pause");
    uint32_t f = tape_function("f"), g = tape_function("g"), span = tape_span("span");
    tape_enter(10, f);
    tape_enter(20, span);
    tape_enter(30, g);
    tape_put_value(100, KYMO_RESYNC, 0, 0, tape_zero + 50);
    tape_put(100, KYMO_ENTER, 3, f);
    tape_enter(110, g);
    tape_leave(120, g);
    tape_leave(130, span);
    tape_leave(140, f);
    finish("pause");

    CHECK_STR(told, "g 2 30-50 self 20 unfinished\n"
                    "span 1 20-50 self 10 leave 1\n"
                    "f 0 10-50 self 10 unfinished\n"
                    "g 2 110-120 self 10\n"
                    "span 1 110-130 self 10 again\n"
                    "f 0 100-140 self 20 open\n");
    CHECK_EQ(counts.lost_leaves + counts.orphan_leaves, 0);
    kymo_close(capture);
}

static void a_window_cuts_what_is_open_at_its_ends(void)
{
    tape_start("window");
    uint32_t f = tape_function("f"), g = tape_function("g"), h = tape_function("h");
    tape_enter(0, f);
    tape_enter(10, g);
    tape_leave(20, g);
    tape_enter(30, g);
    tape_enter(40, h);
    tape_leave(60, h);
    tape_leave(80, g);
    tape_enter(90, h);
    tape_leave(110, h);
    tape_leave(200, f);
    finish("window");
    uint64_t all = counts.slices;

    read_part(zero + 35, zero + 100);
    CHECK_STR(told, "h 2 40-60 self 20\n"
                    "g 1 35-80 self 25 open\n"
                    "h 1 90-100 self 10 unfinished\n"
                    "f 0 35-100 self 10 open unfinished\n");
    CHECK_EQ(counts.events, 4);
    read_part(zero + 120, zero + 130);
    CHECK_STR(told, "f 0 120-130 self 10 open unfinished\n");
    read_part(zero + 200, zero + 300);
    CHECK_STR(told, "f 0 200-200 self 0 open\n");
    read_part(zero + 201, INT64_MAX);
    CHECK_STR(told, "");
    read_part(zero, zero + 201);
    CHECK_EQ(counts.slices, all);
    kymo_close(capture);
}

static void time_that_runs_backwards_never_makes_a_negative_call(void)
{
    tape_start("backwards");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(100, f);
    tape_enter(90, g);
    tape_leave(80, g);
    tape_leave(95, f);
    finish("backwards");

    CHECK_STR(told, "g 1 100-100 self 0\n"
                    "f 0 100-100 self 0\n");
    kymo_close(capture);
}

/* ---- a million events, some of which are missing ---- */

static uint64_t checked, total_self, outer_time;

static int check_nesting(void *arg, const struct kymo_slice *slice)
{
    (void)arg;
    const struct kymo_open_call *f = slice->frame;
    CHECK_LE(f->start, slice->end);
    CHECK_LE(0, slice->self);
    if (slice->depth < 64) {
        CHECK_LE((kymo_ns)last_end_of[slice->depth], f->start);
        last_end_of[slice->depth] = (uint64_t)slice->end;
    }
    if (slice->depth > 0)
        CHECK_LE(f[-1].start, f->start);
    else
        outer_time += (uint64_t)(slice->end - f->start);
    total_self += (uint64_t)slice->self;
    checked++;
    return 0;
}

static void a_million_events_nest_whatever_is_missing(void)
{
    static const struct kymo_visitor visitor = {.leave = check_nesting};
    static struct kymo_calls calls;
    uint32_t keys[20], stack[40];
    uint64_t state = 1, time = 0;
    unsigned depth = 0;
    tape_start("million");
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%d", i);
        keys[i] = i < 16 ? tape_function(name) : tape_span(name);
    }
    for (int i = 0; i < 1000000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned dice = (unsigned)(state >> 33);
        bool lost = dice % 997 == 0;
        time += dice % 50;
        if (depth == 0 || (depth < 40 && (dice & 64))) {
            stack[depth] = keys[dice % 20];
            if (!lost)
                tape_enter(time, stack[depth]);
            depth++;
        } else {
            depth--;
            if (!lost)
                tape_leave(time, stack[depth]);
        }
    }
    capture = tape_stop("million");
    CHECK_OK(kymo__calls_init(&calls, capture, 0, INT64_MIN, INT64_MAX, &visitor));
    int rc;
    do
        rc = kymo__calls_read(&calls, 10000);
    while (rc > 0);
    CHECK_OK(rc);
    CHECK_EQ(checked, calls.nest.counts.slices);
    CHECK_LE(450000, checked);
    CHECK_LE(1, calls.nest.counts.lost_leaves);
    CHECK_LE(1, calls.nest.counts.orphan_leaves);
    CHECK_EQ(total_self, outer_time); /* no time is counted twice and none is missing */
    kymo__calls_fini(&calls);
    kymo_close(capture);
}

/* ---- what is read quickly and what is read event by event ---- */

static uint64_t digest;

static void digest_add(uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 29;
}

static int digest_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    (void)arg;
    digest_add(frame->key);
    digest_add(depth);
    digest_add((uint64_t)frame->start);
    return 0;
}

static void digest_args(const struct kymo_call_arg *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        digest_add(args[i].key);
        digest_add(args[i].value);
    }
}

static int digest_leave(void *arg, const struct kymo_slice *slice)
{
    (void)arg;
    digest_add(slice->frame->key);
    digest_add(slice->frame->id);
    digest_add((uint64_t)slice->end);
    digest_add((uint64_t)slice->self);
    digest_add((uint64_t)slice->depth << 16 | (uint64_t)slice->leave << 8 | slice->flags);
    digest_args(slice->args, slice->arg_count);
    return 0;
}

static int digest_other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                        unsigned count)
{
    (void)arg;
    digest_add((uint64_t)event->time);
    digest_add((uint64_t)event->kind << 32 | event->key);
    digest_args(args, count);
    return 0;
}

/* One random event of any kind, sometimes out of order in time. */
static void put_anything(uint64_t dice, uint64_t time, const uint32_t *keys)
{
    uint32_t key = keys[dice >> 40 & 7];
    switch (dice >> 33 & 31) {
    case 0:
        tape_put_value(time, KYMO_ARG, 0, keys[8], dice);
        break;
    case 1:
        tape_put(time, KYMO_INSTANT, 0, key);
        break;
    case 2:
        tape_put_value(time, KYMO_ENTER, 1 | KYMO_HAS_ID, key, dice & 7);
        break;
    case 3:
        tape_put(time, KYMO_LEAVE, (unsigned)(dice >> 50 & 3) % 3, key);
        break;
    case 4:
        tape_put_value(time, KYMO_RESYNC, 0, 0, tape_zero + time - (dice & 15));
        break;
    case 5:
        tape_enter(time > 9 ? time - 9 : 0, key);
        break;
    default:
        tape_put(time, dice >> 50 & 1 ? KYMO_LEAVE : KYMO_ENTER, 0, key);
    }
}

static void fast_reading_gives_the_same(void)
{
    struct kymo_visitor visitor = {
        .enter = digest_enter, .leave = digest_leave, .other = digest_other};
    uint32_t keys[9];
    uint64_t state = 7, time = 0;
    tape_start("quickly");
    for (int i = 0; i < 9; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        keys[i] = i < 5 ? tape_function(name) : tape_span(name);
    }
    for (int i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        put_anything(state, time += state >> 60, keys);
    }
    uint64_t start = tape_zero;
    capture = tape_stop("quickly");
    for (int i = 0; i < 200; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        kymo_ns from = i ? (kymo_ns)(start + (state >> 33) % time) : INT64_MIN;
        kymo_ns to = i ? from + (kymo_ns)((state >> 20) % (time / 2)) : INT64_MAX;
        visitor.event = each_event;
        digest = 0;
        read_with(&visitor, 1, from, to);
        uint64_t expected = digest;
        struct kymo_calls_counts before = counts;
        CHECK(expected != 0 || to <= from);
        visitor.event = NULL;
        digest = 0;
        read_with(&visitor, 1 + (unsigned)(state >> 57), from, to);
        CHECK_EQ(digest, expected);
        CHECK_EQ(counts.events, before.events);
        CHECK_EQ(counts.slices, before.slices);
        CHECK_EQ(counts.lost_leaves, before.lost_leaves);
        CHECK_EQ(counts.orphan_leaves, before.orphan_leaves);
    }
    kymo_close(capture);
}

static int refuse(void *arg, const struct kymo_slice *slice)
{
    (void)arg, (void)slice;
    return -ECANCELED;
}

static void a_visitor_can_stop_the_reading(void)
{
    tape_start("stop");
    uint32_t f = tape_function("f");
    for (uint64_t i = 0; i < 10; i++) {
        tape_enter(2 * i, f);
        tape_leave(2 * i + 1, f);
    }
    finish("stop");

    static struct kymo_calls calls;
    const struct kymo_visitor visitor = {.leave = refuse};
    CHECK_OK(kymo__calls_init(&calls, capture, 0, INT64_MIN, INT64_MAX, &visitor));
    CHECK_EQ(kymo__calls_read(&calls, 100), -ECANCELED);
    CHECK_EQ(calls.nest.counts.slices, 1);
    kymo__calls_fini(&calls);
    kymo_close(capture);
}

static void memory_may_run_out_anywhere(void)
{
    tape_start("memory");
    uint32_t f = tape_function("f"), span = tape_span("span");
    for (uint64_t i = 0; i < 50; i++) {
        tape_enter(i, i % 3 ? f : span);
        tape_put_value(i, i % 2 ? KYMO_ARG : KYMO_ARG_TEXT, 0, span, i);
    }
    tape_leave(100, f);
    finish("memory");

    static const struct kymo_visitor visitor = {.leave = leave};
    int rc = -1;
    for (long n = 0; rc != 0; n++) {
        static struct kymo_calls calls;
        told_len = 0;
        kymo__alloc_fail_after(n);
        rc = kymo__calls_init(&calls, capture, 0, INT64_MIN, INT64_MAX, &visitor);
        while (rc == 0 && (rc = kymo__calls_read(&calls, 1000)) > 0)
            rc = 0;
        kymo__alloc_fail_after(-1);
        kymo__calls_fini(&calls);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK_LE(n, 100);
        if (rc == 0)
            break;
    }
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(nested_calls_have_their_own_time),
    CHECK_CASE(a_lost_leave_ends_with_the_call_around_it),
    CHECK_CASE(an_orphan_leave_shifts_nothing),
    CHECK_CASE(calls_open_at_the_start_begin_there),
    CHECK_CASE(calls_open_at_the_end_last_until_then),
    CHECK_CASE(recursion_is_matched_call_by_call),
    CHECK_CASE(slices_of_generators_keep_their_id),
    CHECK_CASE(numbers_belong_to_the_event_before_them),
    CHECK_CASE(a_span_may_outlive_the_call_in_which_it_began),
    CHECK_CASE(two_spans_may_end_in_the_same_call),
    CHECK_CASE(a_span_that_is_never_ended_in_another_one_is_lost),
    CHECK_CASE(after_a_gap_what_is_unmatched_is_a_loss),
    CHECK_CASE(a_pause_cuts_calls_and_not_spans),
    CHECK_CASE(a_window_cuts_what_is_open_at_its_ends),
    CHECK_CASE(time_that_runs_backwards_never_makes_a_negative_call),
    CHECK_CASE(a_million_events_nest_whatever_is_missing),
    CHECK_CASE(fast_reading_gives_the_same),
    CHECK_CASE(a_visitor_can_stop_the_reading),
    CHECK_CASE(memory_may_run_out_anywhere),
};

CHECK_MAIN(cases)
