/* tape.h — captures made by hand: every event at the time that the test says.

   The session's clock is CLOCK_MONOTONIC, whose ticks are nanoseconds, so that a test can
   store any tick it likes. Times are nanoseconds since the tape's start. */
#ifndef KYMO_TAPE_H
#define KYMO_TAPE_H

#include <kymo/lane.h>

#include "check.h"

static uint64_t tape_zero; /* tick of time 0 */

static inline void tape_start(const char *name)
{
    CHECK_OK(kymo_start(&(struct kymo_options){
        .size = sizeof(struct kymo_options), .path = check_path(name), .clock = 1}));
    tape_zero = kymo_ticks();
}

static inline struct kymo_capture *tape_stop(const char *name)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path(name), &capture));
    return capture;
}

static inline uint32_t tape_key(const char *name, const char *file, uint32_t line, uint32_t class)
{
    uint32_t key = kymo_function_key(&(struct kymo_function){.size = sizeof(struct kymo_function),
                                                             .name = name,
                                                             .file = file,
                                                             .line = line,
                                                             .kind = class});
    CHECK(key != 0);
    return key;
}

/* A Python function called NAME. */
static inline uint32_t tape_function(const char *name)
{
    return tape_key(name, "program.py", 1, KYMO_CLASS_FUNCTION);
}

static inline uint32_t tape_span(const char *name)
{
    return tape_key(name, NULL, 0, KYMO_CLASS_NAME);
}

static inline void tape_put(uint64_t time, unsigned kind, unsigned detail, uint32_t key)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    CHECK(at != NULL);
    kymo_lane_store(at, tape_zero + time, kymo_word(kind, detail, key));
    kymo_lane_commit(lane, at + 1);
}

static inline void tape_put_value(uint64_t time, unsigned kind, unsigned detail, uint32_t key,
                                  uint64_t value)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    CHECK(at != NULL);
    kymo_lane_store(at, tape_zero + time, kymo_word(kind, detail, key));
    kymo_lane_store(at + 1, value, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, at + 2);
}

static inline void tape_enter(uint64_t time, uint32_t key)
{
    tape_put(time, KYMO_ENTER, 0, key);
}

static inline void tape_leave(uint64_t time, uint32_t key)
{
    tape_put(time, KYMO_LEAVE, 0, key);
}

/* COUNT events are missing at TIME. */
static inline void tape_gap(unsigned count)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    CHECK(at != NULL);
    kymo_lane_drop(lane, at, count, KYMO_GAP_BUDGET);
}

#endif
