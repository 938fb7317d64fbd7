/* resume.c — see resume.h. */
#include "resume.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "procfs.h"

/* Calls that this C library's headers may lack; their numbers are the same everywhere. */
enum { EPOLL_PWAIT2 = 441, FUTEX_WAITV = 449, IO_URING_ENTER = 426, IO_URING_TIMEOUT = 8 };

/* Can a call that failed with EINTR be repeated? Yes if it has no timeout or an absolute one, or if
   the system has updated the timeout. For sleeps, the duration argument is replaced by the rest. */
static bool can_resume(uint64_t number, uint64_t a[6])
{
    switch (number) {
#ifdef SYS_pause
    case SYS_pause:
#endif
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_rt_sigsuspend:
    case SYS_pselect6:
    case SYS_ppoll:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_semop:
    case FUTEX_WAITV:
        return true;
#ifdef SYS_poll
    case SYS_poll:
        return (int)a[2] < 0;
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
        return (int)a[3] < 0;
    case EPOLL_PWAIT2:
    case SYS_semtimedop:
        return !a[3];
    case SYS_rt_sigtimedwait:
        return !a[2];
    case SYS_io_getevents:
        return !a[4];
    case IO_URING_ENTER:
        return !(a[3] & IO_URING_TIMEOUT);
    case SYS_futex:
        return ((int)a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    case SYS_nanosleep:
        a[0] = a[1];
        return a[0] != 0;
    case SYS_clock_nanosleep:
        if (!(a[1] & TIMER_ABSTIME))
            a[2] = a[3];
        return a[2] != 0;
    default:
        return false;
    }
}

/* Parse the number at *TEXT, with or without 0x, and advance *TEXT. */
static uint64_t number_at(const char **text)
{
    uint64_t number = 0;
    while (**text == ' ')
        ++*text;
    unsigned base = 10;
    if (strncmp(*text, "0x", 2) == 0) {
        base = 16;
        *text += 2;
    }
    for (;; ++*text)
        if (**text >= '0' && **text <= '9')
            number = number * base + (uint64_t)(**text - '0');
        else if (base == 16 && **text >= 'a' && **text <= 'f')
            number = number * base + (uint64_t)(**text - 'a' + 10);
        else
            return number;
}

void kymo__resume_note(struct kymo_resumed *resumed, uint32_t tid)
{
    char text[256];
    resumed->is_one = 0;
    /* "running"; "-1 …" outside any call; or the call, six arguments, sp and pc. */
    if (!kymo__task_text(tid, "syscall", text, sizeof(text)) || *text < '0' || *text > '9')
        return;
    const char *at = text;
    resumed->number = number_at(&at);
    for (unsigned i = 0; i < 6; i++)
        resumed->arguments[i] = number_at(&at);
    resumed->sp = number_at(&at);
    uint64_t changed[6];
    memcpy(changed, resumed->arguments, sizeof(changed));
    resumed->is_one = can_resume(resumed->number, changed);
}

#if defined(__x86_64__)

static const int argument_registers[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};

void kymo__resume_call(const struct kymo_resumed *resumed, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (!resumed->is_one || r[REG_RAX] != -EINTR || (uint64_t)r[REG_RSP] != resumed->sp ||
        memcmp((const void *)(r[REG_RIP] - 2), "\x0f\x05", 2) != 0)
        return;
    uint64_t arguments[6];
    for (unsigned i = 0; i < 6; i++) {
        arguments[i] = (uint64_t)r[argument_registers[i]];
        if (arguments[i] != resumed->arguments[i])
            return;
    }
    can_resume(resumed->number, arguments);
    for (unsigned i = 0; i < 6; i++)
        r[argument_registers[i]] = (greg_t)arguments[i];
    r[REG_RAX] = (greg_t)resumed->number;
    r[REG_RIP] -= 2;
}

#elif defined(__aarch64__)

void kymo__resume_call(const struct kymo_resumed *resumed, void *context)
{
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    static const uint32_t call = 0xd4000001;
    if (!resumed->is_one || (int64_t)m->regs[0] != -EINTR || m->sp != resumed->sp ||
        m->regs[8] != resumed->number || memcmp((const void *)(m->pc - 4), &call, 4) != 0)
        return;
    uint64_t arguments[6];
    arguments[0] = resumed->arguments[0]; /* its register has the result */
    for (unsigned i = 1; i < 6; i++) {
        arguments[i] = m->regs[i];
        if (arguments[i] != resumed->arguments[i])
            return;
    }
    can_resume(resumed->number, arguments);
    for (unsigned i = 0; i < 6; i++)
        m->regs[i] = arguments[i];
    m->pc -= 4;
}

#else

void kymo__resume_call(const struct kymo_resumed *resumed, void *context)
{
    (void)resumed;
    (void)context;
}

#endif
