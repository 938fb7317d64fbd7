/* threads.c — see threads.h.

   One thread asks at a time. Each thread asked has a one-word place that holds both the question
   and the answer:

       question (24 bits) | state (8 bits) | stack (32 bits)

   A thread that answers late, when the question is over, finds another question in its place and
   discards its answer; places are never freed.

   The signal is one that is ignored by default, so that a late one, or one still pending for a
   thread that blocks it, does no harm. */
#include "threads.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "atomic.h"
#include "interrupted.h"
#include "mapped.h"
#include "modules.h"
#include "procfs.h"
#include "resume.h"

enum {
    MOST = 1 << 16,    /* most threads that can be asked */
    QUIET_MS = 300,    /* after this long without an answer, the missing threads are silent */
    BLOCKED_MS = 20,   /* a thread may block the signal only briefly */
    OTHER_ASKER_S = 3, /* a crash waits at most this long for another asker */
    BUSY_TURNS = 20,   /* a thread that was in a walk is asked again */
    QUESTION_BITS = 24,
};

enum state { UNASKED, ASKED, ANSWERED, SILENT, GONE };

struct place {
    uint64_t word;
    uint32_t tid, tries;
    struct kymo_resumed resumed; /* the system call it was in when asked */
};

static struct place *places;            /* MOST of them; created once, never freed */
static struct kymo_thread_stack *given; /* as many: the results lent out */
static uint32_t *listed;                /* as many: the system's list */
static uint32_t question;
static uint32_t parts_asked;
static uint32_t answers; /* number of answers; futex */
static void (*also)(void *context);

/* The asker: process and thread. A forked child finds its parent here. */
static uint64_t asker;

static uint64_t word_of(enum state state, kymo_stack stack)
{
    uint64_t number = question & ((1u << QUESTION_BITS) - 1);
    return number << 40 | (uint64_t)state << 32 | stack;
}

static enum state state_of(uint64_t word)
{
    return (enum state)((word >> 32) & 0xff);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- answering */

static void on_asked(int number, siginfo_t *info, void *context)
{
    (void)number;
    int saved = errno;
    uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
    struct place *all = kymo__load_acquire(&places);
    if (info->si_code != SI_QUEUE || info->si_pid != getpid() || !all)
        return; /* not ours, and ignored by default */
    struct place *place = &all[value & (MOST - 1)];
    uint64_t asked = value >> 16 << 40 | (uint64_t)ASKED << 32;
    struct kymo_resumed resumed = place->resumed; /* copy it before someone asks again */
    void (*act)(void *) = kymo__load_acquire(&also);
    if (act)
        act(context);
    if (kymo__load_acquire(&place->word) == asked) {
        kymo_stack stack =
            kymo__stack_capture_context(kymo__load_relaxed(&parts_asked), context, NULL);
        uint64_t expected = asked;
        uint64_t answer = (asked ^ (uint64_t)(ASKED ^ ANSWERED) << 32) | stack;
        if (!kymo__swap_if(&place->word, &expected, answer))
            kymo_stack_release(stack);
    }
    kymo__resume_call(&resumed, context);
    kymo__add_release(&answers, 1u);
    syscall(SYS_futex, &answers, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

/* ---- the signal */

static bool is_unused(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) &&
           (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_asked;
}

/* Install our handler for an unused signal, and store the old action in BEFORE. Returns 0 if there
   is none. */
static int signal_take(struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = on_asked,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    /* A crash while answering is reported by its own handler. */
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
    for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
        sigdelset(&action.sa_mask, fatal[i]);
    for (int i = -2; i < SIGRTMAX - SIGRTMIN - 2; i++) {
        int number = i == -2 ? SIGURG : i == -1 ? SIGWINCH : SIGRTMAX - 1 - i;
        if (sigaction(number, NULL, before) < 0)
            continue;
        if (is_ours(before)) /* left by a question that a crash or fork cut short */
            *before = (struct sigaction){.sa_handler = SIG_DFL};
        if (is_unused(before) && sigaction(number, &action, NULL) == 0)
            return number;
    }
    return 0;
}

/* Our signals that are still pending must not arrive when the default would end the process:
   ignoring the signal briefly discards them. */
static void signal_return(int number, const struct sigaction *before)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction now;
    if (sigaction(number, NULL, &now) < 0 || !is_ours(&now))
        return;
    if (number != SIGURG && number != SIGWINCH)
        sigaction(number, &ignore, NULL);
    sigaction(number, before, NULL);
}

/* ---- asking */

static bool ready(void)
{
    if (!given)
        given = kymo__pages_new(sizeof(*given) * MOST);
    if (!listed)
        listed = kymo__pages_new(sizeof(*listed) * MOST);
    if (!places)
        kymo__store_release(&places, (struct place *)kymo__pages_new(sizeof(*places) * MOST));
    return given && listed && places;
}

static uint64_t self(void)
{
    return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
}

/* Become the asker. */
static int become_asker(bool crashed)
{
    const struct timespec moment = {0, 1000000};
    uint64_t me = self();
    int64_t end = now_ms() + OTHER_ASKER_S * 1000;
    for (;;) {
        uint64_t other = 0;
        if (kymo__swap_if(&asker, &other, me))
            return 0;
        bool mine = other == me, gone = other >> 32 != me >> 32;
        if (mine && !crashed)
            return -EDEADLK;
        if ((mine || gone || (crashed && now_ms() > end)) && kymo__swap_if(&asker, &other, me))
            return 0;
        nanosleep(&moment, NULL);
    }
}

static bool send_request(int number, size_t index)
{
    struct place *place = &places[index];
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    uint64_t asked = word_of(ASKED, 0);
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)(asked >> 40 << 16 | index);
    kymo__resume_note(&place->resumed, place->tid);
    kymo__store_release(&place->word, asked);
    place->tries++;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)place->tid, number, &info) == 0;
}

/* Ask the thread at INDEX, or find out why that is pointless. */
static void ask_thread(int number, size_t index)
{
    struct place *place = &places[index];
    struct kymo_task task;
    if (!kymo__task_look(place->tid, &task)) {
        task = (struct kymo_task){0}; /* without /proc */
        if (syscall(SYS_tgkill, getpid(), (pid_t)place->tid, 0) != 0)
            task.state = 'Z';
    }
    if (task.state == 'Z' || task.state == 'X')
        kymo__store_relaxed(&place->word, word_of(GONE, 0));
    else if (!number || strchr("Tt", task.state ? task.state : '-') ||
             task.blocked >> (number - 1) & 1)
        kymo__store_relaxed(&place->word, word_of(UNASKED, 0));
    else if (!send_request(number, index))
        kymo__store_relaxed(&place->word, word_of(errno == ESRCH ? GONE : SILENT, 0));
}

/* Wait briefly for more answers than SEEN. */
static void wait_for_more(uint32_t seen)
{
    const struct timespec moment = {0, 5000000};
    syscall(SYS_futex, &answers, FUTEX_WAIT_PRIVATE, seen, &moment, NULL, 0);
}

/* Check all threads but the calling one; with AGAIN, ask those that blocked the signal again.
   Returns how many have not answered; *BLOCKED is how many cannot be asked. */
static size_t look_round(int number, size_t count, uint32_t me, size_t *blocked)
{
    size_t missing = 0;
    *blocked = 0;
    for (size_t i = 0; i < count; i++) {
        struct place *place = &places[i];
        uint64_t word = kymo__load_acquire(&place->word);
        if (place->tid == me)
            continue;
        bool was_busy = state_of(word) == ANSWERED && !(uint32_t)word && place->tries < BUSY_TURNS;
        if (state_of(word) == UNASKED || was_busy)
            ask_thread(number, i);
        word = kymo__load_acquire(&place->word);
        missing += state_of(word) == ASKED;
        *blocked += state_of(word) == UNASKED;
    }
    return missing;
}

static void collect_answers(int number, size_t count, uint32_t me)
{
    int64_t began = now_ms(), heard = began;
    size_t left = SIZE_MAX, blocked;
    for (;;) {
        uint32_t seen = kymo__load_acquire(&answers);
        size_t missing = look_round(number, count, me, &blocked);
        int64_t now = now_ms();
        if (missing < left)
            heard = now;
        left = missing;
        if ((!missing && (!blocked || now - began > BLOCKED_MS)) || now - heard > QUIET_MS)
            return;
        wait_for_more(seen);
    }
}

/* The answer of thread I; later ones are ignored. */
static struct kymo_thread_stack verdict(size_t i)
{
    struct place *place = &places[i];
    uint64_t word = kymo__load_acquire(&place->word);
    while (state_of(word) == ASKED && !kymo__swap_if(&place->word, &word, word_of(SILENT, 0)))
        ;
    enum state state = state_of(word);
    return (struct kymo_thread_stack){
        .tid = place->tid,
        .answer = state == ANSWERED ? KYMO_THREAD_ANSWERED
                  : state == GONE   ? KYMO_THREAD_GONE
                                    : KYMO_THREAD_SILENT,
        .stack = state == ANSWERED ? (uint32_t)word : 0,
    };
}

int kymo__threads_ask(unsigned parts, const void *context, const struct kymo_thread_stack **asked)
{
    int rc = become_asker(context != NULL);
    if (rc < 0)
        return rc;
    if (!ready()) {
        kymo__threads_done();
        return -ENOMEM;
    }
    uint32_t me = (uint32_t)asker;
    question++;
    kymo__store_relaxed(&parts_asked, parts);
    size_t count = kymo__tasks_list(listed, MOST);
    count = count < MOST ? count : MOST;
    for (size_t i = 0; i < count; i++) {
        places[i].tid = listed[i];
        places[i].tries = 0;
        kymo__store_relaxed(&places[i].word, word_of(UNASKED, 0));
    }
    struct sigaction before;
    int number = signal_take(&before);
    collect_answers(number, count, me);
    for (size_t i = 0; i < count; i++)
        given[i] = verdict(i);
    if (number)
        signal_return(number, &before);
    for (size_t i = 0; i < count; i++)
        if (given[i].tid == me) {
            given[i].stack = context ? kymo__stack_capture_context(parts, context, NULL)
                                     : kymo_stack_capture(parts, 0);
            given[i].answer = KYMO_THREAD_ANSWERED;
        }
    *asked = given;
    return (int)count;
}

void kymo__threads_done(void)
{
    kymo__store_release(&asker, UINT64_C(0));
}

void kymo__threads_also(void (*act)(void *context))
{
    kymo__store_release(&also, act);
}

int kymo_stack_capture_threads(unsigned parts, struct kymo_thread_stack *threads, size_t capacity)
{
    const struct kymo_thread_stack *asked;
    kymo__modules_refresh();
    int count = kymo__threads_ask(parts, NULL, &asked);
    if (count < 0)
        return count;
    for (size_t i = 0; i < (size_t)count; i++)
        if (i < capacity)
            threads[i] = asked[i];
        else
            kymo_stack_release(asked[i].stack);
    kymo__threads_done();
    return count;
}
