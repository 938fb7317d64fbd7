/* operators.c — see operators.h.

   Each thread has a nest, which repairs what is missing as for every other reader, and the stack of
   its open operators. An operator that has ended waits in the nest until the next event of its
   thread, because its outputs may follow. */
#include "operators.h"

#include <errno.h>
#include <kymo/exports.h>
#include <kymo/track.h>

#include "alloc.h"
#include "calls.h"
#include "cursor.h"
#include "opforward.h"
#include "opids.h"
#include "oplane.h"
#include "oplaunch.h"
#include "opschemas.h"

enum { PROGRESS = 1 << 14 }; /* events between two reports */

struct pass {
    struct kymo_capture *capture;
    const struct kymo_export_options *options;
    const struct kymo_ops_visitor *visitor;
    struct kymo_op_keys keys;
    struct kymo_op_schemas schemas;
    struct kymo_op_ids ids;
    struct kymo_op_forwards forwards;
    struct kymo_op_launches launches;
    struct kymo_op_lane **lanes; /* by thread; NULL until its first event */
    size_t lane_count;
    struct {
        uint32_t lane;
        uint64_t id;    /* 0: none */
    } recent[2];        /* what began last, and what began last on any other thread */
    uint64_t done, all; /* events */
};

/* ---- begin and end ---- */

static bool is_selected(const struct pass *p, const struct kymo_op_lane *lane,
                        const struct kymo_open_call *frame)
{
    return (p->options->thread < 0 || p->options->thread == (int64_t)lane->index) &&
           frame->start >= p->options->from && !(frame->flags & KYMO__OPEN_AT_START);
}

static int tell_thread(struct pass *p, struct kymo_op_lane *lane)
{
    if (lane->told)
        return 0;
    lane->told = true;
    const struct kymo_op_thread thread = {lane->id, lane->index, lane->tid};
    return p->visitor->thread ? p->visitor->thread(p->visitor->arg, &thread) : 0;
}

/* The nearest operator around the innermost one that is reported too, or the thread. */
static uint64_t parent_of(const struct kymo_op_lane *lane)
{
    for (size_t i = lane->count - 1; i-- > 0;)
        if (lane->open[i].reported)
            return lane->open[i].op.id;
    return lane->id;
}

/* What began last on a thread other than LANE. */
static uint64_t latest_elsewhere(const struct pass *p, uint32_t lane)
{
    return p->recent[0].lane != lane ? p->recent[0].id : p->recent[1].id;
}

/* OP, which is reported, begins: note what comes before it. */
static void put_in_order(struct pass *p, struct kymo_op_lane *lane, struct kymo_opcall *op)
{
    bool first = lane->before == lane->id;
    if (first || (lane->quiet < op->start && op->start - lane->quiet > KYMO__OP_PAUSE))
        lane->across = latest_elsewhere(p, lane->index);
    op->across = lane->across;
    op->before = lane->before;
    lane->before = op->id;
    lane->quiet = INT64_MAX;
    if (p->recent[0].lane != lane->index)
        p->recent[1] = p->recent[0];
    p->recent[0].lane = lane->index;
    p->recent[0].id = op->id;
}

static int on_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_op_lane *lane = arg;
    struct pass *p = lane->pass;
    (void)depth;
    bool span = kymo__op_is_span(&p->keys, frame->key);
    frame->mark = span || kymo__op_is(&p->keys, frame->key);
    if (!frame->mark)
        return 0;
    if (!lane->id)
        lane->before = lane->id = p->ids.next++;
    struct kymo_op_open *open = kymo__op_lane_push(lane);
    if (!open)
        return -ENOMEM;
    struct kymo_opcall *op = &open->op;
    open->reported = is_selected(p, lane, frame);
    op->name = kymo__key_name(p->capture->reader, frame->key);
    op->parent = parent_of(lane);
    op->thread = lane->index;
    op->number = frame->number;
    op->start = frame->start;
    op->scope = span ? KYMO__OP_USER_SCOPE : 0;
    op->tid = lane->tid;
    if (frame->enter == KYMO__ENTER_RESUME && !frame->id)
        kymo__op_lane_go_on(lane, frame->key, open);
    if (op->id && op->id == lane->before)
        lane->quiet = INT64_MAX; /* it has not ended */
    if (!op->id) {
        op->id = p->ids.next++;
        if (open->reported)
            put_in_order(p, lane, op);
    }
    return 0;
}

/* Report OPEN, which has ended, now or when those around it have ended. */
static int report_ended(struct pass *p, struct kymo_op_lane *lane, struct kymo_op_open *open)
{
    bool wait = p->visitor->end && kymo__op_lane_may_return(lane) &&
                lane->held.count < KYMO__OP_HELD_MOST && lane->held.values < KYMO__OP_HELD_VALUES;
    int rc = open->reported ? tell_thread(p, lane) : 0;
    if (rc == 0 && !wait)
        rc = kymo__op_held_report(&lane->held, p->visitor);
    if (rc < 0 || !open->reported)
        return rc;
    if (wait)
        return kymo__op_hold(&lane->held, &open->op);
    return p->visitor->end ? p->visitor->end(p->visitor->arg, &open->op) : 0;
}

static int on_leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_op_lane *lane = arg;
    struct pass *p = lane->pass;
    if (!slice->frame->mark || !lane->count)
        return 0;
    struct kymo_op_open *open = &lane->open[--lane->count];
    struct kymo_opcall *op = &open->op;
    op->end = slice->end;
    op->flags = slice->flags;
    op->own = op->end - op->start - open->inside;
    if (op->id == lane->before)
        lane->quiet = op->end;
    if (lane->count)
        lane->open[lane->count - 1].inside += op->end - slice->frame->start;
    if (slice->leave == KYMO__LEAVE_YIELD && !slice->frame->id)
        return kymo__op_lane_carry(lane, slice->frame->key, open);
    if (!op->rf_id)
        op->rf_id = kymo__op_own_rf_id(op->number, op->thread, p->lane_count);
    return report_ended(p, lane, open);
}

/* ---- payloads ---- */

/* Framework threads of different processes have the same numbers. */
static uint64_t forward_thread(const struct kymo_op_lane *lane, uint64_t tid)
{
    return tid ^ (uint64_t)lane->process << 48;
}

static int link_forward(struct pass *p, const struct kymo_op_lane *lane, struct kymo_opcall *op,
                        bool reported)
{
    if (op->seq < 0)
        return 0;
    if (!op->fw_tid) {
        const struct kymo_op_forward forward = {
            .thread = forward_thread(lane, op->tid),
            .seq = op->seq,
            .id = reported ? op->id : UINT64_MAX,
            .number = op->number,
            .lane = lane->index,
        };
        return kymo__op_forward_set(&p->forwards, &forward);
    }
    struct kymo_op_forward *found =
        kymo__op_forward_find(&p->forwards, forward_thread(lane, op->fw_tid), op->seq);
    if (!found || found->id == UINT64_MAX || !reported)
        return 0;
    op->forward = found->id;
    bool first = !found->used;
    found->used = true;
    const struct kymo_op_link link = {found->lane, lane->index, found->number, op->number};
    return first && p->visitor->link ? p->visitor->link(p->visitor->arg, &link) : 0;
}

static int take_in(struct pass *p, struct kymo_op_lane *lane, const struct kymo_op_fields *fields)
{
    if (!lane->count)
        return 0;
    struct kymo_op_open *open = &lane->open[lane->count - 1];
    struct kymo_opcall *op = &open->op;
    if (open->described) /* the enter of the one that this describes was lost */
        return 0;
    open->described = true;
    int rc = kymo__op_take_in(op, fields, p->capture->reader);
    const char *whole = kymo__op_schema(&p->schemas, fields->at[KYMO__OP_SCHEMA].number);
    if (whole)
        op->schema = whole;
    if (op->tid)
        lane->tid = op->tid;
    if (rc == 0)
        rc = kymo__op_ids_inputs(&p->ids, lane, op);
    return rc < 0 ? rc : link_forward(p, lane, op, open->reported);
}

static int take_out(struct pass *p, struct kymo_op_lane *lane, const struct kymo_op_fields *fields)
{
    struct kymo_opcall *op = kymo__op_lane_find(lane, fields->at[KYMO__OP_RF_ID].number);
    if (!op)
        return 0;
    int rc = kymo__op_values_read(&op->outputs, fields, p->capture->reader);
    return rc < 0 ? rc : kymo__op_ids_outputs(&p->ids, lane, op);
}

static int take_part(struct pass *p, struct kymo_op_lane *lane, const struct kymo_event *event,
                     const struct kymo_op_fields *fields)
{
    struct kymo_opcolumn columns[KYMO__COLUMNS];
    size_t head;
    if (!kymo__opjoin_columns(p->capture->reader, event, columns, &head))
        return 0;
    return kymo__opjoin_add(&lane->parts, fields->at[KYMO__OP_FIRST].number, columns);
}

/* ---- devices ---- */

/* On the track of a device, it tells which operator launched the last event; elsewhere, that the
   innermost operator launches something. */
static int take_correlation(struct pass *p, struct kymo_op_lane *lane,
                            const struct kymo_event *event)
{
    uint64_t correlation = kymo__op_correlation(&p->launches, p->capture->reader, event);
    if (!correlation)
        return 0;
    if (lane->device < 0)
        return kymo__op_launch_set(&p->launches, lane, correlation, p->lane_count);
    const struct kymo_op_launch *launch =
        lane->ran.name ? kymo__op_launch_find(&p->launches, lane->process, correlation) : NULL;
    if (!launch)
        return 0;
    lane->ran.id = p->ids.next++;
    lane->ran.by = launch->by;
    int rc = launch->reported && p->visitor->device
                 ? p->visitor->device(p->visitor->arg, &lane->ran)
                 : 0;
    lane->ran.name = NULL;
    return rc;
}

/* An event on the track of a device. Which operator launched it follows. */
static void note_ran(struct pass *p, struct kymo_op_lane *lane, const struct kymo_event *event)
{
    lane->ran = (struct kymo_op_device){
        .name = kymo__key_name(p->capture->reader, event->key),
        .start = event->time,
        .end = event->time + (kymo_ns)event->id,
        .device = lane->device,
        .stream = lane->stream,
    };
}

static int take_payload(struct pass *p, struct kymo_op_lane *lane, const struct kymo_event *event,
                        const struct kymo_places *places)
{
    enum kymo_op_note note = kymo__op_note_of(&p->keys, event->key);
    if (note == KYMO__OP_NOTHING)
        return take_correlation(p, lane, event);
    if (note >= KYMO__OP_MEMORY)
        return 0;
    struct kymo_op_fields fields;
    kymo__op_fields_read(&fields, &p->keys, event, places);
    if (note == KYMO__OP_PART)
        return take_part(p, lane, event, &fields);
    if (note == KYMO__OP_IN || note == KYMO__OP_OUT)
        kymo__op_lane_join(lane, &fields);
    if (note == KYMO__OP_IN)
        return take_in(p, lane, &fields);
    if (note == KYMO__OP_OUT)
        return take_out(p, lane, &fields);
    struct kymo_opcall *op = kymo__op_lane_find(lane, fields.at[KYMO__OP_RF_ID].number);
    return op ? kymo__op_take_attributes(op, &fields, p->capture->reader) : 0;
}

/* ---- events ---- */

static int resync(struct pass *p, struct kymo_op_lane *lane, const struct kymo_event *event)
{
    size_t hint = 0;
    kymo_ns paused = kymo__timebase_ns(&p->capture->base, event->id, &hint);
    paused = paused < event->time ? paused : event->time;
    lane->nest.now = paused > lane->nest.now ? paused : lane->nest.now;
    return kymo__nest_pause(&lane->nest);
}

static int take_event(struct pass *p, struct kymo_op_lane *lane, const struct kymo_event *event,
                      const struct kymo_places *places)
{
    struct kymo_nest *n = &lane->nest;
    if (event->kind == KYMO_PAYLOAD)
        return take_payload(p, lane, event, places);
    if (event->kind == KYMO_SAMPLE || event->kind == KYMO_ARG || event->kind == KYMO_ARG_TEXT)
        return 0;
    int rc = n->receiver == KYMO__ENDED ? kymo__nest_release(n) : 0;
    n->receiver = KYMO__NOBODY;
    if (rc == 0 && event->kind == KYMO_RESYNC)
        rc = resync(p, lane, event);
    if (rc < 0)
        return rc;
    n->now = event->time > n->now ? event->time : n->now;
    if (event->kind == KYMO_COMPLETE && lane->device >= 0)
        note_ran(p, lane, event);
    if (n->waiting && event->kind != KYMO_RESYNC &&
        !(event->kind == KYMO_ENTER && event->detail == KYMO__ENTER_OPEN))
        rc = kymo__nest_go_on(n);
    if (rc < 0)
        return rc;
    if (event->kind == KYMO_ENTER)
        return kymo__nest_push(n, event->key, event->detail, event->id);
    if (event->kind == KYMO_LEAVE)
        return kymo__nest_leave(n, event->key, event->detail);
    if (event->kind == KYMO_GAP)
        kymo__nest_gap(n);
    return 0;
}

static int finish_operator(struct pass *p, struct kymo_op_lane *lane)
{
    struct kymo_nest *n = &lane->nest;
    const struct kymo_reader_thread *t = &p->capture->reader->threads[lane->index];
    size_t hint = 0;
    kymo_ns end = p->capture->end;
    kymo_ns ended = t->end_ticks ? kymo__timebase_ns(&p->capture->base, t->end_ticks, &hint) : end;
    end = ended < end ? ended : end;
    end = p->options->to < end ? p->options->to : end;
    int rc = n->receiver == KYMO__ENDED ? kymo__nest_release(n) : 0;
    n->now = end > n->now ? end : n->now;
    return rc < 0 ? rc : kymo__nest_end(n);
}

/* What outlives the call that it began in comes in parts, which are one operator. torch's annotations
   do: they begin and end in methods of a context manager. */
static bool comes_in_parts(void *arg, uint32_t key)
{
    return kymo__op_is_span(arg, key) || kymo__op_is(arg, key);
}

static struct kymo_op_lane *lane_of(struct pass *p, uint32_t index)
{
    if (p->lanes[index])
        return p->lanes[index];
    struct kymo_op_lane *lane = kymo__alloc_zeroed(sizeof(*lane));
    struct kymo_thread_info info = {.size = sizeof(info)};
    struct kymo_track_info track = {.size = sizeof(track), .device = -1};
    if (!lane)
        return NULL;
    kymo_capture_thread(p->capture, index, &info);
    kymo_capture_track(p->capture, index, &track);
    lane->device = track.device;
    lane->stream = track.stream;
    lane->index = index;
    lane->process = info.process;
    lane->tid = (uint64_t)info.tid;
    lane->pass = p;
    lane->nest = (struct kymo_nest){
        .now = INT64_MIN,
        .telling = true,
        .limit = kymo__calls_deepest(p->capture->reader),
        .enter = on_enter,
        .leave = on_leave,
        .arg = lane,
        .is_span = comes_in_parts,
        .span_arg = &p->keys,
    };
    return p->lanes[index] = lane;
}

static int read_events(struct pass *p, struct kymo_cursor *cursor)
{
    const struct kymo_event *event;
    const struct kymo_places *places;
    int rc;
    while ((rc = kymo__cursor_lend(cursor, &event, &places)) > 0) {
        struct kymo_op_lane *lane = lane_of(p, event->thread);
        rc = lane ? take_event(p, lane, event, places) : -ENOMEM;
        if (rc == 0 && ++p->done % PROGRESS == 0 && p->options->progress)
            rc = p->options->progress(p->options->progress_arg, p->done, p->all);
        if (rc < 0)
            break;
    }
    for (size_t i = 0; rc == 0 && i < p->lane_count; i++)
        rc = p->lanes[i] ? finish_operator(p, p->lanes[i]) : 0;
    return rc;
}

int kymo__operators_read(struct kymo_capture *capture, const struct kymo_export_options *options,
                         const struct kymo_ops_visitor *visitor)
{
    struct kymo_info info = {.size = sizeof(info)};
    struct kymo_window window = {sizeof(window), INT64_MIN, options->to, -1};
    struct kymo_cursor *cursor = NULL;
    struct pass p = {
        .capture = capture,
        .options = options,
        .visitor = visitor,
        .ids.next = KYMO__OP_PROCESS + 1,
        .lane_count = capture->reader->thread_count,
    };
    kymo_capture_info(capture, &info);
    p.all = info.records;
    p.lanes = kymo__alloc_zeroed((p.lane_count + 1) * sizeof(struct kymo_op_lane *));
    int rc = p.lanes ? kymo__op_keys_init(&p.keys, capture->reader) : -ENOMEM;
    if (rc == 0)
        rc = kymo__op_launches_init(&p.launches, capture->reader);
    if (rc == 0 && visitor->end)
        rc = kymo__op_schemas_read(&p.schemas, capture);
    if (rc == 0)
        rc = kymo_cursor_new(capture, &window, &cursor);
    if (rc == 0)
        rc = read_events(&p, cursor);
    kymo_cursor_free(cursor);
    if (visitor->last)
        visitor->last(visitor->arg);
    for (size_t i = 0; p.lanes && i < p.lane_count; i++)
        if (p.lanes[i]) {
            kymo__op_lane_fini(p.lanes[i]);
            kymo__free(p.lanes[i]);
        }
    kymo__free(p.lanes);
    kymo__op_forwards_fini(&p.forwards);
    kymo__op_launches_fini(&p.launches);
    kymo__op_ids_fini(&p.ids);
    kymo__op_schemas_fini(&p.schemas);
    kymo__op_keys_fini(&p.keys);
    return rc;
}
