/* switch.c — see switch.h. */
#include "switch.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static struct kymo_switch_page fallback; /* until the constructor ran, or without a page */
struct kymo_switch_page *kymo__page = &fallback;
KYMO_API const uint32_t *kymo__switch = &fallback.session;

__attribute__((constructor(101))) static void set_up(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return;
    madvise(map, size, MADV_WIPEONFORK);
    kymo__page = map;
    kymo__page->pid = (uint32_t)getpid();
    kymo__switch = &kymo__page->session;
}

/* Make every thread of this process pass a full barrier: what it stored before is
   visible to us, what it loads after sees what we stored. This is why recording needs
   none itself. */
static void barrier_everywhere(void)
{
    if (syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    if (syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    /* Refused, by an old kernel or a sandbox: a store is visible after far less. */
    const struct timespec ten_milliseconds = {0, 10000000};
    nanosleep(&ten_milliseconds, NULL);
}

void kymo__switch_set(uint32_t number)
{
    kymo__store_relaxed(&kymo__page->pid, (uint32_t)getpid());
    __atomic_store_n(&kymo__page->session, number, __ATOMIC_SEQ_CST);
    if (number)
        syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    else
        barrier_everywhere();
}

int kymo__switch_forked(void)
{
    return kymo__page != &fallback && kymo__load_relaxed(&kymo__page->pid) != (uint32_t)getpid();
}
