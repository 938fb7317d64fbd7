/* torchhead.h — what a record says about its operator besides values. Inlined: it is read for every
   operator. */
#ifndef KYMO_EXT_TORCHHEAD_H
#define KYMO_EXT_TORCHHEAD_H

#include <string.h>

#include "torchbare.h"
#include "torchnumbers.h"
#include "torchread.h"

static inline uint64_t kymo__torch_word(const void *object, int offset)
{
    uint64_t word;
    memcpy(&word, (const char *)object + offset, sizeof word);
    return word;
}

static inline const void *kymo__torch_pointer(const void *object, int offset)
{
    return (const void *)(uintptr_t)kymo__torch_word(object, offset);
}

static inline struct kymo__torch_text kymo__torch_text_at(const void *object, int offset)
{
    return (struct kymo__torch_text){kymo__torch_pointer(object, offset),
                                     kymo__torch_word(object, offset + 8)};
}

/* The inputs of RECORD: *FROM is the first. Returns how many. */
static inline uint64_t kymo__torch_inputs(const struct kymo__torch_layout *l,
                                          const struct kymo__torch_lib *lib, const void *record,
                                          const struct kymo__torch_ivalue **from)
{
    uint64_t have = kymo__torch_word(record, l->inputs + 8), count = lib->inputs(record);
    if (count > have || have >= KYMO__TORCH_INPUTS_MOST)
        count = have = 0;
    /* Of a boxed call the last ones of the stack. */
    *from =
        (const struct kymo__torch_ivalue *)kymo__torch_pointer(record, l->inputs) + (have - count);
    return count;
}

/* What the list OBJECT is: enum kymo_op_kind. */
static inline uint32_t kymo__torch_list_kind(const struct kymo__torch_layout *l, const void *object)
{
    bool empty = kymo__torch_word(object, l->list) == kymo__torch_word(object, l->list + 8);
    if (__builtin_expect(!empty || l->element < 0, 1))
        return KYMO_OP_LIST;
    bool tensors = kymo__torch_word(object, l->element) == l->tensor_type;
    return tensors ? KYMO_OP_NO_TENSORS : KYMO_OP_LIST;
}

/* What a thread has met. */
struct kymo__torch_known_ops {
    struct kymo__torch_met met[KYMO__TORCH_MET];
    struct kymo__torch_bare bare[KYMO__TORCH_BARE];
    struct kymo__torch_keys keys;
};

/* Fill in id, sequence number, threads, scope, schema and site. NAME is that of the record. OPS are
   those that this thread has met, or NULL. */
static inline __attribute__((always_inline)) void
kymo__torch_read_head(const struct kymo__torch_layout *l, const void *record, const char *name,
                      struct kymo__torch_known_ops *ops, struct kymo_operator *what)
{
    what->id = kymo__torch_word(record, l->id);
    what->sequence = (int64_t)kymo__torch_word(record, l->sequence);
    what->thread = kymo__torch_word(record, l->thread);
    what->forward_thread = kymo__torch_word(record, l->forward_thread);
    what->scope = *((const unsigned char *)record + l->scope);
    what->schema = NULL;
    what->site = NULL;
    /* A record without a schema has its name there, a text, with nothing that points to it. */
    const void *schema = kymo__torch_pointer(record, l->schema);
    if (schema == name) {
        const struct kymo__torch_text own = kymo__torch_text_at(record, l->schema);
        what->site = ops && name ? kymo__torch_bare_site(ops->bare, own) : NULL;
        return;
    }
    if (!schema || what->scope != 0 || kymo__torch_pointer(schema, 0) != name)
        return;
    const struct kymo__torch_text text = kymo__torch_text_at(schema, 0),
                                  overload = kymo__torch_text_at(schema, l->overload);
    uint32_t session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    struct kymo__torch_met *here = ops ? &ops->met[kymo__torch_met_place(schema)] : NULL;
    if (__builtin_expect(here && kymo__torch_met_is(here, schema, session, text, overload), 1)) {
        what->schema = here->text;
        what->site = &here->site;
        return;
    }
    struct kymo__torch_schema *found = kymo__torch_schema(schema, text, overload);
    if (!found)
        return;
    what->schema = found->text;
    what->site = &found->site;
    if (here)
        kymo__torch_met_set(here, found, session);
}

#endif
