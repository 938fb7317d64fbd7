/* snapsignal.c — a signal that takes a snapshot. The handler only asks one of Kymograph's threads, so
   it works while the program waits in C. */
#include "heap.h"

#include <errno.h>
#include <signal.h>

static int handled; /* the signal, or 0 */
static struct sigaction before;

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    kymo_memory_snapshot_request();
    errno = saved;
}

static bool is_ours(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == on_signal;
}

void kymo__snapsignal_restore(void)
{
    if (handled && is_ours(handled))
        sigaction(handled, &before, NULL);
    handled = 0;
}

int kymo__snapsignal_set(int number)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK}, now;
    if (handled == number && is_ours(number))
        return 0;
    kymo__snapsignal_restore();
    sigemptyset(&action.sa_mask);
    if (number < 1 || number >= NSIG || sigaction(number, NULL, &now) < 0)
        return -EINVAL;
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
        return -EBUSY;
    if (sigaction(number, &action, NULL) < 0)
        return -EINVAL;
    before = now;
    handled = number;
    return 0;
}
