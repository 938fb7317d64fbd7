/* tick.c — see tick.h.

   The handler may interrupt its thread anywhere: inside malloc, under any lock, in the middle of
   a marking call. It takes no lock, allocates nothing and calls no function that might. A sample
   goes into the thread's lane like any other record, and so survives a kill; what this needs is
   prepared beforehand (kymo__lane_prepare) or available without waiting. The stack's id also
   goes to the desk's thread, which writes its definition to the capture. */
#include "tick.h"

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "interrupted.h"
#include "laneset.h"
#include "local.h"
#include "sampler_parts.h"
#include "stackdesk.h"
#include "switch.h"
#include "timers.h"

static struct sigaction before; /* the previous action of the signal; changed under the life lock */

/* The timer or clock that sent INFO; NULL: none of ours. */
static struct kymo_timed *timed_of(const siginfo_t *info)
{
    if (!kymo__timed)
        return NULL;
    if (info->si_code == SI_TIMER) {
        struct kymo_timed *timed = info->si_value.sival_ptr;
        return timed >= kymo__timed && timed < kymo__timed + KYMO__TIMED_MOST ? timed : NULL;
    }
    if (info->si_code <= 0 || (unsigned)info->si_fd >= KYMO__TIMED_MOST)
        return NULL;
    uint32_t place = kymo__load_relaxed(&kymo__timed_by_fd[info->si_fd]);
    return place ? &kymo__timed[place - 1] : NULL;
}

/* The lane for a sample that TIMED requested. NULL when it is not for this thread: a deleted
   timer may have left a signal pending, and its slot may belong to another thread by now. */
static struct kymo_lane *lane_for(const struct kymo_timed *timed)
{
    struct kymo_lane *prepared = kymo__load_acquire(&timed->lane);
    uint32_t session = kymo__load_acquire(&timed->session);
    if (!session || session != kymo__switch_now() ||
        kymo__load_relaxed(&timed->tid) != kymo__tid_now())
        return NULL;
    return kymo__lane_in_signal(prepared);
}

/* How many periods a sample represents. A timer reports this. The performance counters do not:
   if several periods end in one system call, there is one signal, when it returns; the thread's
   CPU time gives the number. 0 for signals that were pending for a while: the first of them
   counted for all. */
static uint32_t periods_of(struct kymo_timed *timed, const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return 1 + (info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    int64_t period = kymo__load_relaxed(&timed->period);
    int64_t ran = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    int64_t covered = kymo__load_relaxed(&timed->covered);
    int64_t periods = (ran - covered + period / 2) / period;
    if (periods == 0)
        periods = 1;
    /* False if the slot has just been given to another thread. */
    bool mine = periods > 0 && kymo__swap_if(&timed->covered, &covered, covered + periods * period);
    return mine ? (uint32_t)periods : 0;
}

static void record_sample(struct kymo_lane *lane, kymo_stack stack, uint64_t ticks,
                          uint32_t periods)
{
    struct kymo_record *at = kymo__lane_claim_in_signal(lane, 2);
    if (!at) {
        kymo_stack_release(stack);
        return;
    }
    /* Claimed: kymo_stop leaves the session in place until it is released. */
    struct kymo_sampler *sampler = ((struct kymo_local *)lane)->home->sampler;
    if (stack && !kymo__desk_give(sampler->desk, stack)) {
        kymo_lane_drop(lane, at, 1, KYMO_GAP_BUDGET);
        return;
    }
    kymo_lane_store(at, ticks, kymo_word(KYMO_SAMPLE, (unsigned)sampler->clock, 0));
    kymo_lane_store(at + 1, (uint64_t)periods << 32 | stack, KYMO_VALUE_WORD);
    if (kymo__load_relaxed(&((struct kymo_local *)lane)->undefined))
        kymo__desk_hurry(sampler->desk);
    kymo__add_relaxed(&sampler->samples, UINT64_C(1));
    kymo_lane_commit(lane, at + 2);
}

/* Threads may have stacks of a few kilobytes, which a capture would overflow. So a thread
   without a signal stack gets one in its first tick, which does nothing else: the context the
   handler returns to records which stack it uses. The next sample also counts for this one. */
static bool gives_stack(struct kymo_timed *timed, void *context)
{
    stack_t *stack = &((ucontext_t *)context)->uc_stack;
    if (!(stack->ss_flags & SS_DISABLE))
        return false;
    void *own = kymo__timed_take_stack(timed, kymo__tid_now());
    if (!own)
        return false;
    *stack = (stack_t){.ss_sp = own, .ss_size = kymo__load_relaxed(&timed->stack_size)};
    return true;
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)number;
    int error = errno;
    uint64_t ticks = kymo_ticks();
    struct kymo_timed *timed = timed_of(info);
    struct kymo_lane *lane = timed ? lane_for(timed) : NULL;
    if (lane) {
        uint32_t periods = kymo__load_relaxed(&timed->owed) + periods_of(timed, info);
        /* The interrupted code may be recording, or the interpreter changing its frames: then the
           next sample also counts for this one. */
        bool busy = gives_stack(timed, context) || kymo__load_relaxed(&lane->claimed) != 0 ||
                    kymo__load_relaxed(&lane->stamped) != 0;
        kymo_stack stack = 0;
        if (periods && !busy)
            stack =
                kymo__stack_capture_context(KYMO_STACK_NATIVE | KYMO_STACK_MANAGED, context, &busy);
        kymo__store_relaxed(&timed->owed, busy ? periods : 0u);
        if (periods && !busy)
            record_sample(lane, stack, ticks, periods);
    }
    errno = error;
}

static bool is_free(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_DFL;
}

/* Prefer a signal from before the real-time ones: if a thread blocks it, only one is kept
   pending, while real-time signals all queue up until no process of the user can be sent any.
   SIGURG first: it is almost unused, debuggers let it pass, and its default action is to do
   nothing. A program that resets all signals to their defaults, as daemons do, is killed by any
   other signal that is pending. SIGVTALRM is almost unused too. Not SIGPROF: other profilers use
   it, and programs that measure themselves. Nor the last real-time signal, which some debuggers
   use; from the next one down, take the first that nobody uses. */
static int choose_signal(void)
{
    if (is_free(SIGURG))
        return SIGURG;
    if (is_free(SIGVTALRM))
        return SIGVTALRM;
    for (int number = SIGRTMAX - 1; number >= SIGRTMIN; number--)
        if (is_free(number))
            return number;
    return is_free(SIGPROF) ? SIGPROF : KYMO_ESIGNALS;
}

int kymo__tick_install(void)
{
    /* Block other handlers until this one is done, except those of faults. */
    struct sigaction action = {.sa_sigaction = on_tick,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&action.sa_mask, faults[i]);
    int number = choose_signal();
    if (number > 0 && sigaction(number, &action, &before) < 0)
        return -errno;
    return number;
}

bool kymo__tick_ours(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == on_tick;
}

void kymo__tick_remove(int number)
{
    if (!kymo__tick_ours(number))
        return; /* the program's own */
    /* A signal that a thread blocks may be pending for long, and kills the process if it finds
       no handler. Ignoring the signal discards it. */
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(number, &ignore, NULL);
    sigaction(number, &before, NULL);
}

void kymo__tick_forked(int number)
{
    if (kymo__tick_ours(number))
        sigaction(number, &before, NULL);
}
