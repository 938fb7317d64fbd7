/* The events that are no calls are found without reading the parts of a capture that have none. */
#include "othermarks.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "player.h"

enum { EVENTS = 800000, MOST = 300000 };

/* ---- all marks, by reading everything ---- */

struct listed {
    struct kymo_mark *all;
    size_t count, capacity;
    uint32_t thread;
    uint64_t args; /* number of arguments, of all marks */
    const struct kymo_calls *calls;
};

static int list_mark(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                     unsigned count)
{
    struct listed *l = arg;
    (void)args;
    if (event->kind != KYMO_INSTANT && event->kind != KYMO_FLOW_OUT)
        return 0; /* tapes have no others */
    CHECK_OK(kymo__array_grow(&l->all, &l->capacity, l->count, sizeof(*l->all)));
    l->all[l->count++] = (struct kymo_mark){.kind = event->kind,
                                            .thread = l->thread,
                                            .depth = l->calls->nest.depth,
                                            .time = event->time,
                                            .id = event->id,
                                            .args = count};
    return 0;
}

static void list_all(struct listed *l, struct kymo_capture *capture)
{
    const struct kymo_visitor visitor = {.arg = l, .other = list_mark};
    *l = (struct listed){0};
    for (; l->thread < capture->reader->thread_count; l->thread++) {
        struct kymo_calls calls;
        int rc = 1;
        l->calls = &calls;
        CHECK_OK(kymo__calls_init(&calls, capture, l->thread, INT64_MIN, INT64_MAX, &visitor));
        while (rc > 0)
            rc = kymo__calls_read(&calls, 1000);
        CHECK_OK(rc);
        kymo__calls_fini(&calls);
    }
}

/* How many arguments the marks at AT, JSON, have: each begins with a quote after { or a comma. */
static size_t count_args(const struct kymo_marks *marks, size_t at)
{
    size_t count = 0;
    if (at == SIZE_MAX)
        return 0;
    for (const char *text = (const char *)marks->texts.bytes + at; *text; text++)
        count += *text == ':';
    return count;
}

/* The marks of CAPTURE are the same in both ways; returns how many events were read for them. */
static uint64_t same_marks(struct kymo_capture *capture, size_t least)
{
    struct kymo_callables callables;
    struct kymo_marks marks;
    struct listed listed;
    CHECK_OK(kymo__callables_init(&callables, capture));
    CHECK_OK(kymo__marks_read(&marks, capture, &callables, MOST, NULL, NULL));
    list_all(&listed, capture);
    CHECK_LE(least, listed.count);
    CHECK_EQ(marks.count, listed.count);
    for (size_t i = 0; i < listed.count; i++) {
        const struct kymo_mark *a = &marks.all[i], *b = &listed.all[i];
        CHECK_EQ(a->kind, b->kind);
        CHECK_EQ(a->thread, b->thread);
        CHECK_EQ(a->depth, b->depth);
        CHECK_EQ(a->time, b->time);
        CHECK_EQ(a->id, b->id);
        CHECK_EQ(count_args(&marks, a->args), b->args);
    }
    uint64_t events = marks.events;
    kymo__free(listed.all);
    kymo__marks_fini(&marks);
    kymo__callables_fini(&callables);
    return events;
}

/* ---- programs ---- */

/* Calls of changing depth. SEVERAL marks, some with an argument, are at random places. */
static struct kymo_capture *record_marks(const char *name, uint64_t seed, unsigned several)
{
    const uint64_t seldom = several ? EVENTS / several : 0;
    tape_start(name);
    uint32_t keys[3] = {tape_function("f"), tape_function("g"), tape_function("h")};
    uint32_t mark = tape_span("mark"), open[100];
    uint64_t time = 0;
    size_t depth = 0;
    for (int i = 0; i < EVENTS; i++, time += random_next(&seed) % 50) {
        if (seldom && random_next(&seed) % seldom == 0) {
            tape_put_value(time, KYMO_FLOW_OUT, 0, mark, (uint64_t)i);
            if (random_next(&seed) % 2)
                tape_put_value(time, KYMO_ARG, 0, mark, 5);
        } else if (depth < 100 && (!depth || random_next(&seed) % 2)) {
            open[depth] = keys[random_next(&seed) % 3];
            tape_enter(time, open[depth++]);
        } else {
            tape_leave(time, open[--depth]);
        }
    }
    return tape_stop(name);
}

static void a_few_marks_are_found_without_reading_the_rest(void)
{
    struct kymo_capture *capture = record_marks("few.kymo", 3, 2);
    CHECK_LE(4, capture->reader->summary_count);
    CHECK_LE(same_marks(capture, 1), 3 * EVENTS / 4);
    kymo_close(capture);
}

static void without_marks_nothing_is_read(void)
{
    struct kymo_capture *capture = record_marks("none.kymo", 5, 0);
    CHECK_EQ(same_marks(capture, 0), 0);
    kymo_close(capture);
}

static void many_marks_are_found_one_by_one(void)
{
    struct kymo_capture *capture = record_marks("many.kymo", 6, 300);
    same_marks(capture, 50);
    kymo_close(capture);
}

/* Also where a block begins with the arguments of an event, and reading cannot begin. */
static void marks_of_a_disorderly_program_are_found(void)
{
    for (unsigned seed = 1; seed < 4; seed++) {
        struct player p;
        tape_start("disorderly.kymo");
        player_init(&p, seed, 4 * seed);
        play_on(&p, EVENTS / 4);
        struct kymo_capture *capture = tape_stop("disorderly.kymo");
        same_marks(capture, 1000);
        kymo_close(capture);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(a_few_marks_are_found_without_reading_the_rest),
    CHECK_CASE(without_marks_nothing_is_read),
    CHECK_CASE(many_marks_are_found_one_by_one),
    CHECK_CASE(marks_of_a_disorderly_program_are_found),
};

CHECK_MAIN(cases)
