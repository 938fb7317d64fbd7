/* scratch.c — see scratch.h. */
#include "scratch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "atomic.h"

__thread struct kymo_scratch *kymo__scratch __attribute__((tls_model("initial-exec")));

enum { KEYS_AT_HAND = 32 }; /* glibc allocates for the values of later keys */

static struct kymo_scratch *all;
static pthread_key_t key;
static bool have_key;

/* The thread ends. What it still captures after this goes to another one's, or a new one. */
static void give_back(void *scratch)
{
    struct kymo_scratch *s = scratch;
    kymo__scratch = NULL;
    kymo__store_relaxed(&s->registered, 0u);
    kymo__store_release(&s->owner, 0u);
}

static void forked_child(void)
{
    /* The other threads are not here; what they had may be taken. */
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    for (struct kymo_scratch *s = kymo__load_acquire(&all); s; s = s->older)
        kymo__store_relaxed(&s->owner, s == kymo__scratch ? self : 0u);
}

/* When the library is loaded: a signal handler may be the first to capture. */
__attribute__((constructor)) static void make_key(void)
{
    have_key = pthread_key_create(&key, give_back) == 0;
    pthread_atfork(NULL, NULL, forked_child);
}

static bool is_gone(uint32_t tid)
{
    return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) != 0 && errno == ESRCH;
}

/* One that nobody has: first those given back; when LOOK, also those of threads that are gone. */
static struct kymo_scratch *take_over(uint32_t self, bool look)
{
    for (struct kymo_scratch *s = kymo__load_acquire(&all); s; s = s->older) {
        uint32_t owner = kymo__load_acquire(&s->owner);
        if ((!owner || owner == self || (look && is_gone(owner))) &&
            kymo__swap_if(&s->owner, &owner, self)) {
            kymo__store_relaxed(&s->busy, 0u);
            kymo__store_relaxed(&s->registered, 0u);
            return s;
        }
    }
    return NULL;
}

static struct kymo_scratch *find_one(void)
{
    int error = errno;
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    struct kymo_scratch *s = take_over(self, false);
    if (!s)
        s = take_over(self, true);
    if (!s) {
        s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (s == MAP_FAILED) {
            errno = error;
            return NULL;
        }
        s->owner = self;
        struct kymo_scratch *older = kymo__load_relaxed(&all);
        do
            s->older = older;
        while (!kymo__swap_if(&all, &older, s));
    }
    errno = error;
    return kymo__scratch = s;
}

KYMO__COLD struct kymo_scratch *kymo__scratch_first(bool in_signal)
{
    struct kymo_scratch *s = kymo__scratch ? kymo__scratch : find_one();
    /* Have it given back when the thread ends, if that can be said here. */
    if (s && !s->registered && have_key && (!in_signal || key < KEYS_AT_HAND))
        kymo__store_relaxed(&s->registered, pthread_setspecific(key, s) == 0);
    return s;
}

void kymo__scratch_count(uint64_t *captures, uint64_t *truncated)
{
    for (const struct kymo_scratch *s = kymo__load_acquire(&all); s; s = s->older) {
        *captures += kymo__load_relaxed(&s->captures);
        *truncated += kymo__load_relaxed(&s->truncated);
    }
}
