/* thread.c — see thread.h. */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"

/* What a new thread needs, and frees: nobody waits for it to begin. */
struct launch {
    const char *name;
    void *(*body)(void *);
    void *arg;
};

static _Thread_local bool ours __attribute__((tls_model("initial-exec")));

bool kymo__thread_is_ours(void)
{
    return ours;
}

static void *launched(void *arg)
{
    const struct launch launch = *(struct launch *)arg;
    ours = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    prctl(PR_SET_NAME, launch.name);
    kymo__free(arg);
    return launch.body(launch.arg);
}

int kymo__thread_start(pthread_t *thread, const char *name, size_t stack, void *(*body)(void *),
                       void *arg)
{
    static const int faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    struct launch *launch = kymo__alloc(sizeof(*launch));
    if (!launch)
        return -ENOMEM;
    *launch = (struct launch){.name = name, .body = body, .arg = arg};
    sigset_t theirs, before;
    sigfillset(&theirs);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&theirs, faults[i]);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    pthread_sigmask(SIG_SETMASK, &theirs, &before);
    int rc = pthread_create(thread, &attributes, launched, launch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (rc != 0)
        kymo__free(launch);
    return -rc;
}

void kymo__thread_wait_gone(pid_t id)
{
    /* Seconds, in the end: the host of a guest may have taken the thread's core away. */
    for (int i = 0; i < 6000 && id && syscall(SYS_tgkill, getpid(), id, 0) == 0; i++) {
        const struct timespec moment = {.tv_nsec = i < 10 ? 1000 : i < 1000 ? 20000 : 1000000};
        nanosleep(&moment, NULL);
    }
}
