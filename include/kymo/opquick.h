/* opquick.h — the recording path of operators, inlined into sources where every nanosecond counts.

   It does what kymo_op_begin and kymo_op_end (op.h) do in the most frequent case: the operator has a
   site with the keys of the session, and its numbers are small. In every other case it does nothing
   and says so, and the caller uses those. */
#ifndef KYMO_OPQUICK_H
#define KYMO_OPQUICK_H

#include <kymo/lane.h>
#include <kymo/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values ---- */

enum {
    KYMO__OPRECORDS_VALUES = 24, /* of an operator, at most */
    KYMO__OPRECORDS_DIMS = 8,    /* of a tensor */
    KYMO__OPRECORDS_MOST = KYMO__OPRECORDS_VALUES * (3 + KYMO__OPRECORDS_DIMS / 2), /* records */
};

/* Records of values being written, as src/trace/oprecords.h describes them; they may turn out not to
   be possible. */
struct kymo__numbers {
    struct kymo_record *to;
    uint64_t large; /* not 0: a number is too large */
};

#define KYMO__NUMBERS_MORE ((uint64_t)66 << 56) /* the kind of such a record */

KYMO_INLINE void kymo__numbers_put(struct kymo__numbers *n, uint64_t ticks, uint64_t word)
{
    n->to->ticks = ticks;
    n->to->word = KYMO__NUMBERS_MORE | word;
    n->to++;
}

KYMO_INLINE void kymo__numbers_dims(struct kymo__numbers *n, const struct kymo_op_tensor *t)
{
    uint64_t all = 0;
    uint32_t i = 0;
    for (; i + 1 < t->dims; i += 2) {
        uint64_t size = (uint64_t)t->shape[i], stride = (uint64_t)t->strides[i];
        uint64_t other = (uint64_t)t->shape[i + 1], its = (uint64_t)t->strides[i + 1];
        all |= size | stride | other | its;
        kymo__numbers_put(n, size | stride << 32, other | its << 28);
    }
    if (i < t->dims) {
        all |= (uint64_t)t->shape[i] | (uint64_t)t->strides[i];
        kymo__numbers_put(n, (uint64_t)t->shape[i] | (uint64_t)t->strides[i] << 32, 0);
    }
    n->large |= all >> 28;
}

/* Put a tensor that has no marks, at most KYMO__OPRECORDS_DIMS dimensions, a shape and strides. DTYPE
   and DEVICE are the keys of its type and device. */
KYMO_INLINE void kymo__numbers_tensor(struct kymo__numbers *n, const struct kymo_op_tensor *t,
                                      uint64_t dtype, uint64_t device)
{
    n->large |=
        t->storage >> 48 | t->numel >> 36 | (uint64_t)t->itemsize >> 8 | dtype >> 28 | device >> 28;
    kymo__numbers_put(n, t->tensor, KYMO_OP_TENSOR | t->storage << 8);
    kymo__numbers_put(n,
                      t->numel | (uint64_t)t->itemsize << 36 | (uint64_t)t->dims << 44 |
                          (uint64_t)(t->offset != 0) << 52,
                      dtype | device << 28);
    if (t->offset)
        kymo__numbers_put(n, (uint64_t)t->offset, 0);
    kymo__numbers_dims(n, t);
}

/* ---- operators ---- */

/* Do seven numbers fit one record? Those that end at the same bit are tested together. Those at 2 and
   6 have at most 32 bits. */
KYMO_INLINE bool kymo__chain_fits_seven(const uint64_t numbers[7])
{
    return !((numbers[0] >> 8 | numbers[1]) >> 28 |
             (numbers[3] | numbers[4] | numbers[2] << 4 | numbers[6] << 6) >> 8 | numbers[5] >> 18);
}

/* Store them at AT. WORD says of which schema they are, and what follows. */
KYMO_INLINE void kymo__chain_store_seven(struct kymo_record *at, uint64_t word,
                                         const uint64_t numbers[7])
{
    kymo_lane_store(at, numbers[0] << 28 | numbers[1],
                    word | numbers[2] << 36 | numbers[3] << 28 | numbers[4] << 20 |
                        numbers[5] << 2 | numbers[6]);
}

/* What turns a lane's op_numbers, after which empty lists follow, into the word of numbers after which
   records of values follow. */
#define KYMO__OP_WITH_VALUES ((uint64_t)1 << 40)

/* Begin the operator WHAT, which has a site and an id; its `inputs` are not read. COUNT records of
   values, made with keys of the site's session, are at VALUES. The result's key is 0 if this is not
   possible; then nothing has happened. */
KYMO_INLINE struct kymo_op kymo__op_begin_quickly(const struct kymo_operator *what,
                                                  const struct kymo_record *values, unsigned count)
{
    struct kymo_op op = {0, 0, 0};
    const uint64_t name = __atomic_load_n(&what->site->name, __ATOMIC_RELAXED);
    const uint64_t schema = __atomic_load_n(&what->site->schema, __ATOMIC_RELAXED);
    const uint64_t sequence =
        ((uint64_t)what->sequence << 1) ^ (uint64_t)(what->sequence >> 63); /* zigzag */
    const uint64_t numbers[] = {
        what->id,         sequence,   what->scope, what->thread, what->forward_thread,
        (uint32_t)schema, what->flags};
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_try(&lane, 3 + count);
    if (__builtin_expect(!at, 0))
        return op;
    uint32_t session = lane->quick;
    if (__builtin_expect(((name >> 32) ^ session) | ((schema >> 32) ^ session) || !lane->op_note ||
                             !kymo__chain_fits_seven(numbers),
                         0)) {
        kymo_lane_release(lane, at);
        return op;
    }
    for (unsigned i = 0; i < count; i++)
        kymo_lane_store(at + 3 + i, values[i].ticks, values[i].word);
    kymo__chain_store_seven(at + 2, lane->op_numbers ^ (count ? KYMO__OP_WITH_VALUES : 0), numbers);
    uint64_t ticks = kymo__counter_read();
    kymo_lane_store(at + 1, ticks, lane->op_note);
    kymo_lane_store(at, ticks, kymo_word(KYMO_ENTER, 0, (uint32_t)name));
    kymo_lane_commit(lane, at + 3 + count);
    op.key = (uint32_t)name;
    op.session = session;
    op.id = what->id;
    return op;
}

/* End OP now, without outputs. Returns false if this is not possible. */
KYMO_INLINE bool kymo__op_end_quickly(struct kymo_op op)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_try(&lane, 1);
    if (__builtin_expect(!at, 0))
        return false;
    if (__builtin_expect(lane->session != op.session, 0)) {
        kymo_lane_release(lane, at);
        return true;
    }
    kymo_lane_store(at, kymo__counter_read(), kymo_word(KYMO_LEAVE, 0, op.key));
    kymo_lane_commit(lane, at + 1);
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
