/* speedscope_samples.h — the samples of a capture as speedscope profiles, one per thread: the
   samples in order, weighted by the time they represent. */
#ifndef KYMO_SPEEDSCOPE_SAMPLES_H
#define KYMO_SPEEDSCOPE_SAMPLES_H

#include "export.h"
#include "samples.h"

struct kymo_speedscope_samples {
    struct kymo_capture *capture;
    const struct kymo_export_options *options;
    struct kymo_outfile *out;
    struct kymo_samples *samples; /* NULL if there are none to write */
    uint32_t *frames;             /* by callable: number of its frame + 1, or 0 */
    uint32_t *used;               /* by frame: its callable */
    uint32_t frame_count;
    uint32_t before;   /* number of frames before these */
    unsigned profiles; /* profiles written so far, including those of calls */
    unsigned written;  /* samples of the thread written so far */
    struct kymo_shown shown[KYMO__SHOWN_MOST + 1];
};

/* Read the samples that OPTIONS select. Returns 0 or a negative code; call fini in either case. */
int kymo__speedscope_sample(struct kymo_speedscope_samples *s, struct kymo_capture *capture,
                            const struct kymo_export_options *options, struct kymo_outfile *out);

/* Write the profiles; then the frames they use, after s->before others. */
int kymo__speedscope_samples(struct kymo_speedscope_samples *s);
void kymo__speedscope_sample_frames(struct kymo_speedscope_samples *s);
void kymo__speedscope_samples_fini(struct kymo_speedscope_samples *s);

/* Write CALLABLE as an entry of the frame table. */
void kymo__speedscope_frame(struct kymo_outfile *out, const struct kymo_callable *callable,
                            bool first);

#endif
