/* opargs.h — operators in a timeline: their payloads, collected until they end, and the arguments
   that PyTorch's profiler writes for them.

   Timelines are written thread by thread (crew.h), so ids of tensors, which need all threads, are
   not known here. */
#ifndef KYMO_OPARGS_H
#define KYMO_OPARGS_H

#include "export.h"
#include "oplane.h"

/* Which operators have an arrow to their backward operator, for all threads. */
struct kymo_op_arrows {
    struct kymo_op_arrow {
        uint64_t place;  /* kymo__op_place */
        uint64_t number; /* of the arrow, from 1 */
        bool end;        /* the arrow ends there */
    } * all;             /* by place */
    size_t count, capacity;
};

/* Shared by all threads of an export; constant while they are written. */
struct kymo_op_export {
    const struct kymo_reader *reader;
    struct kymo_op_keys keys;
    struct kymo_op_arrows arrows;
};

/* Returns 0 or a negative code; call fini in either case. */
int kymo__op_export_init(struct kymo_op_export *ops, struct kymo_capture *capture,
                         const struct kymo_export_options *options);
void kymo__op_export_fini(struct kymo_op_export *ops);

/* The arrow at enter NUMBER of thread INDEX, or NULL. */
const struct kymo_op_arrow *kymo__op_arrow_at(const struct kymo_op_export *ops, uint32_t index,
                                              uint64_t number);

/* The operators open on a thread; all zero at first. `lane` has those whose payload was a note. It also
   keeps the payload of an annotation that outlives the call in which it began, for its later
   slices: only the first slice comes with it. */
struct kymo_op_track {
    struct kymo_op_lane lane;
    uint32_t depth; /* of the innermost call */
};

void kymo__op_track_fini(struct kymo_op_track *track);

/* A call at DEPTH began. */
static inline void kymo__op_track_enter(struct kymo_op_track *track, uint32_t depth)
{
    track->depth = depth;
}

/* Do the ends of calls that are no operators matter to TRACK? */
static inline bool kymo__op_track_is_open(const struct kymo_op_track *track)
{
    return track->lane.count != 0;
}

/* Does what follows depend on the state of TRACK? */
static inline bool kymo__op_track_goes_on(const struct kymo_op_track *track)
{
    return kymo__op_track_is_open(track) || track->lane.carried_count != 0 ||
           track->lane.parts.columns[KYMO__COLUMN_KINDS].count != 0;
}

/* Take EVENT with its ARGS. Returns 1 if it was a payload of an operator, which is not to be shown, 0
   if it is anything else, or -ENOMEM. */
int kymo__op_track_note(struct kymo_op_track *track, const struct kymo_op_export *ops,
                        const struct kymo_event *event, const struct kymo_call_arg *args,
                        unsigned count);

/* SLICE ends. If it is an operator or a span, store it in *OP, lent until the next call, without
   times, parents and ids of tensors; else store NULL. THREAD is its index. Returns 0 or
   -ENOMEM. */
int kymo__op_track_leave(struct kymo_op_track *track, const struct kymo_op_export *ops,
                         uint32_t thread, const struct kymo_slice *slice,
                         const struct kymo_opcall **op);

/* Does ARG belong to a payload of an operator, which is shown differently? */
static inline bool kymo__op_owns_arg(const struct kymo_op_export *ops,
                                     const struct kymo_call_arg *arg)
{
    return arg->schema && kymo__op_note_of(&ops->keys, arg->schema) != KYMO__OP_NOTHING;
}

/* An argument for display. */
struct kymo_op_arg {
    const char *name;
    enum { KYMO__OP_ARG_INT, KYMO__OP_ARG_TEXT, KYMO__OP_ARG_JSON } type;
    int64_t integer;
    const char *text; /* TEXT, JSON: `length` bytes */
    size_t length;
};

/* Call EMIT for every argument of OP. Returns 0, or the first negative result, or -ENOMEM. */
int kymo__op_args(const struct kymo_opcall *op,
                  int (*emit)(void *arg, const struct kymo_op_arg *value), void *arg);

#endif
