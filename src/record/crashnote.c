/* crashnote.c — see crashnote.h.

   A crashed process cannot print a summary, and a user who sees only "Segmentation fault" does not
   know that there is a capture. The handler writes one line that was prepared earlier, and then
   the signal does what it would have done. It is installed only where a signal has its default
   action: a program that handles a fault itself may survive it. A handler that the program installs
   later replaces ours. */
#include "crashnote.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc.h"
#include "busfault.h"
#include "rawstacks.h"
#include "rawtext.h"
#include "running.h"
#include "signalstack.h"

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define FATALS (sizeof(fatal) / sizeof(*fatal))

/* Changed under the life lock, and read by the handler. */
static char *message; /* NULL: there is none */
static pid_t process;
static bool ours[NSIG];

static uint32_t said;

void kymo__crashnote_say(int number)
{
    const char *text = kymo__load_acquire(&message);
    /* A child of fork or vfork has no capture. */
    if (!text || getpid() != process || kymo__exchange(&said, 1u))
        return;
    static struct kymo_rawtext line; /* too large for a signal stack */
    kymo__rawtext_init(&line, 2);
    kymo__raw_text(&line, "kymograph: ");
    kymo__raw_text(&line, kymo__signal_name(number));
    kymo__raw_text(&line, " ended the program; ");
    kymo__raw_text(&line, text);
    kymo__raw_text(&line, "\n");
    kymo__rawtext_flush(&line);
}

/* A fault recurs when the handler returns; a signal that was sent is sent again. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    int saved = errno;
    kymo__crashnote_say(number);
    sigaction(number, &standard, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_crash;
}

/* Set the action of NUMBER, below the handlers of ours that run first. */
static void set_action(int number, const struct sigaction *action)
{
    struct sigaction *beneath = kymo__handler_beneath(number);
    if (beneath)
        *beneath = *action;
    else
        sigaction(number, action, NULL);
}

static bool find_action(int number, struct sigaction *action)
{
    const struct sigaction *beneath = kymo__handler_beneath(number);
    if (beneath)
        *action = *beneath;
    return beneath || sigaction(number, NULL, action) == 0;
}

static void handle_signal(int number)
{
    struct sigaction now, action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    if (!find_action(number, &now))
        return;
    ours[number] = is_ours(&now); /* inherited by fork */
    if (ours[number] || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
        return;
    set_action(number, &action);
    ours[number] = true;
}

int kymo_crash_message(const char *text)
{
    if (kymo__switch_forked())
        return KYMO_EIDLE;
    char *copy = kymo__alloc_text(text, strlen(text));
    if (!copy)
        return -ENOMEM;
    kymo__life_lock();
    int rc = kymo__running ? 0 : KYMO_EIDLE;
    if (rc == 0) {
        char *before = message;
        process = getpid();
        kymo__store_relaxed(&said, 0u);
        kymo__store_release(&message, copy);
        copy = before;
        /* For the handler after a stack overflow. */
        kymo__signalstack_use();
        for (size_t i = 0; i < FATALS; i++)
            handle_signal(fatal[i]);
    }
    kymo__life_unlock();
    kymo__free(copy);
    return rc;
}

void kymo__crashnote_end(void)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction now;
    for (size_t i = 0; i < FATALS; i++) {
        if (ours[fatal[i]] && find_action(fatal[i], &now) && is_ours(&now))
            set_action(fatal[i], &standard);
        ours[fatal[i]] = false;
    }
    /* The text stays allocated: a handler may be reading it. */
    kymo__store_release(&said, 1u);
}
