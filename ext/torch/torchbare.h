/* torchbare.h — operators without a schema, as one thread knows them: those of the backward pass, and
   annotations. torch makes the text of their names anew for every record, so that they are found by
   what it says. */
#ifndef KYMO_EXT_TORCHBARE_H
#define KYMO_EXT_TORCHBARE_H

#include "torchschema.h"

enum { KYMO__TORCH_BARE = 64 }; /* a power of two */

struct kymo__torch_bare {
    struct kymo_op_site site; /* of the text, without a schema */
    size_t length;
    char text[104];
} __attribute__((aligned(64)));

/* The place of TEXT, of at least 8 bytes: names of the engine differ in the last 16. */
static inline size_t kymo__torch_bare_place(struct kymo__torch_text text)
{
    uint64_t last, before;
    memcpy(&last, text.bytes + text.length - 8, sizeof last);
    memcpy(&before, text.bytes + (text.length < 16 ? 0 : text.length - 16), sizeof before);
    uint64_t hash =
        (last * UINT64_C(0x9e3779b97f4a7c15) ^ before ^ text.length) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 58) % KYMO__TORCH_BARE;
}

/* The site of TEXT among those that a thread has met, which may replace another; NULL if it is too
   short or too long. */
static inline struct kymo_op_site *kymo__torch_bare_site(struct kymo__torch_bare *bare,
                                                         struct kymo__torch_text text)
{
    if (text.length < 8 || text.length > sizeof bare->text)
        return NULL;
    struct kymo__torch_bare *here = &bare[kymo__torch_bare_place(text)];
    if (__builtin_expect(here->length != text.length ||
                             !kymo__torch_is_same(here->text, text.bytes, text.length),
                         0)) {
        here->site = (struct kymo_op_site){0};
        here->length = text.length;
        memcpy(here->text, text.bytes, text.length);
    }
    return &here->site;
}

#endif
