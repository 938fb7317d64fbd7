/* op.c — recording operators: kymo/op.h.

   The enter and its note are stored in one go, as are the note of the outputs and the leave, so that
   nothing comes between them. Names are looked up inside a claim; values are put together outside,
   because a claim keeps samples away. Without values, one claim is enough. The time is read after
   that work at the begin, and before it at the end, so that it is outside the operator. */
#include <assert.h>
#include <kymo/opquick.h>
#include <stddef.h>
#include <string.h>

#include "claimed.h"
#include "laneset.h"
#include "local.h"
#include "opnames.h"
#include "opnote.h"
#include "opnumbers.h"
#include "opout.h"
#include "opvalues.h"
#include "running.h"
#include "schemas.h"

enum {
    FEW = 24,          /* values of most operators, */
    SMALL = 2048,      /* and bytes of their notes: others take more of the stack */
    THREAD_SHIFT = 40, /* ids that we choose: thread, then number */
};

/* What is looked up in the session. */
struct found {
    uint32_t key; /* of the operator; 0: nothing can be recorded */
    uint32_t schema_key;
    uint64_t id;
    struct kymo_schema note;
};

static_assert(KYMO__NUMBERS_MORE == (uint64_t)KYMO__MORE << 56, "records of values");
static_assert((KYMO__OPVALUES_LISTS ^ KYMO__CHAIN_VALUES) == 1, "KYMO__OP_WITH_VALUES is that bit");

static const struct kymo_op none; /* not recorded */

/* ---- begin ---- */

static uint32_t find_operator(struct kymo_lane *lane, const struct kymo_running *s,
                              const char *name)
{
    struct kymo_recent_op *recent =
        &((struct kymo_local *)lane)->recent_ops[kymo__recent_place(name)];
    if (kymo__likely(recent->address == name && strcmp(recent->text, name) == 0))
        return recent->key;
    struct kymo_opname found = kymo__opnames_find(s->ops, s->names, name);
    if (found.key)
        *recent = (struct kymo_recent_op){name, found.text, found.key};
    return found.key;
}

enum { KEY_BITS = 32 };

/* Does SITE have keys of SESSION? */
KYMO_INLINE bool is_known(const struct kymo_op_site *site, uint32_t session)
{
    return kymo__load_relaxed(&site->name) >> KEY_BITS == session &&
           kymo__load_relaxed(&site->schema) >> KEY_BITS == session;
}

static void remember_key(uint64_t *place, uint32_t session, uint32_t key)
{
    kymo__store_relaxed(place, (uint64_t)session << KEY_BITS | key);
}

/* Callers from before sites end their struct earlier. */
KYMO_INLINE struct kymo_op_site *site_of(const struct kymo_operator *what)
{
    return what->size >= sizeof(*what) ? what->site : NULL;
}

/* Look up what the session has for the operator WHAT, for whoever has claimed LANE at AT. Without room
   the claim has ended, and the key is 0. */
static __attribute__((noinline)) struct found
look_up_slowly(struct kymo_lane *lane, struct kymo_record *at, const struct kymo_operator *what)
{
    struct found found = {0};
    const struct kymo_running *s = kymo__op_note(&found.note, KYMO__NOTE_IN);
    struct kymo_op_site *site = site_of(what);
    found.key = s ? find_operator(lane, s, what->name) : 0;
    if (kymo__unlikely(!found.key)) {
        kymo_lane_drop(lane, at, s != NULL, KYMO_GAP_DISK);
        return found;
    }
    found.schema_key = what->schema ? kymo__key(lane, what->schema) : 0;
    lane->op_note = kymo_word(KYMO__NOTE, 0, found.note.key);
    lane->op_numbers = kymo__chain_word_seven(found.note.number, KYMO__OPVALUES_LISTS);
    if (site && (found.schema_key || !what->schema)) {
        remember_key(&site->name, lane->session, found.key);
        remember_key(&site->schema, lane->session, found.schema_key);
    }
    return found;
}

/* The same, quickly if the site has it. */
KYMO_INLINE struct found look_up(struct kymo_lane *lane, struct kymo_record *at,
                                 const struct kymo_operator *what)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    const struct kymo_op_site *site = site_of(what);
    const struct kymo_running *s = site ? kymo__running_now() : NULL;
    struct found found;
    if (kymo__likely(s && is_known(site, lane->session)))
        found = (struct found){.key = (uint32_t)kymo__load_relaxed(&site->name),
                               .schema_key = (uint32_t)kymo__load_relaxed(&site->schema),
                               .note = s->ops->in}; /* defined before the site was filled in */
    else
        found = look_up_slowly(lane, at, what);
    found.id = what->id ? what->id : ((uint64_t)lane->thread + 1) << THREAD_SHIFT | ++local->ops;
    return found;
}

/* Returns the place of the flags; the caller may still set KYMO_OP_CUT there. */
KYMO_INLINE unsigned char *put_head(struct kymo_payload *p, const struct kymo_operator *what,
                                    const struct found *found)
{
    struct out o = out_begin(p); /* it is the first, and every note has room for it */
    out_uint_within(&o, found->id);
    out_uint_within(&o, kymo__zigzag(what->sequence));
    out_uint_within(&o, what->scope);
    out_uint_within(&o, what->thread);
    out_uint_within(&o, what->forward_thread);
    out_uint_within(&o, found->schema_key);
    unsigned char *flags = o.at;
    out_uint_within(&o, what->flags);
    out_end(&o, p);
    return flags;
}

/* Store the enter and its note, and end the claim. */
KYMO_INLINE struct kymo_op store_begin(struct kymo_lane *lane, struct kymo_record *at,
                                       const struct found *found,
                                       const struct kymo_payload *payload)
{
    uint64_t ticks = 0;
    struct kymo_record *after = kymo__op_note_store(at + 1, &found->note, payload, &ticks);
    kymo_lane_store(at, ticks, kymo_word(KYMO_ENTER, 0, found->key));
    kymo_lane_commit(lane, after);
    return (struct kymo_op){.key = found->key, .session = found->note.session, .id = found->id};
}

/* Record an operator without values. */
static struct kymo_op begin_plainly(const struct kymo_operator *what)
{
    enum {
        MOST = 96, /* bytes of its note, and records of that and of the enter */
        RECORDS = 3 + (MOST - KYMO__CHAIN_FIRST + KYMO__CHAIN_MORE - 1) / KYMO__CHAIN_MORE,
    };
    unsigned char room[MOST + KYMO__NOTE_SPARE];
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, RECORDS);
    if (kymo__unlikely(!at))
        return none;
    const struct found found = look_up(lane, at, what);
    if (kymo__unlikely(!found.key))
        return none;
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, MOST);
    (void)put_head(&payload, what, &found);
    kymo__opvalues_put_none(&payload);
    return store_begin(lane, at, &found, &payload);
}

/* The same for one with inputs, if numbers are all there is to say about them, and this thread has
   met their types and devices lately. Otherwise the result's key is 0, and nothing has happened.
   Nothing is claimed while the numbers are put together: recent_changes tells whether a signal handler
   has recorded meanwhile, and the site's keys whether a new session has begun. */
static __attribute__((noinline)) struct kymo_op begin_with_numbers(const struct kymo_operator *what)
{
    struct kymo_record room[KYMO__OPRECORDS_MOST];
    const struct kymo_local *local = (const struct kymo_local *)kymo__lane;
    struct kymo_op_site site = {kymo__load_relaxed(&what->site->name),
                                kymo__load_relaxed(&what->site->schema)};
    bool cut = false;
    if (kymo__unlikely(!local || !is_known(&site, local->lane.session)))
        return none;
    uint32_t changes = local->recent_changes;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const struct kymo_record *end = put_numbers(room, local, what->inputs, what->input_count, &cut);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (kymo__unlikely(!end || local->recent_changes != changes))
        return none;
    struct kymo_operator with = *what;
    with.flags |= cut ? KYMO_OP_CUT : 0;
    with.site = &site; /* another thread may put keys of a new session into the other one */
    return kymo__op_begin_quickly(&with, room, (unsigned)(end - room));
}

/* Record the operator with its inputs and a note of at most SIZE bytes in ROOM. False if the note does
   not fit: then nothing is recorded. */
static bool begin_with(const struct kymo_operator *what, struct kymo_opkeys *keys, void *room,
                       size_t size, struct kymo_op *op)
{
    size_t count = what->input_count;
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (kymo__unlikely(!at))
        return true;
    const struct found found = look_up(lane, at, what);
    if (kymo__unlikely(!found.key))
        return true;
    kymo__opvalues_keys(lane, what->inputs, count, keys);
    kymo_lane_release(lane, at);
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, size);
    unsigned char *flags = put_head(&payload, what, &found);
    if (!kymo__opvalues_put(&payload, what->inputs, count, keys, KYMO__NAMES_OF_ARGUMENTS))
        *flags |= KYMO_OP_CUT;
    if (kymo__unlikely(payload.over))
        return false;
    at = kymo_lane_claim(&lane, 2 + kymo__chain_records(payload.used));
    if (kymo__unlikely(!at))
        return true;
    if (kymo__unlikely(lane->session != found.note.session)) {
        kymo_lane_release(lane, at); /* a new session has begun */
        return true;
    }
    *op = store_begin(lane, at, &found, &payload);
    return true;
}

/* Record the inputs first, in parts, then the operator. */
static __attribute__((noinline)) struct kymo_op begin_in_parts(const struct kymo_operator *what)
{
    struct kymo_op_parts parts = {0};
    struct kymo_operator without = {.size = what->size};
    memcpy(&without, what, what->size < sizeof(without) ? what->size : sizeof(without));
    kymo_op_part(&parts, what->inputs, what->input_count);
    without.inputs = NULL;
    without.input_count = 0;
    without.flags |= kymo_op_parts_flags(&parts);
    return begin_plainly(&without);
}

/* As begin_with, with room for one part. */
static __attribute__((noinline)) bool begin_large(const struct kymo_operator *what,
                                                  struct kymo_op *op)
{
    struct kymo_opkeys keys[KYMO_OP_PART_VALUES];
    unsigned char room[KYMO__PART_BYTES + KYMO__NOTE_SPARE];
    return begin_with(what, keys, room, KYMO__PART_BYTES, op);
}

static __attribute__((noinline)) struct kymo_op begin_with_values(const struct kymo_operator *what)
{
    struct kymo_opkeys keys[FEW];
    unsigned char room[SMALL + KYMO__NOTE_SPARE];
    struct kymo_op op = none;
    if (kymo__unlikely(what->input_count > FEW || !begin_with(what, keys, room, SMALL, &op)))
        if (what->input_count > KYMO_OP_PART_VALUES || !begin_large(what, &op))
            return begin_in_parts(what);
    return op;
}

static __attribute__((noinline)) struct kymo_op begin_slowly(const struct kymo_operator *what)
{
    if (kymo__unlikely(what->size < offsetof(struct kymo_operator, site)))
        return none;
    return what->input_count ? begin_with_values(what) : begin_plainly(what);
}

struct kymo_op kymo__op_begin(const struct kymo_operator *what)
{
    struct kymo_op op = none;
    if (kymo__likely(site_of(what) && what->id && what->input_count <= KYMO__OPRECORDS_VALUES))
        op = what->input_count ? begin_with_numbers(what) : kymo__op_begin_quickly(what, NULL, 0);
    return kymo__likely(op.key != 0) ? op : begin_slowly(what);
}

/* ---- end ---- */

/* The same for the end at TICKS. */
static bool end_with(struct kymo_op op, const struct kymo_op_value *outputs, size_t count,
                     uint32_t flags, struct kymo_opkeys *keys, void *room, size_t size,
                     uint64_t ticks)
{
    struct kymo_schema note = {0};
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (kymo__unlikely(!at))
        return true;
    if (lane->session != op.session || !kymo__op_note(&note, KYMO__NOTE_OUT)) {
        kymo_lane_release(lane, at);
        return true;
    }
    kymo__opvalues_keys(lane, outputs, count, keys);
    kymo_lane_release(lane, at);

    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, size);
    kymo_payload_uint(&payload, op.id);
    unsigned char *put_flags = payload.bytes + payload.used;
    kymo_payload_uint(&payload, flags);
    if (!kymo__opvalues_put(&payload, outputs, count, keys, KYMO__NAMES_OF_ARGUMENTS))
        *put_flags |= KYMO_OP_CUT;
    if (kymo__unlikely(payload.over))
        return false;
    at = kymo_lane_claim(&lane, 2 + kymo__chain_records(payload.used));
    if (kymo__unlikely(!at))
        return true;
    if (kymo__unlikely(lane->session != op.session)) {
        kymo_lane_release(lane, at);
        return true;
    }
    struct kymo_record *last = kymo__op_note_store(at, &note, &payload, &ticks);
    kymo_lane_store(last, ticks, kymo_word(KYMO_LEAVE, 0, op.key));
    kymo_lane_commit(lane, last + 1);
    return true;
}

/* The outputs of OP are in parts before it. */
static void end_after_parts(struct kymo_op op, uint32_t flags, uint64_t ticks)
{
    enum { MOST = 96 }; /* bytes of its note */
    unsigned char room[MOST + KYMO__NOTE_SPARE];
    (void)end_with(op, NULL, 0, flags, NULL, room, MOST, ticks);
}

/* As end_with, with room for one part. */
static __attribute__((noinline)) bool
end_large(struct kymo_op op, const struct kymo_op_value *outputs, size_t count, uint64_t ticks)
{
    struct kymo_opkeys keys[KYMO_OP_PART_VALUES];
    unsigned char room[KYMO__PART_BYTES + KYMO__NOTE_SPARE];
    return end_with(op, outputs, count, 0, keys, room, KYMO__PART_BYTES, ticks);
}

static __attribute__((noinline)) void
end_in_parts(struct kymo_op op, const struct kymo_op_value *outputs, size_t count, uint64_t ticks)
{
    struct kymo_op_parts parts = {.ticks = ticks};
    kymo_op_part(&parts, outputs, count);
    end_after_parts(op, kymo_op_parts_flags(&parts), ticks);
}

static void end_plainly(struct kymo_op op, uint64_t ticks)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (kymo__unlikely(!at))
        return;
    if (kymo__unlikely(lane->session != op.session)) {
        kymo_lane_release(lane, at);
        return;
    }
    kymo_lane_store(at, ticks, kymo_word(KYMO_LEAVE, 0, op.key));
    kymo_lane_commit(lane, at + 1);
}

static __attribute__((noinline)) void end_with_values(struct kymo_op op,
                                                      const struct kymo_op_value *outputs,
                                                      size_t count, uint64_t ticks)
{
    struct kymo_opkeys keys[FEW];
    unsigned char room[SMALL + KYMO__NOTE_SPARE];
    if (kymo__unlikely(count > FEW || !end_with(op, outputs, count, 0, keys, room, SMALL, ticks)))
        if (count > KYMO_OP_PART_VALUES || !end_large(op, outputs, count, ticks))
            end_in_parts(op, outputs, count, ticks);
}

static __attribute__((noinline)) void
end_slowly(struct kymo_op op, const struct kymo_op_value *outputs, size_t count, uint64_t ticks)
{
    uint64_t now = kymo__stamp_begin();
    ticks = ticks ? ticks : now;
    if (outputs)
        end_with_values(op, outputs, count, ticks);
    else
        end_plainly(op, ticks);
    kymo__stamp_end();
}

void kymo__op_end(struct kymo_op op, const struct kymo_op_value *outputs, size_t count,
                  uint64_t ticks)
{
    if (outputs || ticks || !kymo__op_end_quickly(op))
        end_slowly(op, outputs, count, ticks);
}

void kymo__op_end_parts(struct kymo_op op, uint32_t flags, uint64_t ticks)
{
    uint64_t now = kymo__stamp_begin();
    end_after_parts(op, flags, ticks ? ticks : now);
    kymo__stamp_end();
}
