#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t received;

static void on_signal(int number)
{
    received = number;
}

void kymo__cli_interrupt_watch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

bool kymo__cli_interrupted(void)
{
    return received != 0;
}

void kymo__cli_interrupt_obey(void)
{
    if (!received)
        return;
    signal(received, SIG_DFL);
    raise(received);
}
