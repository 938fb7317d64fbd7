/* stackdesk.h — the stacks of a session: from the id in an event to its definition.

   Code that records an event with a stack gives the stack to the desk, which holds it until the
   end of the session, so that its id is not reused. Giving takes no lock, allocates nothing and
   is allowed inside malloc and in signal handlers. The desk's thread writes the definitions
   (stackbook.h) and asks the interpreter to name its functions. It starts with the first stack,
   or when the sampler gives it another duty (sampler.h). */
#ifndef KYMO_STACKDESK_H
#define KYMO_STACKDESK_H

#include <kymo/stack.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "idring.h"
#include "stackbook.h"
#include "treebook.h"

/* Work for the desk's thread besides stacks, under its lock: NOW is the monotonic time; returns
   when to call it again. */
typedef int64_t kymo_desk_duty_fn(void *arg, int64_t now);

#define KYMO__DESK_KNOWN 8192u /* a power of two */

struct kymo_stackdesk {
    kymo_desk_duty_fn *duty; /* NULL: none. Set before the thread begins */
    void *duty_arg;
    void (*name_thread)(uint32_t tid, const char *name); /* for the interpreter; set with `duty` */
    /* How often the interpreter is still to be asked for names, because threads joined: one may
       be running before the interpreter lists it. Under the lock. */
    unsigned strangers;
    struct kymo_stackbook book;       /* under the desk's lock */
    struct kymo_treebook tree;        /* of recorded stacks; likewise */
    struct kymo_idring ring;          /* stacks given and not yet defined */
    uint32_t known[KYMO__DESK_KNOWN]; /* stacks given, by their hash: most are given repeatedly */
    bool described;                   /* the capture describes the interpreter; under the lock */
    uint64_t missing;                 /* stacks that found no room */
    uint32_t wanted;                  /* 1: a stack was given */
    uint32_t hurried;                 /* 1: kymo__desk_wake was posted since the last round */
    uint32_t attentive;               /* 1: the thread looks for new stacks without being woken */

    /* The thread is started and ended under the desk's lock. */
    pthread_t thread;
    bool threaded; /* the thread exists */
    bool closed;   /* do not start another */
    uint32_t tid;  /* its system id, or 0 */
    uint32_t ending;
    sem_t ended;       /* it is about to end */
    uint32_t settling; /* enum kymo_settling */
    int64_t settled;   /* when the interpreter was last asked to name functions */
};

/* A request to the interpreter may block forever: when the interpreter is ending, or when the
   thread that waits for ours holds what the interpreter needs. Then our thread is abandoned; if
   it ever returns, it touches nothing but this. */
enum kymo_settling {
    KYMO__SETTLED = 0,
    KYMO__SETTLING = 1,
    KYMO__ABANDONED = 2,
};

/* The desk's thread waits for this. It outlives every session, so that a signal handler may post
   it at any time. */
extern sem_t kymo__desk_wake;

/* Make a desk that defines stacks in NAMES; ROOT is kymo_options.sample_root. 0 or -ENOMEM; free
   *DESK either way. */
int kymo__desk_new(struct kymo_stackdesk **desk, struct kymo_names *names, const char *root);
void kymo__desk_free(struct kymo_stackdesk *desk);

/* Keep STACK for the session; takes over the caller's hold. False when there is no room: then
   the hold is released. Inside a claim. */
bool kymo__desk_give(struct kymo_stackdesk *desk, kymo_stack stack);

/* Wake the desk's thread, once. Also for signal handlers. */
void kymo__desk_hurry(struct kymo_stackdesk *desk);

/* Start the thread unless there is one. 0 or negative errno. */
int kymo__desk_begin(struct kymo_stackdesk *desk);

/* For the writer thread, periodically: start the desk's thread if it is needed. */
void kymo__desk_serve(struct kymo_stackdesk *desk);

/* End the thread. Another one is started only after kymo__desk_work. */
void kymo__desk_halt(struct kymo_stackdesk *desk);

/* As kymo_writer_rest and kymo_writer_work; work returns 0 or negative errno. */
void kymo__desk_rest(struct kymo_stackdesk *desk);
int kymo__desk_work(struct kymo_stackdesk *desk);

/* For kymo_stop, when no more stacks can arrive: define the rest. With ASK, the interpreter is
   asked for the names of its functions. */
void kymo__desk_finish(struct kymo_stackdesk *desk, bool ask);

/* The lock of the desk, of the timers and of the loader's data: a thread that forks holds it, so
   that the child does not inherit a lock that our thread holds. Never wait for anything under
   it. */
void kymo__desk_lock(void);
void kymo__desk_unlock(void);

/* Is the calling thread forking, and therefore holding the lock? */
bool kymo__desk_forking(void);

/* Around fork. */
void kymo__desk_before_fork(void);
void kymo__desk_after_fork(void);
void kymo__desk_forked(void);

#endif
