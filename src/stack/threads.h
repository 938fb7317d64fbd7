/* threads.h — capture the stacks of all threads; additions to kymo/stackdump.h. */
#ifndef KYMO_STACK_THREADS_H
#define KYMO_STACK_THREADS_H

#include <kymo/stackdump.h>

/* Ask all threads, as kymo_stack_capture_threads does, and lend the answers until
   kymo__threads_done, which must follow; nobody else can ask meanwhile. In a handler of a fatal
   signal, CONTEXT is its third argument: the calling thread's stack is then the one before the
   signal, and waiting for another asker is limited. Otherwise it is NULL. Takes no lock and
   allocates nothing. Returns the number of threads, or -EDEADLK or -ENOMEM. */
int kymo__threads_ask(unsigned parts, const void *context, const struct kymo_thread_stack **asked);
void kymo__threads_done(void);

/* Have every thread also call ACT when asked, with the third argument of its handler. For crash.c;
   NULL ends it. */
void kymo__threads_also(void (*act)(void *context));

#endif
