/* busfault.c — see busfault.h. */
#include "busfault.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "atomic.h"
#include "crash.h"

static uintptr_t low = UINTPTR_MAX, high; /* the mapping, or empty. Read by the handler */
static uint32_t seen;
static bool handled; /* our handler is installed; this and the next: under the life lock */
static struct sigaction before;

bool kymo__busfault_seen(void)
{
    return kymo__load_relaxed(&seen) != 0;
}

bool kymo__busfault_mend(const siginfo_t *info)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (info->si_code <= 0 || address < kymo__load_acquire(&low) ||
        address >= kymo__load_relaxed(&high))
        return false;
    void *place = (void *)(address / page * page);
    if (mmap(place, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return false;
    kymo__store_release(&seen, 1u);
    return true;
}

/* Restore the earlier action. A fault recurs when the handler returns; a signal that was sent
   must be sent again. */
static void leave_to_system(int number, const siginfo_t *info)
{
    if (info->si_code <= 0 && before.sa_handler == SIG_IGN)
        return;
    sigaction(number, &before, NULL);
    if (info->si_code <= 0)
        raise(number);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    if (!kymo__busfault_mend(info)) {
        if (before.sa_flags & SA_SIGINFO)
            before.sa_sigaction(number, info, context);
        else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
            before.sa_handler(number);
        else
            leave_to_system(number, info);
    }
    errno = saved;
}

static bool is_ours(void)
{
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == on_bus;
}

struct sigaction *kymo__handler_beneath(int number)
{
    struct sigaction *beneath = kymo__crash_beneath(number);
    if (!beneath && number == SIGBUS && handled && is_ours())
        beneath = &before;
    return beneath;
}

int kymo__busfault_begin(const struct kymo_live *live)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    kymo__store_relaxed(&seen, 0u);
    if (!live->path)
        return 0;
    kymo__store_relaxed(&high, (uintptr_t)live->header + live->mapped);
    kymo__store_release(&low, (uintptr_t)live->header);
    sigfillset(&action.sa_mask);
    kymo__crash_repair_bus(kymo__busfault_mend);
    /* Crash reporting's handler asks us first, whichever of the two was installed first. */
    handled = !kymo__crash_beneath(SIGBUS) && sigaction(SIGBUS, &action, &before) == 0;
    return 0;
}

void kymo__busfault_end(void)
{
    struct sigaction *above = kymo__crash_beneath(SIGBUS);
    kymo__store_release(&low, UINTPTR_MAX);
    if (handled && is_ours())
        sigaction(SIGBUS, &before, NULL);
    else if (handled && above && (above->sa_flags & SA_SIGINFO) && above->sa_sigaction == on_bus)
        *above = before;
    handled = false;
}
