/* torchschema.h — the operators that were met, by torch's schema objects: stable texts such as
   "aten::add.Tensor", and later the whole schema. */
#ifndef KYMO_EXT_TORCHSCHEMA_H
#define KYMO_EXT_TORCHSCHEMA_H

#include <assert.h>
#include <kymo/op.h>
#include <kymo/record.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* One operator; never freed. */
struct kymo__torch_schema {
    const void *object;              /* torch's; another operator may get the same address later */
    const char *text;                /* name, or name.overload */
    size_t name_length;              /* of the name in it */
    size_t length;                   /* of the text */
    const char *whole;               /* its schema as torch prints it, or NULL */
    uint32_t session;                /* in which it was last met */
    struct kymo_op_site site;        /* of its name and text */
    struct kymo__torch_schema *next; /* the one met before */
};

/* A text of torch: a std::string begins with these. */
struct kymo__torch_text {
    const char *bytes;
    size_t length;
};

/* All of them, by the address of their object: open addressing. torch has some 4000 operators. */
enum { KYMO__TORCH_SCHEMA_SLOTS = 1 << 14 };
extern struct kymo__torch_schema *kymo__torch_schema_slots[KYMO__TORCH_SCHEMA_SLOTS];

static inline size_t kymo__torch_schema_slot(const void *object)
{
    return (size_t)((uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 50) %
           KYMO__TORCH_SCHEMA_SLOTS;
}

static inline uint64_t kymo__torch_differ8(const char *a, const char *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x ^ y;
}

static inline uint32_t kymo__torch_differ4(const char *a, const char *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x ^ y;
}

/* Do LENGTH bytes at A equal those at B? They are few, so that a call would take longer. The last
   ones are compared together with some of those before them, once more. */
static inline bool kymo__torch_is_same(const char *a, const char *b, size_t length)
{
    size_t i = 0;
    if (length >= 8) {
        for (; i + 8 < length; i += 8)
            if (kymo__torch_differ8(a + i, b + i))
                return false;
        return !kymo__torch_differ8(a + length - 8, b + length - 8);
    }
    if (length >= 4)
        return !(kymo__torch_differ4(a, b) | kymo__torch_differ4(a + length - 4, b + length - 4));
    while (i < length && a[i] == b[i])
        i++;
    return i == length;
}

/* Is TEXT, whose length is right, NAME or NAME.OVERLOAD? */
static inline bool kymo__torch_text_is(const char *text, struct kymo__torch_text name,
                                       struct kymo__torch_text overload)
{
    return kymo__torch_is_same(text, name.bytes, name.length) &&
           (!overload.length ||
            kymo__torch_is_same(text + name.length + 1, overload.bytes, overload.length));
}

/* The length of NAME, or NAME.OVERLOAD. */
static inline size_t kymo__torch_text_length(struct kymo__torch_text name,
                                             struct kymo__torch_text overload)
{
    return overload.length ? name.length + 1 + overload.length : name.length;
}

/* Is S the operator of OBJECT, and its text NAME, or NAME.OVERLOAD? */
static inline bool kymo__torch_schema_is(const struct kymo__torch_schema *s, const void *object,
                                         struct kymo__torch_text name,
                                         struct kymo__torch_text overload)
{
    return s->object == object && s->name_length == name.length &&
           s->length == kymo__torch_text_length(name, overload) &&
           kymo__torch_text_is(s->text, name, overload);
}

/* Search everywhere, and add it if it is new. */
struct kymo__torch_schema *kymo__torch_schema_search(const void *object,
                                                     struct kymo__torch_text name,
                                                     struct kymo__torch_text overload);

/* The operator NAME with OVERLOAD, whose schema is OBJECT; NULL if there is no room. Any thread,
   without the GIL; takes a lock only for new ones. */
static inline struct kymo__torch_schema *kymo__torch_schema(const void *object,
                                                            struct kymo__torch_text name,
                                                            struct kymo__torch_text overload)
{
    struct kymo__torch_schema *found = __atomic_load_n(
        &kymo__torch_schema_slots[kymo__torch_schema_slot(object)], __ATOMIC_ACQUIRE);
    if (__builtin_expect(!found || !kymo__torch_schema_is(found, object, name, overload), 0))
        found = kymo__torch_schema_search(object, name, overload);
    uint32_t session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    if (found && __atomic_load_n(&found->session, __ATOMIC_RELAXED) != session)
        __atomic_store_n(&found->session, session, __ATOMIC_RELAXED);
    return found;
}

/* ---- as one thread knows them ---- */

/* An operator that this thread met in this session, in one line of the processor's cache: most of
   what it takes to find one is waiting for memory. */
struct kymo__torch_met {
    const void *object; /* as in struct kymo__torch_schema */
    uint32_t session;
    uint16_t name_length, length;
    const char *text;
    struct kymo_op_site site; /* it has the keys of the session */
    char head[24];            /* the text, if it is not longer */
} __attribute__((aligned(64)));
static_assert(sizeof(struct kymo__torch_met) == 64, "a line of the cache");

enum { KYMO__TORCH_MET = 512 }; /* a power of two */

/* The place of the operator with OBJECT among those that a thread has met. */
static inline size_t kymo__torch_met_place(const void *object)
{
    return (size_t)((uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 55) % KYMO__TORCH_MET;
}

/* Is it the operator of OBJECT, met in SESSION? */
static inline bool kymo__torch_met_is(const struct kymo__torch_met *m, const void *object,
                                      uint32_t session, struct kymo__torch_text name,
                                      struct kymo__torch_text overload)
{
    return m->object == object && m->session == session && m->name_length == name.length &&
           m->length == kymo__torch_text_length(name, overload) &&
           kymo__torch_text_is(m->length <= sizeof m->head ? m->head : m->text, name, overload);
}

/* Remember S in M if its site has the keys of SESSION. */
void kymo__torch_met_set(struct kymo__torch_met *m, const struct kymo__torch_schema *s,
                         uint32_t session);

/* All of them, the last one first; a list linked by `next`. */
struct kymo__torch_schema *kymo__torch_schemas(void);

#endif
