/* midcall.c — may the calling thread be in the middle of a call that a signal interrupted? Ending the
   recording there could wait for a lock that this thread holds. */
#include <kymo/memory.h>
#include <signal.h>

#include "heaprec.h"

/* Has the program a handler for signal NUMBER? */
static bool has_handler(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 &&
           (action.sa_flags & SA_SIGINFO ||
            (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN));
}

/* After these the program's memory may be in any state. */
static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
           number == SIGABRT;
}

/* Does a handler run on this thread? While one does, its signal is blocked, unless the program wished
   otherwise. FAULTS: count only handlers of faults. */
static bool is_handling(bool faults)
{
    sigset_t blocked;
    if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0)
        return true;
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&blocked, number) == 1 && (!faults || is_fault(number)) &&
            has_handler(number))
            return true;
    return false;
}

int kymo_memory_mid_call(void)
{
    if (kymo__memory_thread.entered || kymo__memory_thread.loading || kymo__inside)
        return 1;
    /* In the sampled mode most calls of allocators are not marked. */
    return is_handling(kymo__heaprec.options.mode != KYMO_MEMORY_SAMPLED);
}
