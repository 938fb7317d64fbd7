/* thread.h — the only way to start one of Kymograph's threads.

   It receives none of the program's signals. Signals raised by its own faults are not blocked: a
   blocked SIGBUS would end the process. It has a name that debuggers and /proc show, and cannot be
   cancelled. */
#ifndef KYMO_THREAD_H
#define KYMO_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { KYMO__SMALL_STACK = 512 * 1024 }; /* enough for threads that only encode and write */

/* Start BODY with ARG on a new thread called NAME, cut to 15 bytes by the system. STACK is
   its stack size, 0 for the system's default. NAME stays until the thread ends. On success the
   caller joins or detaches *THREAD.
   Returns 0 or a negative errno. */
int kymo__thread_start(pthread_t *thread, const char *name, size_t stack, void *(*body)(void *),
                       void *arg);

/* Is the calling thread one of Kymograph's? */
bool kymo__thread_is_ours(void);

/* Wait until the kernel has removed the thread with system id ID, which has been joined; returns at
   once for 0. */
void kymo__thread_wait_gone(pid_t id);

#endif
