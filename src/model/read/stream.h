/* stream.h — read the events of one thread in the order recorded.

   Decodes block after block, with one block in memory. Gaps and damaged blocks appear as KYMO_GAP
   events at the time of what is missing. */
#ifndef KYMO_STREAM_H
#define KYMO_STREAM_H

#include "capture.h"
#include "decode.h"

struct kymo_stream {
    struct kymo_capture *capture;
    uint32_t thread;
    uint64_t from, to; /* ticks: runs outside are not decoded */
    size_t run, run_end;
    bool open;                      /* a run is open: the decoder's, or `live` */
    const struct kymo_record *live; /* rest of a run that is not in a block */
    size_t live_left;
    struct kymo_buffer encoded;
    struct kymo_decoder decoder;
    struct kymo_record batch[128];
    int batch_len, batch_at;
    size_t gap;     /* next gap of the reader to check */
    size_t gap_end; /* gaps from here on belong to what follows */
    size_t hint;    /* for the timebase */
    bool track;     /* times in the open run are on the thread's own clock */
    bool has_ahead;
    struct kymo_event ahead;    /* the next event, if a gap came before it */
    struct kymo_buffer payload; /* payload of the event handed out last */
    bool whole; /* payloads are taken as they are, and not as records: nobody else wants those */
    bool noted; /* it belongs to `note`, which is the next event */
    struct kymo_event note;
    kymo_ns last_time; /* time of the last event other than a payload; payloads share it */
    uint64_t last_ticks;
};

/* Set up for thread INDEX and runs with ticks in [FROM, TO). */
void kymo__stream_init(struct kymo_stream *stream, struct kymo_capture *capture, uint32_t thread,
                       uint64_t from, uint64_t to);
void kymo__stream_fini(struct kymo_stream *stream);

/* Start at run RUN of the reader instead. All earlier runs end by tick BEFORE. */
void kymo__stream_seek(struct kymo_stream *stream, size_t run, uint64_t before);

/* Stop before run RUN. All earlier runs end by tick BEFORE. */
void kymo__stream_limit(struct kymo_stream *stream, size_t run, uint64_t before);

/* Read the next event. Returns 1, 0 at the end, or a negative code. */
int kymo__stream_next(struct kymo_stream *stream, struct kymo_event *event);

/* Where the fields of the payload read last are; NULL if that is not known. */
static inline const struct kymo_places *kymo__stream_places(const struct kymo_stream *stream)
{
    return stream->whole && !stream->live ? &stream->decoder.values.places : NULL;
}

/* Fast path: the decoded records available now, as in the file. Returns 0 if there are none, which
   does not mean the end. Do not use those from tick *LIMIT on; it is lowered to the start of the
   next gap. kymo__stream_skip consumes them. */
size_t kymo__stream_at_hand(struct kymo_stream *stream, uint64_t *limit,
                            const struct kymo_record **records);
void kymo__stream_skip(struct kymo_stream *stream, size_t count);

/* The decoder of the open block, if all records decoded so far were used, to pass over some of the
   next; otherwise NULL. */
struct kymo_decoder *kymo__stream_decoder(struct kymo_stream *stream);

#endif
