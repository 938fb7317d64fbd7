/* nest.c — see nest.h.

   An ended call is reported when the next event is taken in, because arguments that belong to it
   may follow. The arguments of open calls are on a separate stack, in the same order as the
   calls. */
#include "nest.h"

#include <errno.h>

#include "alloc.h"

void kymo__nest_fini(struct kymo_nest *n)
{
    kymo__free(n->frames);
    kymo__free(n->args);
    kymo__free(n->carried);
    kymo__free(n->carried_args);
    kymo__buffer_fini(&n->bytes);
}

int kymo__nest_grow(struct kymo_nest *n)
{
    if (n->depth >= UINT32_MAX - 2)
        return -ENOMEM;
    if (n->limit && n->depth >= n->limit)
        return KYMO_EEXPANDS;
    return kymo__array_grow(&n->frames, &n->capacity, n->capacity, sizeof(*n->frames));
}

/* Report the call popped last; it ends now. */
static int hand_over(struct kymo_nest *n, unsigned flags)
{
    const struct kymo_open_call *frame = &n->frames[n->depth];
    if (!n->telling) {
        n->arg_len = frame->args;
        return 0; /* before the window, nobody has set when it began */
    }
    unsigned arg_count = n->show ? frame->arg_count : 0;
    const struct kymo_call_arg *args = NULL;
    if (kymo__unlikely(arg_count) && !(args = n->show(n->show_arg, frame->args, &arg_count)))
        return -ENOMEM;
    const struct kymo_slice slice = {
        .frame = frame,
        .end = n->now,
        .self = n->now - frame->start - frame->inside,
        .depth = n->depth,
        .leave = n->leave_detail,
        .flags = (uint8_t)(frame->flags | flags),
        .args = args,
        .arg_count = arg_count,
    };
    n->arg_len = frame->args;
    n->counts.slices++;
    return n->leave ? n->leave(n->arg, &slice) : 0;
}

int kymo__nest_settle(struct kymo_nest *n)
{
    int rc = 0;
    while (rc >= 0 && n->depth && n->frames[n->depth - 1].flags & KYMO__ENDED_INSIDE) {
        kymo__nest_pop(n);
        n->leave_detail = 0;
        rc = hand_over(n, 0);
    }
    return rc;
}

int kymo__nest_release(struct kymo_nest *n)
{
    n->receiver = KYMO__NOBODY;
    int rc = hand_over(n, 0);
    return rc < 0 ? rc : kymo__nest_settle(n);
}

/* Find the frame that a leave of KEY is for, which is not the topmost; n->depth if none. */
static uint32_t find_frame(struct kymo_nest *n, uint32_t key)
{
    uint32_t at = *kymo__nest_active(n, key) ? n->depth : 0;
    while (at && (n->frames[at - 1].key != key || n->frames[at - 1].flags & KYMO__ENDED_INSIDE))
        at--;
    return at ? at - 1 : n->depth;
}

static bool is_span(const struct kymo_nest *n, uint32_t key)
{
    return n->is_span(n->span_arg, key);
}

/* Can the span at AT have ended inside the calls above it? Not if one of those may have ended
   unseen, and not if another span would have had to end first. */
static bool ends_inside(const struct kymo_nest *n, uint32_t at)
{
    if (!is_span(n, n->frames[at].key) || at + 1 < n->doubtful)
        return false;
    for (uint32_t i = at + 1; i < n->depth; i++)
        if (n->frames[i].enter != KYMO__ENTER_RESUME &&
            !(n->frames[i].flags & KYMO__ENDED_INSIDE) && is_span(n, n->frames[i].key))
            return false;
    return true;
}

/* Append COUNT arguments to TO: those in FROM from FIRST on. */
static int copy_args(struct kymo_nest_arg **to, size_t *len, size_t *capacity,
                     const struct kymo_nest_arg *from, size_t first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int rc = kymo__array_grow(to, capacity, *len, sizeof(**to));
        if (rc < 0)
            return rc;
        (*to)[(*len)++] = from[first + i];
    }
    return 0;
}

/* Set the span at the top aside, after COUNT others. */
static int carry(struct kymo_nest *n, size_t count)
{
    const struct kymo_open_call *frame = &n->frames[n->depth - 1];
    int rc = kymo__array_grow(&n->carried, &n->carried_capacity, count, sizeof(*n->carried));
    if (rc < 0)
        return rc;
    n->carried[count] = (struct kymo_carried){frame->key, frame->arg_count, frame->id};
    n->carried_arg_len = count ? n->carried_arg_len : 0;
    return copy_args(&n->carried_args, &n->carried_arg_len, &n->carried_arg_capacity, n->args,
                     frame->args, frame->arg_count);
}

/* End the frames from DEPTH on as HOW says, except spans that may GO_ON: they are set aside and
   counted in the result. */
static int64_t unwind(struct kymo_nest *n, uint32_t depth, unsigned how, bool go_on)
{
    size_t carried = 0;
    while (n->depth > depth) {
        const struct kymo_open_call *frame = &n->frames[n->depth - 1];
        unsigned flags = frame->flags & KYMO__ENDED_INSIDE ? 0 : how;
        n->leave_detail = 0;
        if (flags && go_on && n->depth - 1 >= n->doubtful && is_span(n, frame->key)) {
            int rc = carry(n, carried++);
            if (rc < 0)
                return rc;
            n->leave_detail = KYMO__LEAVE_YIELD;
            flags = 0;
        }
        n->counts.lost_leaves += flags == KYMO__END_LOST && n->telling;
        kymo__nest_pop(n);
        int rc = hand_over(n, flags);
        if (rc < 0)
            return rc;
    }
    return (int64_t)carried;
}

/* Restart COUNT spans that were set aside, with their arguments. */
static int resume_spans(struct kymo_nest *n, size_t count)
{
    int rc = 0;
    size_t args = n->carried_arg_len;
    n->counts.split_spans += n->telling ? count : 0;
    while (rc >= 0 && count-- > 0) {
        const struct kymo_carried *span = &n->carried[count];
        args -= span->arg_count;
        rc = kymo__nest_push(n, span->key, KYMO__ENTER_RESUME, span->id);
        if (rc < 0)
            break;
        n->frames[n->depth - 1].arg_count = span->arg_count;
        rc = copy_args(&n->args, &n->arg_len, &n->arg_capacity, n->carried_args, args,
                       span->arg_count);
    }
    n->receiver = KYMO__NOBODY;
    return rc;
}

int kymo__nest_leave_below(struct kymo_nest *n, uint32_t key, unsigned detail)
{
    uint32_t at = find_frame(n, key);
    if (at == n->depth) {
        n->counts.orphan_leaves += n->telling;
        return 0;
    }
    if (ends_inside(n, at)) {
        (*kymo__nest_active(n, key))--;
        n->frames[at].flags |= KYMO__ENDED_INSIDE;
        return 0;
    }
    int64_t carried = unwind(n, at + 1, KYMO__END_LOST, !is_span(n, key));
    if (carried < 0)
        return (int)carried;
    kymo__nest_pop(n);
    n->leave_detail = (uint8_t)detail;
    int rc = hand_over(n, 0);
    rc = rc < 0 ? rc : kymo__nest_settle(n);
    return rc < 0 ? rc : resume_spans(n, (size_t)carried);
}

static int keep_bytes(struct kymo_buffer *kept, const struct kymo_buffer *all,
                      struct kymo_nest_arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (args[i].kind != KYMO__ARG_PAYLOAD)
            continue;
        size_t at = kept->len;
        int rc = kymo__buffer_add(kept, all->bytes + args[i].value, args[i].length);
        if (rc < 0)
            return rc;
        args[i].value = at;
    }
    return 0;
}

/* Discard the payloads of events already reported. */
static int tidy_bytes(struct kymo_nest *n)
{
    struct kymo_buffer kept = {0};
    int rc = kymo__buffer_reserve(&kept, 2 * n->bytes.len + 1); /* so that the rest cannot fail */
    if (rc < 0)
        return rc;
    keep_bytes(&kept, &n->bytes, n->args, n->arg_len);
    keep_bytes(&kept, &n->bytes, n->carried_args, n->carried_arg_len);
    kymo__buffer_fini(&n->bytes);
    n->bytes = kept;
    n->bytes_kept = kept.len;
    return 0;
}

static int add_arg(struct kymo_nest *n, struct kymo_nest_arg arg)
{
    if (n->receiver == KYMO__NOBODY)
        return 0;
    /* Whichever it is, its arguments are topmost. */
    uint16_t *count = n->receiver == KYMO__OPENED  ? &n->frames[n->depth - 1].arg_count
                      : n->receiver == KYMO__ENDED ? &n->frames[n->depth].arg_count
                                                   : &n->held_args;
    if (*count >= KYMO__ARGS_MOST || n->arg_len >= UINT32_MAX) {
        n->counts.lost_args += n->telling;
        return 0;
    }
    int rc = kymo__array_grow(&n->args, &n->arg_capacity, n->arg_len, sizeof(*n->args));
    if (rc < 0)
        return rc;
    n->args[n->arg_len++] = arg;
    (*count)++;
    return 0;
}

int kymo__nest_argument(struct kymo_nest *n, uint32_t key, bool text, uint64_t value)
{
    return add_arg(n, (struct kymo_nest_arg){
                          .key = key,
                          .kind = text ? KYMO__ARG_TEXT_KEY : KYMO__ARG_NUMBER,
                          .value = value,
                      });
}

int kymo__nest_payload(struct kymo_nest *n, uint32_t key, const uint8_t *bytes, size_t len)
{
    enum { TIDY = 1 << 16 };
    if (n->receiver == KYMO__NOBODY || len > UINT32_MAX)
        return 0;
    int rc = n->bytes.len > TIDY && n->bytes.len / 2 > n->bytes_kept ? tidy_bytes(n) : 0;
    size_t at = n->bytes.len;
    if (rc == 0)
        rc = kymo__buffer_reserve(&n->bytes, len + 1); /* never NULL */
    if (rc == 0)
        rc = kymo__buffer_add(&n->bytes, bytes, len);
    return rc < 0 ? rc
                  : add_arg(n, (struct kymo_nest_arg){.key = key,
                                                      .kind = KYMO__ARG_PAYLOAD,
                                                      .length = (uint32_t)len,
                                                      .value = at});
}

int kymo__nest_pause(struct kymo_nest *n)
{
    int64_t carried = unwind(n, 0, KYMO__OPEN_AT_END, true);
    if (carried < 0)
        return (int)carried;
    n->waiting = (size_t)carried;
    return 0;
}

int kymo__nest_go_on(struct kymo_nest *n)
{
    size_t waiting = n->waiting;
    n->waiting = 0;
    return resume_spans(n, waiting);
}

void kymo__nest_forget_ended(struct kymo_nest *n)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < n->depth; i++)
        if (!(n->frames[i].flags & KYMO__ENDED_INSIDE))
            n->frames[left++] = n->frames[i];
    n->depth = left;
    n->doubtful = n->doubtful < left ? n->doubtful : left;
}

int kymo__nest_end(struct kymo_nest *n)
{
    int rc = 0;
    n->leave_detail = 0;
    while (rc >= 0 && n->depth) {
        bool ended = n->frames[n->depth - 1].flags & KYMO__ENDED_INSIDE;
        kymo__nest_pop(n);
        rc = hand_over(n, ended ? 0 : KYMO__OPEN_AT_END);
    }
    return rc;
}

int kymo__nest_restore(struct kymo_nest *n, const struct kymo_open_call *frame)
{
    while (n->depth + 1 >= n->capacity) {
        int rc = kymo__nest_grow(n);
        if (rc < 0)
            return rc;
    }
    struct kymo_open_call *here = &n->frames[n->depth];
    *here = *frame;
    here->args = (uint32_t)n->arg_len;
    here->arg_count = 0;
    n->receiver = KYMO__OPENED;
    if (!(here->flags & KYMO__ENDED_INSIDE))
        (*kymo__nest_active(n, here->key))++;
    n->depth++;
    n->counts.deepest = n->depth > n->counts.deepest ? n->depth : n->counts.deepest;
    return 0;
}
