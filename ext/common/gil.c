/* gil.c — see core.h.

   On a thread that Python does not know, PyGILState_Ensure makes a thread state first. Meanwhile it has
   a lock of the interpreter's, but not the GIL. Before 3.12, the child of a fork at that moment waits
   for that lock forever. So there a thread state is made by a function of its own, and os.fork waits
   for it. */
#include "core.h"

#if !KYMO_FORK_RENEWS_LOCK
#include <pthread.h>
#include <time.h>

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static __thread bool held; /* by this thread, which forks */

static void before_fork(void)
{
    /* Not forever: under tracemalloc, making one waits for the GIL, which this thread has. */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    held = pthread_mutex_timedlock(&making, &until) == 0;
}

static void after_fork(void)
{
    if (held)
        pthread_mutex_unlock(&making);
    held = false;
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&making, NULL);
    held = false;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static PyThreadState *make_state(void)
{
    if (PyGILState_GetThisThreadState())
        return NULL;
    pthread_mutex_lock(&making);
    PyThreadState *made = PyThreadState_New(PyInterpreterState_Main());
    pthread_mutex_unlock(&making);
    return made;
}
#else
static PyThreadState *make_state(void)
{
    return NULL;
}
#endif

struct kymo__gil kymo__gil_take(void)
{
    struct kymo__gil gil = {.made = make_state()};
    if (gil.made)
        PyEval_RestoreThread(gil.made);
    else
        gil.before = PyGILState_Ensure();
    return gil;
}

void kymo__gil_give(struct kymo__gil gil)
{
    if (!gil.made) {
        PyGILState_Release(gil.before);
        return;
    }
    PyThreadState_Clear(gil.made);
    PyThreadState_DeleteCurrent();
}
