/* signalstack.h — stacks on which signal handlers run when a thread's own has overflown. */
#ifndef KYMO_SIGNALSTACK_H
#define KYMO_SIGNALSTACK_H

#include <signal.h>

/* Make one for the calling thread, if it has none; and take away what was made. */
void kymo__signalstack_use(void);
void kymo__signalstack_end(void);

/* Make one and describe it in STACK, which stays as it is without memory. In a signal handler
   of the thread it is for. */
void kymo__signalstack_new(stack_t *stack);

#endif
