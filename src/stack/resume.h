/* resume.h — restart system calls that our signal interrupted.

   SA_RESTART does this for most calls. Others (poll, nanosleep, semop, …) always fail with EINTR;
   those that can be repeated without waiting longer in total are repeated. The handler does not
   learn the number of the call, so the sender of the signal records it first. */
#ifndef KYMO_RESUME_H
#define KYMO_RESUME_H

#include <stdint.h>

struct kymo_resumed {
    uint64_t number, arguments[6], sp;
    uint32_t is_one; /* 1: it was in a call that can be repeated */
};

/* Record which call thread TID is in. */
void kymo__resume_note(struct kymo_resumed *resumed, uint32_t tid);

/* In that thread's handler, with its third argument: repeat the call if the signal interrupted
   exactly that one. */
void kymo__resume_call(const struct kymo_resumed *resumed, void *context);

#endif
