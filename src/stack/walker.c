/* walker.c — see walker.h: get one, and give it back when the thread exits.

   All walkers are in a list that only grows. The destructor of a thread-specific key reports a
   thread's exit, if setting the key allocates nothing; otherwise a walker whose thread has exited
   is found by asking the system for that thread. */
#include "walker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader.h"
#include "mapped.h"
#include "modules.h"

enum {
    KEYS_AT_HAND = 32, /* glibc allocates for the values of later keys */
    ENDS = 3,          /* how often an exiting thread may get a walker again; glibc runs destructors
                          4 times */
};

#define NOBODY UINT32_MAX /* an owner */

__thread struct kymo_walker *kymo__walker __attribute__((tls_model("initial-exec")));

/* Set when the exit destructor has run the maximum number of times. */
static __thread uint32_t ends __attribute__((tls_model("initial-exec")));

static struct kymo_walker *all;
static pthread_key_t key;
static uint32_t key_state; /* 1: being created, 2: ready */

static uint32_t thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void give_back(struct kymo_walker *walker)
{
    kymo__pages_drop(walker->sites, sizeof(*walker) - offsetof(struct kymo_walker, sites));
    kymo__store_release(&walker->owner, 0u);
}

static void on_thread_end(void *arg)
{
    struct kymo_walker *walker = arg;
    ends++;
    kymo__store_relaxed(&walker->owner, NOBODY); /* no longer ours, but not free yet */
    kymo__compiler_fence();
    kymo__walker = NULL;
    kymo__compiler_fence();
    give_back(walker);
}

/* Only the thread that forked is in the child, with another id. */
static void on_fork(void)
{
    uint32_t self = thread_id();
    for (struct kymo_walker *w = kymo__load_acquire(&all); w; w = w->next)
        if (w == kymo__walker)
            kymo__store_relaxed(&w->owner, self);
        else if (kymo__load_relaxed(&w->owner))
            give_back(w);
}

static bool key_ready(void)
{
    uint32_t none = 0;
    if (kymo__load_acquire(&key_state) == 2)
        return true;
    if (!kymo__swap_if(&key_state, &none, 1u))
        return false;
    if (pthread_key_create(&key, on_thread_end) != 0)
        return false; /* permanently: they are used up */
    pthread_atfork(NULL, NULL, on_fork);
    kymo__store_release(&key_state, 2u);
    return true;
}

/* So that the first use is not in a signal handler. */
__attribute__((constructor)) static void prepare_walker(void)
{
    key_ready();
    kymo__modules_refresh();
}

static bool is_gone(uint32_t owner, uint32_t registered)
{
    return !registered && syscall(SYS_tgkill, getpid(), owner, 0) != 0 && errno == ESRCH;
}

/* Take a walker whose owner is gone, or return NULL. */
static struct kymo_walker *take_old(uint32_t self)
{
    for (struct kymo_walker *w = kymo__load_acquire(&all); w; w = w->next) {
        uint32_t owner = kymo__load_acquire(&w->owner);
        if (owner && owner != self && !is_gone(owner, kymo__load_relaxed(&w->registered)))
            continue;
        if (!kymo__swap_if(&w->owner, &owner, self))
            continue;
        if (owner)
            kymo__pages_drop(w->sites, sizeof(*w) - offsetof(struct kymo_walker, sites));
        return w;
    }
    return NULL;
}

static struct kymo_walker *take_new(uint32_t self)
{
    struct kymo_walker *w = kymo__pages_new(sizeof(*w));
    if (!w)
        return NULL;
    w->owner = self;
    w->next = kymo__load_acquire(&all);
    while (!kymo__swap_if(&all, &w->next, w))
        ;
    return w;
}

/* Create a walker for this thread. A signal handler may interrupt this and do the same; then there
   are two, and the later one stays. */
static struct kymo_walker *walker_new(void)
{
    if (ends > ENDS)
        return NULL;
    int saved = errno;
    uint32_t self = thread_id();
    struct kymo_walker *w = take_old(self);
    if (!w)
        w = take_new(self);
    if (w) {
        w->busy = w->capture = 0;
        w->trail_busy = 0;
        w->version = UINT64_MAX;
        w->stack = w->other = (struct kymo_range){0};
        w->frames[0].end = UINT64_MAX;
        w->count = w->usable = w->slot_count = w->same = 0;
        uint32_t set = key_ready() && key < KEYS_AT_HAND && pthread_setspecific(key, w) == 0;
        kymo__store_relaxed(&w->registered, set);
        kymo__compiler_fence();
        kymo__walker = w;
    }
    errno = saved;
    return w;
}

bool kymo__walker_range(struct kymo_walker *walker, uint64_t sp, struct kymo_range *range)
{
    /* The program may have unmapped it meanwhile and mapped another one there. */
    if (sp - walker->other.low < walker->other.high - walker->other.low &&
        kymo__readable(walker->other.high - 8)) {
        *range = walker->other;
        return true;
    }
    if (!kymo__stack_around(sp, range))
        return false;
    *(range->own ? &walker->stack : &walker->other) = *range;
    return true;
}

/* Without writing to pages that were never used. */
static void forget_sites(struct kymo_walker *walker)
{
    for (size_t i = 0; i < 1u << KYMO__SITE_BITS; i++)
        if (walker->sites[i].pc)
            walker->sites[i] = (struct kymo_site){0};
}

/* Was the walk that claimed WALKER at BUSY abandoned by a longjmp? It was where SP is, or further
   in. */
static bool is_abandoned(const struct kymo_walker *walker, uint64_t busy, uint64_t sp)
{
    const struct kymo_range *stack = &walker->stack;
    return busy <= sp && busy - stack->low < stack->high - stack->low &&
           sp - stack->low < stack->high - stack->low;
}

KYMO__COLD struct kymo_walker *kymo__walker_capture_slow(uint64_t sp)
{
    struct kymo_walker *walker = kymo__walker ? kymo__walker : walker_new();
    struct kymo_range range;
    if (!walker)
        return NULL;
    if (walker->capture) {
        if (!walker->stack.high)
            kymo__walker_range(walker, sp, &range); /* then we know which stack SP is on */
        if (!is_abandoned(walker, walker->capture, sp))
            return NULL;
    }
    kymo__store_relaxed(&walker->capture, sp);
    kymo__compiler_fence();
    return walker;
}

void kymo__walker_counts(uint64_t *captures, uint64_t *truncated)
{
    for (const struct kymo_walker *w = kymo__load_acquire(&all); w; w = w->next) {
        *captures += kymo__load_relaxed(&w->captures);
        *truncated += kymo__load_relaxed(&w->truncated);
    }
}

struct kymo_walker *kymo__walker_claim(uint64_t sp, struct kymo_range *range, bool in_signal)
{
    struct kymo_walker *walker = kymo__walker;
    if (!walker && !(walker = walker_new()))
        return NULL;
    if (walker->busy) {
        if (!is_abandoned(walker, walker->busy, sp))
            return NULL;
        walker->version = UINT64_MAX; /* whatever it was doing */
    }
    kymo__store_relaxed(&walker->busy, sp);
    kymo__compiler_fence();
    if (!in_signal && !kymo__loader_finds() && kymo__modules_known() != kymo__modules_version())
        kymo__modules_refresh();
    uint64_t version = kymo__modules_version();
    if (walker->version != version) {
        forget_sites(walker);
        walker->count = walker->usable = walker->slot_count = 0;
        walker->version = version;
    }
    if (sp - walker->stack.low < walker->stack.high - walker->stack.low) {
        *range = walker->stack;
        return walker;
    }
    if (kymo__walker_range(walker, sp, range))
        return walker;
    kymo__walker_release(walker);
    return NULL;
}
