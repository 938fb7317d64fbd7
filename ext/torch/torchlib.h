/* torchlib.h — the functions of torch's library that the source calls, found by name in the process.
   There is no header of torch here, and nothing is linked with it.

   Records are at::RecordFunction objects: torch makes one for each operator while somebody listens,
   and calls the listeners when it begins and ends. */
#ifndef KYMO_EXT_TORCHLIB_H
#define KYMO_EXT_TORCHLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KYMO__TORCH_SCOPES = 10 }; /* torch's RecordScope */

/* at::RecordFunctionCallback, which is passed by value. Zeros follow in case it has grown. */
struct kymo__torch_callback {
    void *start, *end;
    double probability;
    uint8_t scopes[KYMO__TORCH_SCOPES];
    uint8_t inputs, outputs, ids;
    uint8_t zeros[67];
};

struct kymo__torch_lib {
    uint64_t (*add)(struct kymo__torch_callback callback); /* at::addGlobalCallback */
    void (*remove)(uint64_t handle);                       /* at::removeCallback */
    const char *(*name)(const void *record);
    size_t (*inputs)(const void *record);
    size_t (*outputs)(const void *record);
    uint64_t (*thread)(void);   /* torch's number of this thread */
    uint64_t (*sequence)(void); /* the next sequence number */
    bool (*global)(void); /* does anybody listen, on all threads or on this one? May be NULL */
    bool (*local)(void);
    bool (*async)(const void *record); /* may it end on another thread? May be NULL */
    char path[4096];
};

/* The library if torch is loaded and has all of these, else NULL. Finds it at the first call that
   succeeds. Holding the GIL or the session's lock; the result is valid for ever. */
const struct kymo__torch_lib *kymo__torch_find(void);

/* The same without looking again. */
extern const struct kymo__torch_lib *kymo__torch_lib_known;

static inline const struct kymo__torch_lib *kymo__torch_known(void)
{
    return __atomic_load_n(&kymo__torch_lib_known, __ATOMIC_ACQUIRE);
}

#endif
