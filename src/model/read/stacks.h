/* stacks.h — the samples in a capture: whether there are any, how many, and their period. */
#ifndef KYMO_STACKS_H
#define KYMO_STACKS_H

#include "capture.h"

/* Metadata of a capture with samples: the period in nanoseconds, and its clock: "cpu" or "wall". */
#define KYMO__SAMPLE_PERIOD "sample.period_ns"
#define KYMO__SAMPLE_CLOCK "sample.clock"

/* Can there be any? Cheap; false is certain. */
bool kymo__may_have_samples(const struct kymo_capture *capture);

/* Count them. Reads everything, once, if there can be any. */
uint64_t kymo__count_samples(struct kymo_capture *capture);

/* The value of metadata KEY, or "". */
const char *kymo__sample_metadata(const struct kymo_capture *capture, const char *key);

/* Split a sample's value: the stack, and the number of periods it represents. */
static inline uint32_t kymo__sample_stack(uint64_t value)
{
    return (uint32_t)value;
}

static inline uint32_t kymo__sample_periods(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

#endif
