/* resident.c — see resident.h. */
#include "resident.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "heaprec.h"
#include "thread.h"

static pthread_t thread;
static bool running;
static bool resting; /* ended by kymo__resident_rest */
static pid_t id;     /* of the thread, which sets it */
static uint32_t ending, requested;
static sem_t wake; /* usable since the library was loaded: a signal handler may post it */
static kymo_ns period;

__attribute__((constructor(102))) static void make_semaphore(void)
{
    sem_init(&wake, 0, 0);
}

void kymo__resident_note(void)
{
    char text[128];
    struct rusage usage;
    if (kymo__file_text("/proc/self/statm", text, sizeof(text)) <= 0)
        return;
    uint64_t page = (uint64_t)getpagesize();
    char *end;
    uint64_t mapped = strtoull(text, &end, 10) * page;
    uint64_t resident = strtoull(end, &end, 10) * page;
    uint64_t peak = getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
    const uint64_t values[] = {resident, peak > resident ? peak : resident, mapped};
    kymo__heaprec_note(&kymo__heaprec.resident, kymo_ticks(), values, 3);
}

static void *body(void *arg)
{
    (void)arg;
    kymo__memory_thread.entered = 1; /* nothing that happens here is the program's */
    kymo__store_release(&id, (pid_t)syscall(SYS_gettid));
    /* The start has recorded one; a thread that rests before its first is not in the capture. */
    kymo_ns next = kymo__clock_ns(CLOCK_MONOTONIC) + period;
    while (!kymo__load_acquire(&ending)) {
        kymo_ns now = kymo__clock_ns(CLOCK_MONOTONIC);
        if (kymo__exchange(&requested, 0u))
            kymo__heaprec_snapshot("signal");
        if (period > 0 && now >= next) {
            kymo__resident_note();
            next = now + period;
        }
        kymo_ns until = period > 0 ? next : now + (kymo_ns)3600 * 1000000000;
        const struct timespec t = {until / 1000000000, until % 1000000000};
        sem_clockwait(&wake, CLOCK_MONOTONIC, &t);
    }
    return NULL;
}

static int start_thread(void)
{
    ending = 0;
    resting = false;
    int rc = kymo__thread_start(&thread, "kymo memory", KYMO__SMALL_STACK, body, NULL);
    running = rc == 0;
    return rc;
}

int kymo__resident_start(kymo_ns interval)
{
    period = interval;
    kymo__store_relaxed(&requested, 0u);
    return start_thread();
}

void kymo__resident_stop(void)
{
    resting = false;
    if (!running)
        return;
    kymo__store_release(&ending, 1u);
    sem_post(&wake);
    pthread_join(thread, NULL);
    running = false;
}

void kymo__resident_rest(void)
{
    if (!running)
        return;
    kymo__resident_stop();
    /* The kernel may still count it for a moment. */
    kymo__thread_wait_gone(kymo__load_relaxed(&id));
    resting = true;
}

void kymo__resident_work(void)
{
    if (resting && start_thread() < 0)
        resting = true; /* tried again the next time */
}

void kymo__resident_request(void)
{
    kymo__store_release(&requested, 1u);
    sem_post(&wake);
}

void kymo__resident_forked(void)
{
    sem_init(&wake, 0, 0);
    running = resting = false;
}
