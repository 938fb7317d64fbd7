/* stacks.h — samples in a capture: whether there are any, how many, how far apart. */
#ifndef KYMO_STACKS_H
#define KYMO_STACKS_H

#include "capture.h"

/* Metadata of a capture with samples: nanoseconds between two, and of what: "cpu" or "wall". */
#define KYMO__SAMPLE_PERIOD "sample.period_ns"
#define KYMO__SAMPLE_CLOCK "sample.clock"

/* Can there be any? Costs nothing; false is certain. */
bool kymo__may_have_samples(const struct kymo_capture *capture);

/* How many there are. Reads everything, once, if there can be any. */
uint64_t kymo__count_samples(struct kymo_capture *capture);

/* The value of metadata KEY, or "". */
const char *kymo__sample_metadata(const struct kymo_capture *capture, const char *key);

/* A sample's value: which stack, and how many periods it stands for. */
static inline uint32_t kymo__sample_stack(uint64_t value)
{
    return (uint32_t)value;
}

static inline uint32_t kymo__sample_periods(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

#endif
