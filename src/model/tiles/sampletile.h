/* sampletile.h — the samples of a capture over time, for a viewer.

   A tile of samples has the bytes of tile.h, with one row: a sample is a part of no length, and the
   samples of one column are one part, from the first to the last of them. `busy` is the time they
   represent, `count` their number, and `name` the function that was sampled most in it: a number of
   the book. */
#ifndef KYMO_SAMPLETILE_H
#define KYMO_SAMPLETILE_H

#include "samples.h"
#include "tile.h"

/* The samples of a capture with their names, found once: for every tile and every range. */
struct kymo_samplebook {
    struct kymo_samples *samples; /* of all of the capture; the tree has no nodes */
    uint32_t *name_of; /* by reader node where a sample ended: its innermost function, a callable of
                          the survey of `samples`; 0 if none ended there */
    size_t nodes;
    /* Every sample by thread, in the order recorded, so that tiles need no reading; unless there are more
       than KYMO__SAMPLES_KEPT. */
    struct kymo_kept_sample {
        kymo_ns time;
        uint64_t id; /* as in kymo_event */
    } * kept;
    size_t kept_count, kept_capacity;
    size_t
        *kept_of; /* by thread: where its samples begin in `kept`, and one more at the end; NULL if
                        they are not kept */
};
enum { KYMO__SAMPLES_KEPT = 1 << 20 };

/* Read the samples of CAPTURE, which must outlive BOOK. STOP, which may be NULL, is called now and
   then with ARG; a negative result ends it. Returns 0 or a negative code; call fini in either
   case. */
int kymo__samplebook_init(struct kymo_samplebook *book, struct kymo_capture *capture,
                          int (*stop)(void *arg), void *arg);
void kymo__samplebook_fini(struct kymo_samplebook *book);

/* The innermost function that is shown of the stack of a sample with ID. */
uint32_t kymo__samplebook_name(const struct kymo_samplebook *book, uint64_t id);

/* Append the tile of samples at PLACE of CAPTURE to OUT. Returns 0, -EINVAL if there is no such
   place, or another negative code. */
int kymo__sample_tile_make(struct kymo_capture *capture, const struct kymo_samplebook *book,
                           const struct kymo_tile_place *place, struct kymo_buffer *out);

/* Find the first sample of THREAD from TIME on or, if BACKWARDS, the last one before it. Returns 1, 0
   if there is none, or a negative code. */
int kymo__sample_find(struct kymo_capture *capture, uint32_t thread, kymo_ns time, bool backwards,
                      struct kymo_event *found);

#endif
