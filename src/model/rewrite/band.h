/* band.h — the offset between two clocks that run steadily, from limits that hold at some moments.

   Limits come from causality: what was read had been written before. So the offset was at most, or
   at least, a known value when something happened. It changes steadily: it is a line over time, and
   all lines that keep to the limits are a band, which is known by its values at two moments. */
#ifndef KYMO_BAND_H
#define KYMO_BAND_H

#include "capture.h"

/* Two clocks run at rates that differ by a thousandth at most: the kernel lets each be off by half
   of that. */
#define KYMO__RATE_MOST 0.001

struct kymo_limit {
    kymo_ns at;    /* on the clock that has the offset */
    kymo_ns value; /* the offset then was at least this, or if UPPER at most */
    bool upper;
};

struct kymo_band {
    kymo_ns from, to;
    kymo_ns least[2], most[2]; /* of the offset at FROM and at TO */
};

/* Fit BAND, whose from and to are given, to COUNT limits, each of which may be wrong by LOOSE.
   Returns 1; 0 if the offset is not bounded on both sides; -EDOM if no line keeps to all limits; or
   -ENOMEM. */
int kymo__band_fit(struct kymo_band *band, const struct kymo_limit *limits, size_t count,
                   kymo_ns loose);

/* The least and the most of the offset at TIME, also outside of from and to. */
void kymo__band_at(const struct kymo_band *band, kymo_ns time, kymo_ns *least, kymo_ns *most);

#endif
