/* keys.h — map the address of a code object, or of a C callable's definition, to its key in the
   capture.

   The table is read without a lock at every event and written under one. Code objects are not kept
   alive: when one dies, the interpreter reports it and its address is forgotten, so that another
   object at the same address gets its own key. */
#ifndef KYMO_EXT_KEYS_H
#define KYMO_EXT_KEYS_H

#include "compat.h"

#include <stdint.h>

#define TASK_TYPE 2u              /* in `slices`: a type whose instances are asyncio tasks */
#define TASK_MAKER 3u             /* same: a function that returns a new task */
#define GREENLET_MODULE 5u        /* same: the body of the module greenlet */
#define INSTANCES_NAMED 6u        /* same: instances of this type have their own names */
#define LOOP_RUNNER 7u            /* same: runs a callback of an event loop */
#define LOOP_SCHEDULER 8u         /* same: adds a callback to those an event loop runs next */
#define GREENLET_SETTRACE 9u      /* same: greenlet.settrace */
#define KYMO_LEFT_OUT 0xffffffffu /* a key: the function is not recorded */

/* Is a function with these SLICES observed even if filters leave it out? */
#define KYMO_ALWAYS_SEEN(slices)                                                                   \
    ((slices) == TASK_MAKER || (slices) == LOOP_SCHEDULER || (slices) == LOOP_RUNNER)

struct function {
    const void *address; /* stored last, with release; NULL: never used */
    uint32_t key;        /* 0: forgotten */
    uint32_t slices;     /* 1: a generator or coroutine, which runs in slices; TASK_*; named.h */
};

struct function_table {
    struct function_table *older; /* smaller ones it replaced; another thread may be reading them */
    unsigned shift;               /* 64 - log2 of the number of slots */
    size_t used;                  /* slots that are not free, forgotten ones included */
    struct function slots[];
};
extern struct function_table *kymo__functions;

/* The entry of ADDRESS, or NULL. */
static inline __attribute__((always_inline)) const struct function *
kymo__function_find(const void *address)
{
    const struct function_table *table = __atomic_load_n(&kymo__functions, __ATOMIC_ACQUIRE);
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = (size_t)(hash >> table->shift);; i++) {
        const struct function *f = &table->slots[i & mask];
        const void *here = __atomic_load_n(&f->address, __ATOMIC_ACQUIRE);
        if (__builtin_expect(here == address, 1))
            return __builtin_expect(f->key != 0, 1) ? f : NULL;
        if (!here)
            return NULL;
    }
}

/* Recently used functions that are recorded, by address: copies of their entries, which are all
   that most events need. Only where the GIL protects it. */
#define KYMO_RECENT_BITS 12
extern struct function kymo__recent[1 << KYMO_RECENT_BITS];

static inline __attribute__((always_inline)) struct function *kymo__recent_slot(const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return &kymo__recent[hash >> (64 - KYMO_RECENT_BITS)];
}

/* Add F to them, unless this session does not use them. */
void kymo__recent_add(const struct function *f);

/* Add ADDRESS as an excluded one, for a hook that handles those. */
void kymo__recent_leave_out(const void *address);

/* The session stops using them. */
void kymo__recent_stop(void);

/* Begin a session with an empty table. 0, or -1 with an exception. */
int kymo__functions_begin(void);
void kymo__functions_end(void);

/* Instead, in a forked child that goes on with its parent's hooks: what the parent's session had
   stays in memory, because freeing it would copy every page of it. */
void kymo__functions_inherited(void);

/* Add an entry for CODE, which was not found, and define its key. Never NULL; no exception. */
const struct function *kymo__function_add(PyObject *code);

/* The entry for CODE. Never NULL; no exception. */
static inline __attribute__((always_inline)) const struct function *
kymo__function_of(PyObject *code)
{
    const struct function *f = kymo__function_find(code);
    return __builtin_expect(f != NULL, 1) ? f : kymo__function_add(code);
}

/* The same for a C callable whose definition is at ADDRESS; see ccalls.h. */
const struct function *kymo__function_add_callable(const void *address, PyObject *callable);

/* Store KEY for ADDRESS, which has none. Never NULL. */
const struct function *kymo__function_insert(const void *address, uint32_t key, uint32_t slices);

/* A key for NAME of KIND (enum kymo_class), without a file; 0 when there is no room. */
uint32_t kymo__name_key(const char *name, uint32_t kind);

/* Forget everything about ADDRESS. */
void kymo__function_forget(const void *address);

#endif
