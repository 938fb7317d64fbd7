/* signals.c — signals that make a flight recorder write.

   A handler may do almost nothing, so it asks the writer thread. A handler of a signal that ends
   the process waits for the answer, up to a limit: the interrupted thread may hold a lock that
   the writer thread needs. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "busfault.h"
#include "crash.h"
#include "crashnote.h"
#include "flight.h"
#include "running.h"

enum { WAIT_MS = 5000 };

/* The previous actions of the signals that we handle; changed under the life lock. */
static struct {
    bool ours, ends;
    struct sigaction before;
} handled[NSIG];

static void wait_for_answer(void)
{
    const struct timespec moment = {0, 1000000};
    uint32_t answers = kymo__load_acquire(&kymo__flight_answers);
    kymo_flight_request();
    for (int i = 0; i < WAIT_MS && kymo__load_acquire(&kymo__flight_answers) == answers; i++)
        nanosleep(&moment, NULL);
}

static void on_signal(int number)
{
    int before = errno;
    bool recording = kymo__switch_now() != 0;
    if (recording && !handled[number].ends) {
        kymo_flight_request();
    } else {
        if (recording)
            wait_for_answer();
        kymo__crashnote_say(number);
        /* Restore the default action and raise the signal again; it arrives when the handler
           returns. A forked child comes here without waiting. */
        const struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(number, &standard, NULL);
        raise(number);
    }
    errno = before;
}

static int handle_signal(int number, bool end)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    if (number < 1 || number >= NSIG || sigaction(number, NULL, &before) < 0)
        return -EINVAL;
    /* The crash is reported first; then that handler calls ours. */
    struct sigaction *beneath = kymo__handler_beneath(number);
    if (beneath)
        before = *beneath;
    bool ours = handled[number].ours && before.sa_handler == on_signal;
    if (!ours && ((before.sa_flags & SA_SIGINFO) || before.sa_handler != SIG_DFL))
        return -EBUSY;
    handled[number].ends = end;
    if (!ours)
        handled[number].before = before;
    if (beneath)
        *beneath = action;
    else if (sigaction(number, &action, NULL) < 0)
        return -EINVAL;
    handled[number].ours = true;
    if (number == SIGSEGV || number == SIGBUS)
        kymo__crash_want_stacks();
    return 0;
}

int kymo_flight_on_signal(int number, int end)
{
    if (kymo__switch_forked())
        return KYMO_EIDLE;
    kymo__life_lock();
    const struct kymo_running *s = kymo__running;
    int rc = !s ? KYMO_EIDLE : !kymo__flight_on(s->flight) ? KYMO_ENOTFLIGHT : 0;
    if (rc == 0)
        rc = handle_signal(number, end != 0);
    kymo__life_unlock();
    return rc;
}

void kymo__signals_restore(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction now;
        if (!handled[number].ours)
            continue;
        handled[number].ours = false;
        struct sigaction *beneath = kymo__handler_beneath(number);
        if (beneath && !(beneath->sa_flags & SA_SIGINFO) && beneath->sa_handler == on_signal)
            *beneath = handled[number].before;
        if (sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == on_signal)
            sigaction(number, &handled[number].before, NULL);
    }
}
