/* For tests/python/test_traceback_native.py: native code around captures of stacks. */
#include <dlfcn.h>
#include <kymo/stack.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bound at load time to the libkymo that the test has loaded already. */

typedef int backtrace_fn(void **frames, int count);
static backtrace_fn *unwind;

int find_unwind(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    unwind = handle ? (backtrace_fn *)dlsym(handle, "unw_backtrace") : NULL;
    return unwind != NULL;
}

/* A capture of this stack against libunwind, frame by frame. -1, or which one differs. */
__attribute__((noinline)) long compare(unsigned parts)
{
    enum { MOST = 4096 };
    static __thread void *theirs[MOST];
    static __thread struct kymo_frame ours[2 * MOST];
    int count = unwind(theirs, MOST);
    kymo_stack stack = kymo_stack_capture(parts, 0);
    size_t total = kymo_stack_frames(stack, ours, 2 * MOST);
    kymo_stack_release(stack);
    int at = 0;
    for (size_t i = 0; i < total; i++) {
        if (ours[i].managed)
            continue;
        /* The first is in this function, after one call and after the other. */
        if (at >= count || (at > 0 && ours[i].address != (uint64_t)(uintptr_t)theirs[at]))
            return at;
        at++;
    }
    return at == count ? -1 : at;
}

/* Two threads, a lock and the GIL. Thread 0 has the GIL and wants the lock; thread 1 has the
   lock and releases stacks. If releasing needed the GIL, neither would go on. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int has_lock, released;
static kymo_stack *to_release;
static size_t to_release_count;

static void *releases(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    __atomic_store_n(&has_lock, 1, __ATOMIC_RELEASE);
    usleep(100000); /* by now the other one waits for the lock, with the GIL */
    for (size_t i = 0; i < to_release_count; i++)
        kymo_stack_release(to_release[i]);
    /* Captures too. */
    kymo_stack_release(kymo_stack_capture(KYMO_STACK_NATIVE | KYMO_STACK_MANAGED, 0));
    __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* To be called with the GIL held. 1 when all was well. */
int with_the_gil_and_a_lock(kymo_stack *stacks, size_t count)
{
    pthread_t thread;
    to_release = stacks;
    to_release_count = count;
    has_lock = released = 0;
    if (pthread_create(&thread, NULL, releases, NULL))
        return 0;
    while (!__atomic_load_n(&has_lock, __ATOMIC_ACQUIRE))
        usleep(100);
    pthread_mutex_lock(&lock);
    int done = __atomic_load_n(&released, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return done;
}

/* Call CALLBACK on a thread that Python has never seen. */
static void *calls(void *callback)
{
    ((void (*)(void))callback)();
    return NULL;
}

__attribute__((noinline)) void on_a_new_thread(void (*callback)(void))
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, calls, (void *)callback))
        pthread_join(thread, NULL);
}

/* A stack of a thread that stays without Python. */
static void *captures(void *arg)
{
    *(kymo_stack *)arg = kymo_stack_capture(KYMO_STACK_NATIVE | KYMO_STACK_MANAGED, 0);
    return NULL;
}

kymo_stack of_a_native_thread(void)
{
    pthread_t thread;
    kymo_stack stack = 0;
    if (!pthread_create(&thread, NULL, captures, &stack))
        pthread_join(thread, NULL);
    return stack;
}

/* Call CALLBACK through DEPTH frames of different sizes. */
__attribute__((noinline)) int through(int depth, int (*callback)(void))
{
    volatile char *room = __builtin_alloca((size_t)(64 + 16 * (depth % 7)));
    room[0] = 1;
    int result = depth ? through(depth - 1, callback) : callback();
    return result + room[0] - 1;
}
