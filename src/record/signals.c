/* signals.c — signals on which a flight recorder is written.

   A handler may do next to nothing; it asks the writer thread. One that ends the process
   waits for the answer, with a limit: the thread that was interrupted may hold what the
   writer thread needs. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "crash.h"
#include "session.h"
#include "switch.h"

enum { WAIT_MS = 5000 };

/* What was there before, of those that are ours; changed under the life lock. */
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
        /* Ours no more; it comes again when this returns. In a forked child at once. */
        const struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(number, &standard, NULL);
        raise(number);
    }
    errno = before;
}

static int handle(int number, bool end)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    if (number < 1 || number >= NSIG || sigaction(number, NULL, &before) < 0)
        return -EINVAL;
    /* A crash is told first; then it is our turn. */
    struct sigaction *beneath = kymo__crash_beneath(number);
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
    return 0;
}

int kymo_flight_on_signal(int number, int end)
{
    if (kymo__switch_forked())
        return -KYMO_EIDLE;
    kymo__life_lock();
    struct kymo_session *s = kymo__session;
    int rc = !s ? -KYMO_EIDLE : !kymo__flight_on(&s->flight) ? -KYMO_ENOTFLIGHT : 0;
    if (rc == 0)
        rc = handle(number, end != 0);
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
        struct sigaction *beneath = kymo__crash_beneath(number);
        if (beneath && !(beneath->sa_flags & SA_SIGINFO) && beneath->sa_handler == on_signal)
            *beneath = handled[number].before;
        if (sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == on_signal)
            sigaction(number, &handled[number].before, NULL);
    }
}
