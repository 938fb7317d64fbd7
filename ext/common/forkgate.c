/* forkgate.c — see core.h.

   A child of os.fork has every lock of the interpreter's that another thread held, and CPython
   does not renew all of them there:
   - before 3.12, the lock of the list of thread states, which a thread holds without the GIL while
     it makes a state for itself;
   - without a GIL, the lock of whoever wants to stop all threads: os.fork stops them too, and may be
     first while another thread has the lock and waits. Making a thread state may want that.
   So our threads and os.fork take turns. Nobody waits forever: another hook of os.fork may wait for
   a thread that waits here. */
#include "core.h"

#if KYMO_FORK_KEEPS_LOCKS

#include <pthread.h>
#include <time.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static __thread int depth; /* how often this thread has entered */
static __thread bool held;

static void renew(void)
{
    pthread_mutex_init(&gate, NULL);
    held = false;
    depth = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, renew);
}

static bool enters_at_once(void)
{
    if (depth++)
        return true;
    held = pthread_mutex_trylock(&gate) == 0;
    return held;
}

static void wait_for_others(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    held = pthread_mutex_timedlock(&gate, &until) == 0;
}

void kymo__fork_gate_enter_unknown(void)
{
    if (!enters_at_once())
        wait_for_others();
}

void kymo__fork_gate_enter(void)
{
    if (enters_at_once())
        return;
    PyThreadState *thread = PyEval_SaveThread();
    wait_for_others();
    PyEval_RestoreThread(thread);
}

void kymo__fork_gate_leave(void)
{
    if (!depth || --depth) /* 0: this module was imported by a hook that runs before a fork */
        return;
    if (held)
        pthread_mutex_unlock(&gate);
    held = false;
}

#else

void kymo__fork_gate_enter(void) {}
void kymo__fork_gate_leave(void) {}

#endif
