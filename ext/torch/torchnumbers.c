/* torchnumbers.c — see torchnumbers.h. It reads what torchread.c reads, in the same places. */
#include "torchnumbers.h"

#include <kymo/payload.h>
#include <string.h>

#include "torchhead.h"

enum { LISTS_DEEPEST = 2 };

struct putting {
    struct kymo__numbers numbers;
    const struct kymo__torch_layout *layout;
    struct kymo__torch_keys *keys;
    uint64_t left; /* values that there is room for */
};

/* ---- keys ---- */

/* Both return 0 if there is no key. A key of a session that begins meanwhile is not used: the operator's
   site has none of that session. */
static __attribute__((noinline)) uint32_t learn_dtype(const struct putting *p, unsigned dtype)
{
    const char *name = p->layout->dtypes[dtype].name;
    p->keys->dtypes[dtype].bytes = p->layout->dtypes[dtype].bytes;
    return p->keys->dtypes[dtype].key = name ? kymo_name_key(name) : 0;
}

static __attribute__((noinline)) uint32_t learn_device(const struct putting *p, unsigned char type,
                                                       signed char index)
{
    p->keys->device_type = type;
    p->keys->device_index = index;
    return p->keys->device = kymo_name_key(kymo__torch_device_name(type, index));
}

/* ---- values ---- */

static inline bool put_tensor(struct putting *p, const void *tensor)
{
    const struct kymo__torch_layout *l = p->layout;
    const signed char *device = (const signed char *)tensor + l->device;
    if (__builtin_expect(!device[2], 0)) {
        kymo__numbers_put(&p->numbers, 0, KYMO_OP_UNDEFINED);
        return true;
    }
    uint64_t dims = kymo__torch_word(tensor, l->sizes);
    uint16_t dtype;
    memcpy(&dtype, (const char *)tensor + l->dtype, sizeof dtype);
    if (__builtin_expect(dims > KYMO__TORCH_INLINE_DIMS || dtype >= KYMO__TORCH_DTYPES ||
                             (kymo__torch_word(tensor, l->keys) & ~l->plain) != 0,
                         0))
        return false;
    uint32_t dtype_key = p->keys->dtypes[dtype].key, device_key = p->keys->device;
    if (__builtin_expect(!dtype_key, 0))
        dtype_key = learn_dtype(p, dtype);
    if (__builtin_expect(!device_key || p->keys->device_type != (unsigned char)device[0] ||
                             p->keys->device_index != device[1],
                         0))
        device_key = learn_device(p, (unsigned char)device[0], device[1]);
    if (__builtin_expect(!dtype_key || !device_key, 0))
        return false;
    const int64_t *sizes = (const int64_t *)((const char *)tensor + l->sizes) + 1;
    const struct kymo_op_tensor what = {
        .tensor = (uintptr_t)tensor,
        .storage = kymo__torch_word(tensor, l->storage),
        .offset = (int64_t)kymo__torch_word(tensor, l->offset),
        .numel = kymo__torch_word(tensor, l->numel),
        .shape = sizes,
        .strides = sizes + KYMO__TORCH_INLINE_DIMS,
        .dims = (uint32_t)dims,
        .itemsize = (uint16_t)p->keys->dtypes[dtype].bytes,
    };
    kymo__numbers_tensor(&p->numbers, &what, dtype_key, device_key);
    return true;
}

static bool put_all(struct putting *p, const struct kymo__torch_ivalue *from, uint64_t count,
                    int depth)
{
    if (count > p->left)
        return false;
    p->left -= count;
    for (const struct kymo__torch_ivalue *end = from + count; from < end; from++) {
        uint32_t kind =
            from->tag < KYMO__TORCH_TAGS ? p->layout->kinds[from->tag] : (uint32_t)KYMO_OP_OTHER;
        const void *object = (const void *)(uintptr_t)from->payload;
        if (kind == KYMO_OP_TENSOR) {
            if (__builtin_expect(!put_tensor(p, object), 0))
                return false;
        } else if (kind == KYMO_OP_INT || kind == KYMO_OP_FLOAT) {
            kymo__numbers_put(&p->numbers, from->payload, kind); /* or the bits of a double */
        } else if (kind == KYMO_OP_BOOL) {
            kymo__numbers_put(&p->numbers, (from->payload & 0xff) != 0, kind);
        } else if (kind == KYMO_OP_NONE) {
            kymo__numbers_put(&p->numbers, 0, kind);
        } else if (kind == KYMO_OP_LIST && depth < LISTS_DEEPEST) {
            const struct kymo__torch_ivalue *first, *last;
            first = kymo__torch_pointer(object, p->layout->list);
            last = kymo__torch_pointer(object, p->layout->list + 8);
            uint64_t inside = first <= last ? (uint64_t)(last - first) : 0;
            kymo__numbers_put(&p->numbers, inside, kymo__torch_list_kind(p->layout, object));
            if (!put_all(p, first, inside, depth + 1))
                return false;
        } else {
            return false;
        }
    }
    return true;
}

struct kymo_record *kymo__torch_put_inputs(const struct kymo__torch_layout *l,
                                           const struct kymo__torch_lib *lib, const void *record,
                                           uint32_t session, struct kymo__torch_keys *keys,
                                           struct kymo_record *room)
{
    const struct kymo__torch_ivalue *from;
    uint64_t count = kymo__torch_inputs(l, lib, record, &from);
    if (__builtin_expect(keys->session != session, 0))
        *keys = (struct kymo__torch_keys){.session = session};
    struct putting p = {{room, 0}, l, keys, KYMO__OPRECORDS_VALUES};
    return put_all(&p, from, count, 0) && !p.numbers.large ? p.numbers.to : NULL;
}
