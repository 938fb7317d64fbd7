/* thread.c — see thread.h. */
#include "thread.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct launch {
    const char *name;
    void *(*body)(void *);
    void *arg;
    sem_t taken; /* the new thread has read the above */
};

static void *launched(void *arg)
{
    struct launch *launch = arg;
    void *(*body)(void *) = launch->body;
    void *body_arg = launch->arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    prctl(PR_SET_NAME, launch->name);
    sem_post(&launch->taken);
    return body(body_arg);
}

int kymo__thread_start(pthread_t *thread, const char *name, size_t stack, void *(*body)(void *),
                       void *arg)
{
    static const int faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    struct launch launch = {.name = name, .body = body, .arg = arg};
    sigset_t theirs, before;
    sigfillset(&theirs);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&theirs, faults[i]);
    sem_init(&launch.taken, 0, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    pthread_sigmask(SIG_SETMASK, &theirs, &before);
    int rc = pthread_create(thread, &attributes, launched, &launch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    while (rc == 0 && sem_wait(&launch.taken) != 0)
        continue; /* a signal of the program's */
    sem_destroy(&launch.taken);
    return -rc;
}

void kymo__thread_wait_gone(pid_t id)
{
    for (int i = 0; i < 1000 && id && syscall(SYS_tgkill, getpid(), id, 0) == 0; i++) {
        const struct timespec moment = {.tv_nsec = i < 10 ? 1000 : 20000};
        nanosleep(&moment, NULL);
    }
}
