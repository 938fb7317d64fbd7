/* lock.h — kymograph's own locks, protected against signals and cancellation.

   A signal handler may record. If it interrupted a thread that holds one of these locks and then
   needed one itself, it would deadlock. So each thread counts the locks it holds, and recording
   that may need one gives up while the count is not 0. */
#ifndef KYMO_LOCK_H
#define KYMO_LOCK_H

#include <pthread.h>
#include <stdint.h>

#include "atomic.h"

/* Locks that this thread holds or waits for. Our own threads always count one more: nothing that
   the C library does on their behalf, such as calling malloc, is an event. */
extern __thread uint32_t kymo__inside
    __attribute__((tls_model("initial-exec"), visibility("default"))); /* also in kymo/memory.h */

static inline void kymo__inside_add(uint32_t more)
{
    kymo__store_relaxed(&kymo__inside, kymo__inside + more);
    kymo__compiler_fence();
}

static inline void kymo__lock(pthread_mutex_t *lock)
{
    kymo__inside_add(1);
    pthread_mutex_lock(lock);
}

static inline void kymo__unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    kymo__compiler_fence();
    kymo__inside_add((uint32_t)-1);
}

/* Disable cancellation of the calling thread, which would leave our locks held. Returns a value for
   the function that enables it again. */
static inline int kymo__cancel_off(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void kymo__cancel_restore(int before)
{
    pthread_setcancelstate(before, &before);
}

#endif
