/* flown.h — what the tests of flight recorders share: threads that record `value` as 0, 1, 2, …
   and a look at the file, which tells what of it was kept, has expired or was lost. */
#ifndef KYMO_FLOWN_H
#define KYMO_FLOWN_H

#include "fault.h"

enum { MOST = 24 }; /* threads that are looked at */

static inline struct kymo_options flight_options(const char *name, uint64_t bytes, kymo_ns ns)
{
    return (struct kymo_options){.size = sizeof(struct kymo_options),
                                 .path = check_path(name),
                                 .flight_bytes = bytes,
                                 .flight_ns = ns};
}

static inline void flight_start(const char *name, uint64_t bytes, kymo_ns ns)
{
    const struct kymo_options options = flight_options(name, bytes, ns);
    CHECK_OK(kymo_start(&options));
}

/* What a reader finds of threads that record `value` as 0, 1, 2, … and marks. */
struct found {
    struct kymo_info info;
    uint64_t made[MOST]; /* numbers seen or expired or lost, by thread */
    uint64_t kept, expired, lost;
    uint64_t holes;     /* times a number is not the one after the last */
    double first, last; /* of thread 0, or of the only thread there is */
    kymo_ns first_time; /* of the first number */
    unsigned marks;     /* instants */
    char names[4][64];  /* of the first marks */
};

static inline struct found look(const char *name)
{
    struct found found = {.first = -1};
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    double last[MOST];
    kymo_ns time = INT64_MIN;
    int rc;
    for (int i = 0; i < MOST; i++)
        last[i] = -1;
    CHECK_OK(kymo_open(check_path(name), &capture));
    found.info = fault_info(capture);
    CHECK_EQ(kymo_capture_verify(capture), 0);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while ((rc = kymo_cursor_next(cursor, &event)) > 0) {
        CHECK(event.thread < MOST);
        CHECK_LE(time, event.time);
        time = event.time;
        if (event.kind == KYMO_GAP) {
            CHECK(event.id > 0);
            *(event.detail == KYMO_GAP_FLIGHT ? &found.expired : &found.lost) += event.id;
            found.made[event.thread] += event.id;
        } else if (event.kind == KYMO_INSTANT) {
            if (found.marks < 4)
                snprintf(found.names[found.marks], sizeof(found.names[0]), "%s", event.name);
            found.marks++;
        } else {
            CHECK_EQ(event.kind, KYMO_COUNTER);
            CHECK_STR(event.name, "value");
            if (event.value <= last[event.thread])
                CHECK_FAIL("thread %u has %.0f after %.0f", event.thread, event.value,
                           last[event.thread]);
            found.holes += event.value != last[event.thread] + 1;
            last[event.thread] = event.value;
            found.made[event.thread]++;
            if (!found.kept++)
                found.first_time = event.time;
            if (found.first < 0)
                found.first = event.value;
            found.last = event.value;
        }
    }
    CHECK_OK(rc);
    CHECK_EQ(found.info.records, found.kept + found.marks);
    CHECK_EQ(found.info.lost_records, found.lost);
    if (found.info.ending == KYMO_ENDED_CLEAN)
        CHECK_EQ(found.info.expired_records, found.expired);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return found;
}

static inline void record(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        kymo_counter("value", (double)i);
}

/* Wait until kymograph's thread has moved every full chunk into the ring. */
static inline void settle(void)
{
    for (uint64_t before = UINT64_MAX, now = 0; now != before;) {
        before = fault_stats().expired_records;
        fault_sleep(FAULT_TIMES(250000000, 500000000));
        now = fault_stats().expired_records;
    }
}

#endif
