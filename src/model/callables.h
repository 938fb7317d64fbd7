/* callables.h — what the keys of a capture stand for, equal ones taken together.

   A source may give one function several keys, since it makes a key for every object it
   meets. Here a callable is what has the same name, file, line and class, known by a
   dense number; number 0 is "(unknown)", for keys that a damaged file does not define. */
#ifndef KYMO_CALLABLES_H
#define KYMO_CALLABLES_H

#include "capture.h"

struct kymo_callable {
    const char *name, *file; /* never NULL; lent by the capture */
    uint32_t line;
    uint32_t class; /* enum kymo_class */
};

struct kymo_callables {
    uint32_t *of_key; /* the callable of key KEY stands at KEY */
    size_t keys;
    struct kymo_callable *all;
    size_t count;
};

/* Look at every key of CAPTURE. Returns 0 or -ENOMEM. */
int kymo__callables_init(struct kymo_callables *callables, const struct kymo_capture *capture);
void kymo__callables_fini(struct kymo_callables *callables);

static inline uint32_t kymo__callable_of(const struct kymo_callables *callables, uint32_t key)
{
    return key < callables->keys ? callables->of_key[key] : 0;
}

/* The same for the value of an argument that is a text, which may be any number. */
static inline uint32_t kymo__callable_text(const struct kymo_callables *callables, uint64_t value)
{
    return value < callables->keys ? callables->of_key[value] : 0;
}

#endif
