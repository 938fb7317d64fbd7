/* switch.c — see switch.h. */
#include "switch.h"
#include "mapped.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static struct kymo_switch_page fallback; /* until the constructor has run, or if there is no page */
struct kymo_switch_page *kymo__page = &fallback;
KYMO_API const uint32_t *kymo__switch = &fallback.session;

__attribute__((constructor(101))) static void set_up(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *map = kymo__pages_new(size);
    if (!map)
        return;
    madvise(map, size, MADV_WIPEONFORK);
    kymo__page = map;
    kymo__page->pid = (uint32_t)getpid();
    kymo__switch = &kymo__page->session;
}

/* Make every thread of this process pass a full barrier: we see its earlier stores, and its
   later loads see ours. Because of this, recording needs no barrier itself. */
static void barrier_everywhere(void)
{
    if (syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    if (syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    /* Refused by an old kernel or a sandbox: a store becomes visible in far less time. */
    const struct timespec ten_milliseconds = {0, 10000000};
    nanosleep(&ten_milliseconds, NULL);
}

void kymo__switch_prepare(void)
{
    syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void kymo__switch_set(uint32_t number)
{
    kymo__store_relaxed(&kymo__page->pid, (uint32_t)getpid());
    __atomic_store_n(&kymo__page->session, number, __ATOMIC_SEQ_CST);
    if (!number)
        barrier_everywhere();
}

int kymo__switch_forked(void)
{
    return kymo__page != &fallback && kymo__load_relaxed(&kymo__page->pid) != (uint32_t)getpid();
}
