/* threads.h — asking all threads where they are; what is beyond kymo/stackdump.h. */
#ifndef KYMO_STACK_THREADS_H
#define KYMO_STACK_THREADS_H

#include <kymo/stackdump.h>

/* Ask all threads, as kymo_stack_capture_threads does, and lend the answers until
   kymo__threads_done, which must follow; nobody else can ask meanwhile. CONTEXT is what the
   handler of a fatal signal got, and NULL otherwise: then the calling thread's stack is that of
   before the signal, and somebody who is asking already is waited for only for a while. Takes
   no lock and allocates nothing. Returns how many there are, or -EDEADLK or -ENOMEM. */
int kymo__threads_ask(unsigned parts, const void *context, const struct kymo_thread_stack **asked);
void kymo__threads_done(void);

/* What every thread does when it is asked, besides: the third argument of its handler. For
   crash.c; NULL ends it. */
void kymo__threads_also(void (*act)(void *context));

#endif
