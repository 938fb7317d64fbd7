/* pieces.h — split a thread of a capture into pieces that several cores read at once.

   A thread can be split where a checkpoint lists the open calls. Each piece is read by itself, in
   any order: calls that begin and end in it are reported as usual. No piece knows everything about
   a call that crosses a boundary; each keeps what it knows, and when all have been read,
   kymo__pieces_join reports those calls. Together this is what reading the whole thread reports, in
   a different order. */
#ifndef KYMO_PIECES_H
#define KYMO_PIECES_H

#include "calls.h"

/* A call that began in an earlier piece and ended in this one. */
struct kymo_crossing {
    uint64_t number;
    kymo_ns end, inside; /* time in calls it made that ended in this piece */
    uint8_t leave, flags;
    unsigned arg_count;
};

struct kymo_piece {
    uint32_t thread;
    size_t first, last; /* summaries of the reader, or KYMO__NO_SUMMARY: see kymo__calls_part */
    uint64_t records;   /* approximate number */
    /* Valid after it has been read: */
    bool cut; /* not all of it, because there was no time left */
    struct kymo_calls_counts counts;
    struct kymo_open_call *begin; /* calls open at its start */
    size_t begin_count;
    struct kymo_open_call *end; /* calls open at its end */
    size_t end_count;
    struct kymo_crossing *crossings; /* in the order in which they ended */
    size_t crossing_count, crossing_capacity;
    struct kymo_call_arg *args; /* their arguments */
    size_t arg_count, arg_capacity;
};

/* Split thread THREAD of CAPTURE, from FROM to TO, into pieces of about RECORDS records, at least
   one, and append them to *PIECES in order. Returns 0 or -ENOMEM. */
int kymo__pieces_plan(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      uint64_t records, struct kymo_piece **pieces, size_t *count,
                      size_t *capacity);
void kymo__pieces_free(struct kymo_piece *pieces, size_t count);

struct kymo_piece_visitor {
    struct kymo_visitor calls; /* `open` and `event` are not used */
    /* A call reported with `enter` does not end in this piece. */
    void (*forget)(void *arg, const struct kymo_open_call *frame);
    /* Called now and then with the events read since the last call; a negative result stops the
       reading. */
    int (*step)(void *arg, uint64_t events);
    /* For a piece that is a whole thread: the time by which reading ends, see pace.h. */
    kymo_ns until;
};

/* Read PIECE from CAPTURE, a shared one. Returns 0, -EAGAIN if its checkpoint turns out to be
   unusable, or a negative code. */
int kymo__piece_read(struct kymo_piece *piece, struct kymo_capture *capture, kymo_ns from,
                     kymo_ns to, const struct kymo_piece_visitor *visitor);

/* CALLS has read a piece that ends at summary LAST. Does the next piece begin with the same calls
   open? Returns 1, 0 if not (a damaged file), or a negative code. */
int kymo__piece_follows(const struct kymo_calls *calls, size_t last);

/* Report to VISITOR the calls that cross between the COUNT pieces of one thread, in order. Returns
   0 or a negative code; -EAGAIN if a piece does not start with what was open at the end of the
   previous one (a damaged file), in which case discard what was reported. */
int kymo__pieces_join(const struct kymo_piece *pieces, size_t count,
                      const struct kymo_visitor *visitor);

#endif
