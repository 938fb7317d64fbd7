/* Operators read ahead of their visitor: all of them, in order, and its errors end the reading. */
#include <errno.h>
#include <kymo/kymo.h>
#include <kymo/payload.h>
#include <pthread.h>
#include <unistd.h>

#include "alloc.h"
#include "check.h"
#include "opahead.h"
#include "opmade.h"

enum { OPERATORS = 3000 }; /* some batches, and a part of one */

static struct kymo_capture *capture;
static uint64_t threads, ended, last_id;
static uint64_t fails_at; /* the operator whose visit fails; 0: none does */
static bool elsewhere;    /* the visitor ran on another thread */
static pthread_t reader;

static int on_thread(void *arg, const struct kymo_op_thread *thread)
{
    (void)arg;
    CHECK_EQ(ended, 0);
    CHECK_EQ(thread->tid, 1);
    threads++;
    return 0;
}

static int on_end(void *arg, struct kymo_opcall *op)
{
    (void)arg;
    elsewhere = elsewhere || !pthread_equal(pthread_self(), reader);
    ended++;
    CHECK_EQ(op->rf_id, ended);
    CHECK_STR(op->schema, "f.overload(int x) -> ()"); /* the reader's, to the last */
    CHECK_LE(last_id + 1, op->id);
    last_id = op->id;
    if (ended > OPERATORS - 3)
        usleep(1000); /* the reader is at its end long before */
    /* Its buffers are its own, whatever was read meanwhile. */
    CHECK_EQ(op->inputs.count, 1);
    CHECK_EQ(op->inputs.all[0].integer, (int64_t)ended);
    CHECK_EQ(op->outputs.count, 0);
    CHECK_EQ(op->attribute_count, ended % 2);
    if (op->attribute_count)
        CHECK(memcmp(op->attributes[0].text, "odd", op->attributes[0].length) == 0);
    return ended == fails_at ? -EDQUOT : 0;
}

static int read_ahead(void)
{
    const struct kymo_ops_visitor visitor = {.thread = on_thread, .end = on_end};
    const struct kymo_export_options options = {
        .size = sizeof(options), .to = INT64_MAX, .thread = -1};
    threads = ended = last_id = 0;
    elsewhere = false;
    reader = pthread_self();
    return kymo__operators_read_ahead(capture, &options, &visitor);
}

/* What the overload in OP stands for, as recorders write it at the end. */
static void note_schema(void)
{
    static const struct kymo_field fields[] = {{"operator", KYMO_FIELD_NAME},
                                               {"schema", KYMO_FIELD_TEXT}};
    unsigned char room[256];
    struct kymo_schema schema;
    struct kymo_payload payload;
    CHECK_OK(kymo_schema_define(&schema, "operator.schema", fields, 2));
    kymo_payload_begin(&payload, room, sizeof(room));
    kymo_payload_uint(&payload, kymo_name_key("f.overload"));
    kymo_payload_text(&payload, "f.overload(int x) -> ()");
    kymo_note(&schema, &payload);
}

static void record(const char *name)
{
    static struct opmade_values in, none;
    opmade_start(check_path(name));
    for (uint64_t i = 1; i <= OPERATORS; i++) {
        struct opmade_op op = {
            .name = "f", .rf_id = i, .seq = -1, .thread = 1, .schema = "f.overload"};
        memset(&in, 0, sizeof(in));
        opmade_int(&in, OPMADE_INT, (int64_t)i);
        opmade_enter((kymo_ns)(10 * i), &op, &in);
        if (i % 2)
            opmade_attribute((kymo_ns)(10 * i + 1), &op, "parity", "odd", 0);
        opmade_leave((kymo_ns)(10 * i + 5), &op, &none);
    }
    note_schema();
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path(name), &capture));
}

/* ---- cases ---- */

static void all_operators_come_in_order_on_another_thread(void)
{
    record("all.kymo");
    CHECK_OK(read_ahead());

    CHECK_EQ(ended, OPERATORS);
    CHECK_EQ(threads, 1);
    CHECK(elsewhere);
    kymo_close(capture);
}

static void an_error_of_the_visitor_ends_the_reading(void)
{
    static const uint64_t places[] = {1, 255, 256, 257, 2000, OPERATORS};
    record("error.kymo");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        fails_at = places[i];
        CHECK_EQ(read_ahead(), -EDQUOT);
        CHECK_EQ(ended, fails_at);
    }
    fails_at = 0;
    kymo_close(capture);
}

static void running_out_of_memory_is_an_error(void)
{
    record("memory.kymo");
    int rc = -ENOMEM, tries = 0;
    for (int n = 0; rc < 0 && n < 100000; n += 1 + n / 16, tries++) {
        kymo__alloc_fail_after(n);
        rc = read_ahead();
        kymo__alloc_fail_after(-1);
        if (rc < 0)
            CHECK_EQ(rc, -ENOMEM);
    }
    CHECK_EQ(rc, 0);
    CHECK_LE(10, tries);
    CHECK_EQ(ended, OPERATORS);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(all_operators_come_in_order_on_another_thread),
    CHECK_CASE(an_error_of_the_visitor_ends_the_reading),
    CHECK_CASE(running_out_of_memory_is_an_error),
};

CHECK_MAIN(cases)
