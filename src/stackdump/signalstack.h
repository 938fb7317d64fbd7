/* signalstack.h — alternate stacks for signal handlers, used when a thread's own has overflowed. */
#ifndef KYMO_SIGNALSTACK_H
#define KYMO_SIGNALSTACK_H

#include <signal.h>

/* Make one for the calling thread, if it has none; remove the one that was made. */
void kymo__signalstack_use(void);
void kymo__signalstack_end(void);

/* Make one and describe it in STACK, which is left unchanged if memory is short. Call it in a
   signal handler on the thread it is for. */
void kymo__signalstack_new(stack_t *stack);

/* Memory for one, of *SIZE bytes, never freed; NULL when memory is short. */
void *kymo__signalstack_map(size_t *size);

#endif
