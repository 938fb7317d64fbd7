/* crash.c — report the stacks of all threads when a signal ends the process: kymo_crash_stacks.

   The process is broken when the handler runs: the heap may be damaged, and any lock may be held,
   even by the thread that crashed. So the handler uses only system calls and memory that was set
   aside earlier. It writes raw text (rawstacks.h) into a memory file, runs the program kymograph in
   a separate process to read and print it, and waits for that process. A second crash finds its
   signal blocked, which ends the process at once.

   Afterwards the signal is handled as it would have been without us. A fault recurs when its
   instruction is retried; any other signal is sent again. */
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <kymo/stackdump.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "atomic.h"
#include "crashprogram.h"
#include "late.h"
#include "mapped.h"
#include "modules.h"
#include "rawstacks.h"
#include "rawtext.h"
#include "signalstack.h"
#include "threads.h"

enum {
    WAIT_MS = 10000,       /* limit for the printing program */
    OTHER_WAIT_MS = 15000, /* how long a second thread that crashes waits for the first report */
    CHILD_STACK = 64 << 10,
};

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
#define FATALS (sizeof(fatal) / sizeof(*fatal))

static struct {
    bool ours;
    struct sigaction before;
} handled[NSIG]; /* changed by kymo_crash_stacks and the handler */

static uint32_t is_on;
static uint32_t stacks_wanted;                   /* 1: kymo__crash_want_stacks was called */
static const struct kymo_crash_program *program; /* NULL: there is none */
static char *child_stack;
static bool (*repair_bus)(const siginfo_t *); /* see kymo__crash_repair_bus */

static struct kymo_rawtext text;
static uint64_t reporter; /* process and thread that is writing the report */
static uint32_t reported; /* 1: the report is done */

static void sleep_ms(long ms)
{
    const struct timespec moment = {0, ms * 1000000};
    nanosleep(&moment, NULL);
}

/* ---- the printing program */

struct child {
    int raw;
};

static int child_main(void *arg)
{
    const struct child *child = arg;
    sigset_t none;
    sigemptyset(&none);
    if (dup2(child->raw, 0) < 0 || dup2(2, 1) < 0)
        _exit(127);
    syscall(436, 3, ~0u, 0); /* close_range: what the crashed program had open */
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(program->path, program->arguments, program->environment);
    _exit(127);
}

/* The child shares our memory until it runs another program: copying the memory of a large
   process would take long. All signals are blocked meanwhile, so no handler runs in it. */
static bool print_by_program(int raw)
{
    if (!program || !child_stack || lseek(raw, 0, SEEK_SET) < 0)
        return false;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    struct child child = {.raw = raw};
    int pid = clone(child_main, child_stack + CHILD_STACK, CLONE_VM | CLONE_VFORK, &child);
    int status = 0, found = 0;
    for (int i = 0; pid > 0 && i < WAIT_MS / 2; i++) {
        found = waitpid(pid, &status, WNOHANG | __WALL);
        if (found != 0)
            break;
        sleep_ms(2);
    }
    if (pid > 0 && found == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, __WALL);
        found = -1;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return found > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void print_raw(int raw)
{
    kymo__raw_text(&text,
                   "kymograph: the program kymograph could not be run to name the functions; "
                   "'kymograph stacks FILE' does so with these lines in a file:\n");
    kymo__rawtext_flush(&text);
    lseek(raw, 0, SEEK_SET);
    for (ssize_t n; (n = read(raw, text.buffer, sizeof(text.buffer))) > 0;) {
        text.used = (size_t)n;
        if (kymo__rawtext_flush(&text) < 0)
            return;
    }
}

/* ---- the report */

static void say_what(const struct kymo_crash *crash)
{
    kymo__rawtext_init(&text, 2);
    kymo__raw_text(&text, "kymograph: ");
    kymo__raw_text(&text, kymo__signal_name(crash->number));
    kymo__raw_text(&text, " (");
    kymo__raw_text(&text, kymo__signal_meaning(crash->number));
    kymo__raw_text(&text, ") in thread ");
    kymo__raw_number(&text, (uint64_t)syscall(SYS_gettid));
    kymo__raw_text(&text, "\n");
    kymo__rawtext_flush(&text);
}

/* A memory file whose descriptor is not that of a standard stream. */
static int raw_open(void)
{
    int fd = memfd_create("kymograph-crash", MFD_CLOEXEC);
    int higher = fd >= 0 && fd < 3 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    return higher >= 0 ? higher : fd;
}

static void report_crash(const struct kymo_crash *crash)
{
    say_what(crash);
    int raw = raw_open();
    kymo__rawtext_init(&text, raw < 0 ? 2 : raw);
    int rc = kymo__rawstacks_write(&text, crash, NULL, 0);
    kymo__rawtext_init(&text, 2);
    if (rc < 0) {
        kymo__raw_text(&text, "kymograph: the stacks could not be captured\n");
        kymo__rawtext_flush(&text);
    } else if (raw >= 0 && !print_by_program(raw)) {
        print_raw(raw);
    }
    if (raw >= 0)
        close(raw);
}

/* Should this thread write the report? Another thread that crashes meanwhile waits. */
static bool begin_report(void)
{
    uint64_t me = (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
    uint64_t other = kymo__load_acquire(&reporter);
    if (other >> 32 != me >> 32) { /* nobody, or the parent of this process */
        if (kymo__swap_if(&reporter, &other, me)) {
            kymo__store_release(&reported, 0u);
            return true;
        }
    }
    for (int i = 0; other != me && !kymo__load_acquire(&reported) && i < OTHER_WAIT_MS; i++)
        sleep_ms(1);
    return false;
}

static void on_crash(int number, siginfo_t *info, void *context);

static bool is_ours(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == on_crash;
}

static void hand_on(int number, siginfo_t *info)
{
    if (!is_ours(number))
        return; /* another handler called ours, and continues itself */
    sigaction(number, &handled[number].before, NULL);
    if (info->si_code > 0 && number != SIGTRAP && number != SIGSYS)
        return; /* the faulting instruction is retried */
    pid_t tid = (pid_t)syscall(SYS_gettid);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, number, info) != 0)
        syscall(SYS_tgkill, getpid(), tid, number);
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool (*repair)(const siginfo_t *) = kymo__load_acquire(&repair_bus);
    if (number == SIGBUS && repair && repair(info)) {
        errno = saved;
        return; /* the program continues */
    }
    const struct kymo_crash crash = {.number = number, .info = info, .context = context};
    if (begin_report()) {
        report_crash(&crash);
        kymo__store_release(&reported, 1u);
    }
    hand_on(number, info);
    errno = saved;
}

/* ---- on and off */

/* A thread that is asked for its stack gets an alternate signal stack, if it has none: the
   context its handler returns to records which one it uses. */
static void give_stack(void *context)
{
    stack_t *stack = &((ucontext_t *)context)->uc_stack;
    if (stack->ss_flags & SS_DISABLE)
        kymo__signalstack_new(stack);
}

static void handle_signal(int number)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;
    sigfillset(&action.sa_mask);
    if (is_ours(number) || sigaction(number, NULL, &before) < 0)
        return;
    bool is_default = !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL;
    /* A program that handles these signals itself does not use them for crashes. */
    if (!is_default && (number == SIGSYS || number == SIGTRAP))
        return;
    handled[number].before = before;
    handled[number].ours = sigaction(number, &action, NULL) == 0;
}

static void unhandle(int number)
{
    if (handled[number].ours && is_ours(number))
        sigaction(number, &handled[number].before, NULL);
    handled[number].ours = false;
}

static int switch_on(const char *path)
{
    const struct kymo_crash_program *found = NULL;
    int rc = kymo__crash_program_find(path, &found);
    if (rc < 0)
        return rc;
    kymo__store_release(&program, found);
    if (!child_stack)
        child_stack = kymo__pages_new(CHILD_STACK);
    kymo__late_prepare();
    kymo__store_release(&is_on, 1u);
    kymo__crash_thread_begins();
    kymo__threads_also(give_stack);
    /* There may be no memory left at the crash: ask once now, to set up what captures need. */
    const unsigned parts = KYMO_STACK_NATIVE | KYMO_STACK_MANAGED | KYMO_STACK_NAMED;
    struct kymo_thread_stack mine;
    int count = kymo_stack_capture_threads(parts, &mine, 1);
    if (count > 0)
        kymo_stack_release(mine.stack);
    rc = kymo__rawstacks_prepare();
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < FATALS; i++)
        handle_signal(fatal[i]);
    return 0;
}

int kymo_crash_stacks(int on, const char *path)
{
    static uint32_t busy;
    while (kymo__exchange(&busy, 1u))
        sched_yield();
    int rc = 0;
    if (on) {
        rc = switch_on(path);
    } else {
        kymo__store_release(&is_on, 0u);
        kymo__threads_also(NULL);
        for (size_t i = 0; i < FATALS; i++)
            unhandle(fatal[i]);
    }
    kymo__store_release(&busy, 0u);
    return rc;
}

struct sigaction *kymo__crash_beneath(int number)
{
    return handled[number].ours && is_ours(number) ? &handled[number].before : NULL;
}

void kymo__crash_thread_begins(void)
{
    if (kymo__load_relaxed(&is_on) || kymo__load_relaxed(&stacks_wanted))
        kymo__signalstack_use();
}

void kymo__crash_repair_bus(bool (*repair)(const siginfo_t *info))
{
    kymo__store_release(&repair_bus, repair);
}

void kymo__crash_want_stacks(void)
{
    kymo__store_relaxed(&stacks_wanted, 1u);
    kymo__signalstack_use();
}

void kymo__crash_thread_ends(void)
{
    kymo__signalstack_end();
}
