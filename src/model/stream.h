/* stream.h — the events of one thread, in the order recorded.

   Decodes block after block with one block in memory. Gaps and damaged blocks show
   up as KYMO_GAP events at the time of what is missing. */
#ifndef KYMO_STREAM_H
#define KYMO_STREAM_H

#include "capture.h"
#include "decode.h"

struct kymo_stream {
    struct kymo_capture *capture;
    uint32_t thread;
    uint64_t from, to; /* ticks: runs outside are not decoded */
    size_t run, run_end;
    bool open;                      /* a run is being read: the decoder's, or `live` */
    const struct kymo_record *live; /* rest of a run that is not a block */
    size_t live_left;
    struct kymo_buffer encoded;
    struct kymo_decoder decoder;
    struct kymo_record batch[128];
    int batch_len, batch_at;
    size_t gap;  /* next gap of the reader to look at */
    size_t hint; /* of the timebase */
    bool has_ahead;
    struct kymo_event ahead; /* the next event when a gap came before it */
};

/* Set up for thread INDEX and the runs that have ticks in [FROM, TO). */
void kymo__stream_init(struct kymo_stream *stream, struct kymo_capture *capture, uint32_t thread,
                       uint64_t from, uint64_t to);
void kymo__stream_fini(struct kymo_stream *stream);

/* The next event: 1, 0 at the end, or a negative code. */
int kymo__stream_next(struct kymo_stream *stream, struct kymo_event *event);

/* The records at hand, as they are in the file, for who reads on quickly; 0 when there are none,
   which does not mean the end. Those from tick *LIMIT on are not to be used; it is lowered to
   where a gap begins. They are gone past when kymo__stream_skip says so. */
size_t kymo__stream_at_hand(struct kymo_stream *stream, uint64_t *limit,
                            const struct kymo_record **records);
void kymo__stream_skip(struct kymo_stream *stream, size_t count);

#endif
