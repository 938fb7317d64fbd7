/* tick.c — see tick.h.

   The handler runs wherever its thread happens to be: inside malloc, under any lock, in the
   middle of a marking call. It takes no lock, allocates nothing and calls no function that might.
   A sample goes into the thread's lane like every other record, and so survives a kill; what it
   needs for that is there beforehand (kymo__lane_prepare) or can be had without waiting. The
   stack's id also goes to the sampler's thread, which says in the capture what it stands for. */
#include "tick.h"

#include <errno.h>
#include <signal.h>

#include "interrupted.h"
#include "local.h"
#include "sampler_parts.h"
#include "session.h"

struct kymo_timed *kymo__timed;
uint32_t *kymo__timed_by_fd;
static struct sigaction before; /* what the signal was handled by; changed under the life lock */

/* Which timer, or clock, has sent INFO; NULL: none of ours. */
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

/* The lane for a sample that TIMED has asked for. NULL when it is not for this thread: a timer that
   is gone may have left a signal behind, and its place may be another thread's by now. */
static struct kymo_lane *lane_for(const struct kymo_timed *timed)
{
    struct kymo_lane *prepared = kymo__load_acquire(&timed->lane);
    uint32_t session = kymo__load_acquire(&timed->session);
    if (!session || session != kymo__switch_now() ||
        kymo__load_relaxed(&timed->tid) != kymo__tid_now())
        return NULL;
    return kymo__lane_in_signal(prepared);
}

/* How many periods a sample stands for. A timer says it. The clock of the performance counters
   does not: it runs in the program only, so that what the kernel did for it since the last sample
   is added to this one. 0 for those that waited until they could be heard: the first of them stood
   for all. */
static uint32_t periods_of(struct kymo_timed *timed, const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return 1 + (info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    int64_t period = kymo__load_relaxed(&timed->period);
    int64_t ran = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    int64_t told = kymo__load_relaxed(&timed->told);
    int64_t periods = (ran - told + period / 2) / period;
    if (periods == 0)
        periods = 1;
    /* Not when the place has become another thread's just now. */
    bool mine = periods > 0 && kymo__swap_if(&timed->told, &told, told + periods * period);
    return mine ? (uint32_t)periods : 0;
}

static void record(struct kymo_lane *lane, kymo_stack stack, uint64_t ticks, uint32_t periods)
{
    struct kymo_record *at = kymo__lane_claim_in_signal(lane, 2);
    if (!at) {
        kymo_stack_release(stack);
        return;
    }
    /* Claimed: until it is given back, kymo_stop leaves the session as it is. */
    struct kymo_sampler *sampler = kymo__session->sampler;
    if (stack && !kymo__idring_give(&sampler->ring, stack)) {
        kymo_stack_release(stack);
        kymo_lane_drop(lane, at, 1, KYMO_GAP_BUDGET);
        return;
    }
    kymo_lane_store(at, ticks, kymo_word(KYMO_SAMPLE, (unsigned)sampler->clock, 0));
    kymo_lane_store(at + 1, (uint64_t)periods << 32 | stack, KYMO_VALUE_WORD);
    bool hurry = kymo__load_relaxed(&((struct kymo_local *)lane)->untold) ||
                 kymo__idring_half_full(&sampler->ring);
    if (hurry && !kymo__exchange(&sampler->hurried, 1u))
        sem_post(&kymo__sampler_wake);
    kymo__add_relaxed(&sampler->samples, UINT64_C(1));
    kymo_lane_commit(lane, at + 2);
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
        /* What the signal interrupted may be recording: then the next sample stands for this
           one too. */
        bool busy = kymo__load_relaxed(&lane->claimed) != 0;
        kymo__store_relaxed(&timed->owed, busy ? periods : 0u);
        if (periods && !busy)
            record(lane,
                   kymo__stack_capture_context(KYMO_STACK_NATIVE | KYMO_STACK_MANAGED, context),
                   ticks, periods);
    }
    errno = error;
}

static bool is_free(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_DFL;
}

/* Best one from before the real-time signals: of those, a thread that blocks them keeps one, and of
   these as many as were sent, until no process of the user can be sent any. SIGVTALRM has all but
   no use of its own, and debuggers let it pass. Not SIGPROF: other profilers use it, and programs
   that measure themselves. Nor the last of the real-time signals, which is that of some debuggers;
   from the next one down, the first that is nobody's. */
static int choose(void)
{
    if (is_free(SIGVTALRM))
        return SIGVTALRM;
    for (int number = SIGRTMAX - 1; number >= SIGRTMIN; number--)
        if (is_free(number))
            return number;
    return is_free(SIGPROF) ? SIGPROF : -KYMO_ESIGNALS;
}

int kymo__tick_install(void)
{
    /* Other handlers wait until this one is done, but for those of faults. */
    struct sigaction action = {.sa_sigaction = on_tick,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&action.sa_mask, faults[i]);
    int number = choose();
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
    /* A signal that a thread blocks may be on its way for long, and ends the process if it finds
       no handler. Ignoring a signal discards those. */
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(number, &ignore, NULL);
    sigaction(number, &before, NULL);
}

void kymo__tick_forked(int number)
{
    if (kymo__tick_ours(number))
        sigaction(number, &before, NULL);
}
