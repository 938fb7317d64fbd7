/* endsignal.c — see endsignal.h.

   An interpreter runs its signal handlers between two instructions, so a program that is inside
   a long C call does not end. The handler here passes the signal on and notes the time. If
   nobody has stopped the session when the time is up, the writer thread completes the capture
   and ends the process. */
#include "endsignal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "flight.h"
#include "pool.h"
#include "running.h"

/* Changed under the life lock, and read by the handler. */
static struct {
    int number; /* 0: no signal is handled */
    pid_t process;
    int64_t grace;
    struct sigaction before;
    char *message;
} handled;

static int64_t due; /* monotonic: when the writer thread acts; 0: the signal has not arrived */

static void end_by(int number)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigaction(number, &standard, NULL);
    syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    /* A child of vfork shares this memory. */
    if (!kymo__switch_now() || getpid() != handled.process) {
        end_by(number);
    } else {
        int64_t none = 0;
        kymo__swap_if(&due, &none, kymo__clock_ns(CLOCK_MONOTONIC) + handled.grace);
        if (handled.grace == 0)
            sem_post(&kymo__wake); /* without waiting for the next round */
        if (handled.before.sa_flags & SA_SIGINFO)
            handled.before.sa_sigaction(number, info, context);
        else if (handled.before.sa_handler != SIG_DFL && handled.before.sa_handler != SIG_IGN)
            handled.before.sa_handler(number);
    }
    errno = saved;
}

static bool is_ours(int number, struct sigaction *now)
{
    return sigaction(number, NULL, now) == 0 && (now->sa_flags & SA_SIGINFO) &&
           now->sa_sigaction == on_signal;
}

static int handle_signal(int number, unsigned grace_ms, const char *message)
{
    struct sigaction before;
    if (handled.number)
        return -EBUSY;
    if (number < 1 || number >= NSIG || sigaction(number, NULL, &before) < 0)
        return -EINVAL;
    if (is_ours(number, &before))
        before = handled.before; /* inherited by fork */
    /* Flags and mask stay as they are: whether system calls are restarted is the program's
       choice. */
    struct sigaction action = before;
    action.sa_sigaction = on_signal;
    action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    char *text = message ? kymo__alloc_text(message, strlen(message)) : NULL;
    if (message && !text)
        return -ENOMEM;
    kymo__free(handled.message);
    handled.message = text;
    handled.process = getpid();
    handled.grace = (int64_t)grace_ms * 1000000;
    handled.before = before;
    kymo__store_release(&due, (int64_t)0);
    if (sigaction(number, &action, NULL) < 0)
        return -EINVAL;
    handled.number = number;
    return 0;
}

int kymo_end_on_signal(int number, unsigned grace_ms, const char *message)
{
    if (kymo__switch_forked())
        return KYMO_EIDLE;
    kymo__life_lock();
    const struct kymo_running *s = kymo__running;
    /* A flight recorder has kymo_flight_on_signal. */
    int rc = !s ? KYMO_EIDLE : kymo__flight_on(s->flight) ? -EINVAL : 0;
    if (rc == 0)
        rc = handle_signal(number, grace_ms, message);
    kymo__life_unlock();
    return rc;
}

bool kymo__endsignal_due(void)
{
    int64_t when = kymo__load_acquire(&due);
    return when && kymo__clock_ns(CLOCK_MONOTONIC) >= when;
}

int kymo__endsignal_number(void)
{
    return handled.number;
}

_Noreturn void kymo__endsignal_die(void)
{
    const char *text = handled.message;
    for (size_t len = text ? strlen(text) : 0; len;) {
        ssize_t n = write(2, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text += n;
        len -= (size_t)n;
    }
    end_by(handled.number);
    _exit(128 + handled.number); /* not reached: nothing else ignores or blocks the signal */
}

void kymo__endsignal_forget(void)
{
    handled.number = 0;
    kymo__store_release(&due, (int64_t)0);
}

void kymo__endsignal_restore(void)
{
    struct sigaction now;
    if (handled.number && is_ours(handled.number, &now))
        sigaction(handled.number, &handled.before, NULL);
    kymo__endsignal_forget();
}
