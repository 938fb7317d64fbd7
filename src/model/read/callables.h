/* callables.h — what the keys of a capture refer to, with duplicates merged.

   A source may give one function several keys, since it creates a key for every object it meets.
   Here a callable is everything with the same name, file, line and class, identified by a dense
   number. Number 0 is "(unknown)", for keys that a damaged file does not define. */
#ifndef KYMO_CALLABLES_H
#define KYMO_CALLABLES_H

#include "capture.h"

#include <string.h>

struct kymo_callable {
    const char *name, *file; /* never NULL; lent by the capture */
    uint32_t line;
    uint32_t class; /* enum kymo_class */
};

struct kymo_callables {
    uint32_t *of_key; /* by key: its callable */
    size_t keys;
    struct kymo_callable *all;
    size_t count;
};

/* Read every key of CAPTURE. Returns 0 or -ENOMEM. */
int kymo__callables_init(struct kymo_callables *callables, const struct kymo_capture *capture);
void kymo__callables_fini(struct kymo_callables *callables);

static inline uint32_t kymo__callable_of(const struct kymo_callables *callables, uint32_t key)
{
    return key < callables->keys ? callables->of_key[key] : 0;
}

/* Is CALLABLE a part of a task's life, so that its async spans belong to the lane of their id?
   Captures of older versions have only "await". */
static inline bool kymo__callable_in_task(const struct kymo_callable *callable)
{
    return callable->class == KYMO_CLASS_WAIT || strcmp(callable->name, "await") == 0;
}

/* Can CALLABLE be the function that the call of an object runs? */
static inline bool kymo__callable_runs_object(const struct kymo_callable *callable)
{
    const char *dot = strrchr(callable->name, '.');
    return callable->class == KYMO_CLASS_FUNCTION &&
           (!*callable->file || strcmp(dot ? dot + 1 : callable->name, "__call__") == 0);
}

/* The same for the value of a text argument, which may be any number. */
static inline uint32_t kymo__callable_text(const struct kymo_callables *callables, uint64_t value)
{
    return value < callables->keys ? callables->of_key[value] : 0;
}

#endif
