/* optrack.c — the operators of a thread while it is written, and the arrows between threads; see
   opargs.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "opargs.h"

/* ---- arrows ---- */

/* Enters of a thread are numbered from 1; a thread has fewer than 2^40. */
static uint64_t place_of(uint32_t index, uint64_t number)
{
    return (uint64_t)index << 40 | number;
}

static int add_arrow(struct kymo_op_arrows *a, uint64_t place, uint64_t number, bool end)
{
    int rc = kymo__array_grow(&a->all, &a->capacity, a->count, sizeof(*a->all));
    if (rc == 0)
        a->all[a->count++] = (struct kymo_op_arrow){place, number, end};
    return rc;
}

static int on_link(void *arg, const struct kymo_op_link *link)
{
    struct kymo_op_arrows *a = arg;
    uint64_t number = a->count / 2 + 1;
    int rc = add_arrow(a, place_of(link->forward_thread, link->forward_number), number, false);
    return rc < 0 ? rc : add_arrow(a, place_of(link->thread, link->number), number, true);
}

static int by_place(const void *a, const void *b)
{
    const struct kymo_op_arrow *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

int kymo__op_export_init(struct kymo_op_export *ops, struct kymo_capture *capture,
                         const struct kymo_export_options *options)
{
    *ops = (struct kymo_op_export){.reader = capture->reader};
    const struct kymo_ops_visitor visitor = {.arg = &ops->arrows, .link = on_link};
    int rc = kymo__op_keys_init(&ops->keys, capture->reader);
    if (rc == 0 && ops->keys.any)
        rc = kymo__operators_read(capture, options, &visitor);
    if (rc == 0 && ops->arrows.count)
        qsort(ops->arrows.all, ops->arrows.count, sizeof(*ops->arrows.all), by_place);
    return rc;
}

void kymo__op_export_fini(struct kymo_op_export *ops)
{
    kymo__op_keys_fini(&ops->keys);
    kymo__free(ops->arrows.all);
    *ops = (struct kymo_op_export){0};
}

const struct kymo_op_arrow *kymo__op_arrow_at(const struct kymo_op_export *ops, uint32_t index,
                                              uint64_t number)
{
    const struct kymo_op_arrow wanted = {.place = place_of(index, number)};
    if (!ops->arrows.count)
        return NULL;
    return bsearch(&wanted, ops->arrows.all, ops->arrows.count, sizeof(wanted), by_place);
}

/* ---- operators of a thread ---- */

void kymo__op_track_fini(struct kymo_op_track *track)
{
    kymo__op_lane_fini(&track->lane);
}

/* Put those of ARGS that are fields of a payload of kind NOTE into FIELDS. Returns how many. */
static unsigned collect_fields(struct kymo_op_fields *fields, const struct kymo_op_keys *keys,
                               enum kymo_op_note note, const struct kymo_call_arg *args,
                               unsigned count)
{
    unsigned found = 0;
    *fields = (struct kymo_op_fields){0};
    for (unsigned i = 0; i < count; i++)
        if (args[i].schema && kymo__op_note_of(keys, args[i].schema) == note) {
            kymo__op_field_put(fields, keys, &args[i]);
            found++;
        }
    return found;
}

/* The columns of a part are its last fields. */
static int take_part(struct kymo_op_track *track, const struct kymo_op_fields *fields,
                     const struct kymo_call_arg *args, unsigned count)
{
    struct kymo_opcolumn columns[KYMO__COLUMNS];
    if (count < KYMO__COLUMNS)
        return 0;
    args += count - KYMO__COLUMNS;
    for (unsigned i = 0; i < KYMO__COLUMNS; i++)
        columns[i] = (struct kymo_opcolumn){args[i].count, args[i].bytes, args[i].length};
    return kymo__opjoin_add(&track->lane.parts, fields->at[KYMO__OP_FIRST].number, columns);
}

int kymo__op_track_note(struct kymo_op_track *track, const struct kymo_op_export *ops,
                        const struct kymo_event *event, const struct kymo_call_arg *args,
                        unsigned count)
{
    enum kymo_op_note note =
        event->kind == KYMO_INSTANT ? kymo__op_note_of(&ops->keys, event->key) : KYMO__OP_NOTHING;
    struct kymo_op_fields fields;
    int rc = 0;
    if (note == KYMO__OP_NOTHING)
        return 0;
    collect_fields(&fields, &ops->keys, note, args, count);
    if (note == KYMO__OP_IN || note == KYMO__OP_OUT)
        kymo__op_lane_join(&track->lane, &fields);
    if (note == KYMO__OP_PART) {
        rc = take_part(track, &fields, args, count);
    } else if (note == KYMO__OP_IN) {
        struct kymo_op_open *open = kymo__op_lane_push(&track->lane);
        if (!open)
            return -ENOMEM;
        open->depth = track->depth;
        rc = kymo__op_take_in(&open->op, &fields, ops->reader);
    } else if (note == KYMO__OP_ATTRIBUTES) {
        struct kymo_opcall *op = kymo__op_lane_find(&track->lane, fields.at[KYMO__OP_RF_ID].number);
        rc = op ? kymo__op_take_attributes(op, &fields, ops->reader) : 0;
    }
    return rc < 0 ? rc : 1;
}

/* Read what is attached to SLICE itself. */
static int take_attached(struct kymo_opcall *op, const struct kymo_op_export *ops,
                         const struct kymo_slice *slice)
{
    struct kymo_op_fields fields;
    int rc = 0;
    if (collect_fields(&fields, &ops->keys, KYMO__OP_IN, slice->args, slice->arg_count))
        rc = kymo__op_take_in(op, &fields, ops->reader);
    if (rc == 0 &&
        collect_fields(&fields, &ops->keys, KYMO__OP_ATTRIBUTES, slice->args, slice->arg_count))
        rc = kymo__op_take_attributes(op, &fields, ops->reader);
    return rc;
}

/* The engine's own operators have the numbers of the node that they evaluate, as in PyTorch. */
static void take_inner(struct kymo_op_open *open)
{
    static const char evaluates[] = "autograd::engine::evaluate_function";
    if (open->has_inner && open->op.seq < 0 &&
        strncmp(open->op.name, evaluates, sizeof(evaluates) - 1) == 0) {
        open->op.seq = open->inner_seq;
        open->op.fw_tid = open->inner_fw_tid;
    }
}

static void tell_outer(struct kymo_op_lane *lane, const struct kymo_opcall *op)
{
    struct kymo_op_open *outer = lane->count ? &lane->open[lane->count - 1] : NULL;
    if (!outer || outer->has_inner || op->seq < 0)
        return;
    outer->has_inner = true;
    outer->inner_seq = op->seq;
    outer->inner_fw_tid = op->fw_tid;
}

int kymo__op_track_leave(struct kymo_op_track *track, const struct kymo_op_export *ops,
                         uint32_t thread, const struct kymo_slice *slice,
                         const struct kymo_opcall **op)
{
    struct kymo_op_lane *lane = &track->lane;
    const struct kymo_open_call *frame = slice->frame;
    bool span = kymo__op_is_span(&ops->keys, frame->key);
    struct kymo_op_open *open = NULL;
    track->depth = slice->depth - (slice->depth > 0);
    *op = NULL;
    while (lane->count && lane->open[lane->count - 1].depth >= slice->depth)
        open = &lane->open[--lane->count];
    if (!span && !kymo__op_is(&ops->keys, frame->key))
        return 0;
    if (!open || open->depth != slice->depth) {
        open = kymo__op_lane_push(lane);
        if (!open)
            return -ENOMEM;
        lane->count--;
        open->op.scope = span ? KYMO__OP_USER_SCOPE : 0;
    }
    bool resumed = kymo__unlikely(frame->enter == KYMO__ENTER_RESUME && !span);
    bool goes_on = resumed && kymo__op_lane_go_on(lane, frame->key, open);
    if (resumed && !goes_on)
        open->op.scope = KYMO__OP_USER_SCOPE; /* it began before what is exported */
    int rc = slice->arg_count && !goes_on ? take_attached(&open->op, ops, slice) : 0;
    if (!open->op.rf_id)
        open->op.rf_id = kymo__op_own_rf_id(frame->number, thread, ops->reader->thread_count);
    open->op.name = kymo__key_name(ops->reader, frame->key);
    take_inner(open);
    tell_outer(lane, &open->op);
    *op = &open->op;
    if (kymo__unlikely(slice->leave == KYMO__LEAVE_YIELD && !span && rc == 0)) {
        rc = kymo__op_lane_carry(lane, frame->key, open);
        *op = rc == 0 ? &lane->carried[lane->carried_count - 1].open.op : NULL;
    }
    return rc;
}
