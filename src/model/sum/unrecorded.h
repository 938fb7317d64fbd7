/* unrecorded.h — how much of a call's self time was spent in calls that were not recorded.

   Functions may be switched off by an overhead budget or left out by filters. Their time then
   counts for the innermost recorded call, which looks as if it did the work itself. If there are
   samples as well as calls, they show it: a sample whose innermost Python function differs from the
   innermost recorded call was taken in a call that was not recorded. */
#ifndef KYMO_UNRECORDED_H
#define KYMO_UNRECORDED_H

#include "samples.h"

struct kymo_unrecorded {
    uint64_t *sampled; /* by callable of the survey: periods sampled while its call was innermost */
    uint64_t *elsewhere; /* of those, in calls that were not recorded */
    uint64_t all, all_elsewhere;
};

/* Compare SAMPLES of CAPTURE with the calls of SURVEY, made from the same part of it, as OPTIONS
   say. Returns 0 or a negative code; call fini in either case. */
int kymo__unrecorded_init(struct kymo_unrecorded *u, struct kymo_capture *capture,
                          const struct kymo_survey *survey, const struct kymo_samples *samples,
                          const struct kymo_tally_options *options);
void kymo__unrecorded_fini(struct kymo_unrecorded *u);

/* Estimate how much of TIME, CALLABLE's self time, that was. */
static inline kymo_ns kymo__unrecorded_part(const struct kymo_unrecorded *u, uint32_t callable,
                                            kymo_ns time)
{
    if (!u->sampled || !u->sampled[callable])
        return 0;
    double share = (double)u->elsewhere[callable] / (double)u->sampled[callable];
    return (kymo_ns)((double)time * share);
}

#endif
