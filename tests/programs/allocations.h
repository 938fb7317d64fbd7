/* allocations.h — what allocations.c and allocations_new.cpp did. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An event that must be recorded. */
struct made {
    const char *kind, *function;
    size_t size;
    void *at, *from;
};

/* Make all allocations and store what must be recorded, in order; room for 100. Returns how many. */
size_t allocations_make(struct made *into);
size_t allocations_new(struct made *into);

/* COUNT times operator new of SIZE bytes and operator delete, and now and then one that throws. */
void allocations_churn(int count, size_t size);

void *allocations_one(size_t size);
void allocations_free(void *at);

/* What Python calls so, for programs without Python. The first returns how often it was called. */
int PyTraceMalloc_Track(unsigned domain, uintptr_t at, size_t size);
int PyTraceMalloc_Untrack(unsigned domain, uintptr_t at);

#ifdef __cplusplus
}
#endif
#endif
