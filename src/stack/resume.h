/* resume.h — system calls that were interrupted by a signal of ours go on as if nothing had
   been.

   SA_RESTART does so for most. Others (poll, nanosleep, semop, …) fail with EINTR whatever the
   handler wants; those that can be made again without waiting longer than they were to wait are
   made again. The number of the call is not in what a handler gets, so the one who sends the
   signal notes it first. */
#ifndef KYMO_RESUME_H
#define KYMO_RESUME_H

#include <stdint.h>

struct kymo_resumed {
    uint64_t number, arguments[6], sp;
    uint32_t is_one; /* 1: it was in a call that can be made again */
};

/* Note in which call thread TID is. */
void kymo__resume_note(struct kymo_resumed *resumed, uint32_t tid);

/* In the handler of that thread, with its third argument: have the call made again, if the
   signal interrupted that very one. */
void kymo__resume_call(const struct kymo_resumed *resumed, void *context);

#endif
