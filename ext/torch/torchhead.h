/* torchhead.h — what a record says about its operator besides values. Inlined: it is read for every
   operator. */
#ifndef KYMO_EXT_TORCHHEAD_H
#define KYMO_EXT_TORCHHEAD_H

#include <string.h>

#include "torchread.h"
#include "torchschema.h"

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

/* Fill in id, sequence number, threads, scope, schema and site. NAME is that of the record. */
static inline void kymo__torch_read_head(const struct kymo__torch_layout *l, const void *record,
                                         const char *name, struct kymo_operator *what)
{
    what->id = kymo__torch_word(record, l->id);
    what->sequence = (int64_t)kymo__torch_word(record, l->sequence);
    what->thread = kymo__torch_word(record, l->thread);
    what->forward_thread = kymo__torch_word(record, l->forward_thread);
    what->scope = *((const unsigned char *)record + l->scope);
    what->schema = NULL;
    what->site = NULL;
    /* A record without a schema has its name there, with nothing that points to it. */
    const void *schema = what->scope == 0 ? kymo__torch_pointer(record, l->schema) : NULL;
    if (!schema || schema == name || kymo__torch_pointer(schema, 0) != name)
        return;
    struct kymo__torch_schema *found = kymo__torch_schema(schema, kymo__torch_text_at(schema, 0),
                                                          kymo__torch_text_at(schema, l->overload));
    if (__builtin_expect(found != NULL, 1)) {
        what->schema = found->text;
        what->site = &found->site;
    }
}

#endif
