/* The line that a process writes when a crash ends it. */
#include "fault.h"

#include <fcntl.h>

static volatile uintptr_t nowhere = 1; /* the compiler cannot see through it */

static void crash_by_fault(void)
{
    *(volatile char *)nowhere = 0;
}

static int dive(volatile char *above)
{
    volatile char room[4096];
    room[0] = *above;
    return nowhere ? dive(room) + room[0] : 0;
}

static void crash_by_overflow(void)
{
    char nothing = 0;
    dive(&nothing);
}

static void send_to_itself(void)
{
    kill(getpid(), SIGFPE);
    for (;;)
        pause();
}

static const struct {
    void (*crash)(void);
    int number;
    const char *line;
} ways[] = {
    {crash_by_fault, SIGSEGV, "kymograph: SIGSEGV ended the program; see here\n"},
    {crash_by_overflow, SIGSEGV, "kymograph: SIGSEGV ended the program; see here\n"},
    {abort, SIGABRT, "kymograph: SIGABRT ended the program; see here\n"},
    {send_to_itself, SIGFPE, "kymograph: SIGFPE ended the program; see here\n"},
};

static int said[2];

static void crash(void *arg)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    /* A sanitizer handles them itself. */
    sigaction(SIGSEGV, &standard, NULL);
    sigaction(SIGABRT, &standard, NULL);
    sigaction(SIGFPE, &standard, NULL);
    dup2(said[1], 2);
    CHECK_OK(fault_start(check_path("crashed"), 0, KYMO_HELP));
    CHECK_OK(kymo_crash_message("see here"));
    kymo_span_end(kymo_span_begin("work"));
    ways[*(const int *)arg].crash();
}

static void a_crash_writes_the_line_and_ends_the_process(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("ThreadSanitizer lets no child of a process with threads have threads");
    for (int i = 0; i < (int)(sizeof(ways) / sizeof(*ways)); i++) {
        char text[256] = "";
        CHECK_EQ(pipe2(said, O_CLOEXEC), 0);
        int status = fault_wait(fault_child(crash, &i));
        close(said[1]);
        ssize_t got = read(said[0], text, sizeof(text) - 1);
        close(said[0]);
        CHECK(got >= 0);
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), ways[i].number);
        if (getenv("KYMO_EMULATED")) /* the emulator writes a line of its own after it */
            text[strnlen(ways[i].line, sizeof(text) - 1)] = '\0';
        CHECK_STR(text, ways[i].line);
    }
}

static void note(int number)
{
    (void)number;
}

static bool handles(int number, void (*handler)(int))
{
    struct sigaction now;
    sigaction(number, NULL, &now);
    return now.sa_handler == handler;
}

static void handlers_of_the_program_stay_and_ours_go(void)
{
    const struct sigaction own = {.sa_handler = note}, standard = {.sa_handler = SIG_DFL};
    sigaction(SIGILL, &own, NULL);
    sigaction(SIGFPE, &standard, NULL);
    sigaction(SIGBUS, &standard, NULL);
    CHECK_OK(fault_start(check_path("stopped"), 0, KYMO_HELP));
    CHECK_OK(kymo_crash_message("first"));
    CHECK_OK(kymo_crash_message("second"));
    CHECK(handles(SIGILL, note));
    CHECK(!handles(SIGFPE, SIG_DFL));
    CHECK_OK(kymo_stop());
    CHECK(handles(SIGILL, note));
    CHECK(handles(SIGFPE, SIG_DFL));
    CHECK(handles(SIGBUS, SIG_DFL));
    sigaction(SIGILL, &standard, NULL);
}

static void without_a_session_there_is_nothing_to_say(void)
{
    CHECK_EQ(kymo_crash_message("nobody"), KYMO_EIDLE);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_crash_writes_the_line_and_ends_the_process),
    CHECK_CASE(handlers_of_the_program_stay_and_ours_go),
    CHECK_CASE(without_a_session_there_is_nothing_to_say),
};

CHECK_MAIN(cases)
