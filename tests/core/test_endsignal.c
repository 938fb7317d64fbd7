/* Captures of processes that a signal ends while they cannot stop the session themselves. */
#include "fault.h"

static volatile sig_atomic_t handled;

static void note(int number)
{
    (void)number;
    handled = 1;
}

static int ending(const char *name)
{
    struct kymo_capture *capture;
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(kymo_capture_info(capture, &info));
    CHECK_EQ(info.records, 2);
    kymo_close(capture);
    return (int)info.ending;
}

static void never_stop(void *arg)
{
    const struct sigaction own = {.sa_handler = note};
    bool handles = *(const bool *)arg;
    if (handles)
        sigaction(SIGTERM, &own, NULL);
    CHECK_OK(fault_start(check_path("busy"), 0, KYMO_HELP));
    kymo_span_end(kymo_span_begin("work"));
    CHECK_OK(kymo_end_on_signal(SIGTERM, 50, NULL));
    raise(SIGTERM);
    if (handles != handled)
        _exit(1);
    for (;;)
        pause();
}

static void the_capture_is_complete_and_the_signal_ends_the_process(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("ThreadSanitizer lets no child of a process with threads have threads");
    for (int i = 0; i < 2; i++) {
        bool handles = i;
        int status = fault_wait(fault_child(never_stop, &handles));
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), SIGTERM);
        CHECK_EQ(ending("busy"), KYMO_ENDED_CLEAN);
    }
}

static void stopping_in_time_prevents_it(void)
{
    const struct sigaction own = {.sa_handler = note}, standard = {.sa_handler = SIG_DFL};
    struct sigaction now;
    sigaction(SIGTERM, &own, NULL);
    CHECK_OK(fault_start(check_path("stopped"), 0, KYMO_HELP));
    CHECK_OK(kymo_end_on_signal(SIGTERM, 600000, NULL));
    handled = 0;
    raise(SIGTERM);
    CHECK_EQ(handled, 1);
    CHECK_OK(kymo_stop());
    sigaction(SIGTERM, NULL, &now);
    CHECK(now.sa_handler == note);
    sigaction(SIGTERM, &standard, NULL);
}

static void a_forked_child_ends_at_once(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("ThreadSanitizer lets no child of a process with threads have threads");
    CHECK_OK(fault_start(check_path("parent"), 0, KYMO_HELP));
    CHECK_OK(kymo_end_on_signal(SIGTERM, 600000, NULL));
    pid_t child = fork();
    if (child == 0) {
        raise(SIGTERM);
        _exit(1);
    }
    int status = fault_wait(child);
    CHECK(WIFSIGNALED(status));
    CHECK_OK(kymo_stop());
}

static void what_makes_no_sense_is_refused(void)
{
    CHECK_EQ(kymo_end_on_signal(SIGTERM, 1, NULL), KYMO_EIDLE);
    const struct kymo_options flight = {
        .size = sizeof(flight), .path = check_path("flight"), .flight_bytes = 1 << 20};
    CHECK_OK(kymo_start(&flight));
    CHECK_EQ(kymo_end_on_signal(SIGTERM, 1, NULL), -EINVAL);
    CHECK_OK(kymo_stop());
    CHECK_OK(fault_start(check_path("plain"), 0, KYMO_HELP));
    CHECK_EQ(kymo_end_on_signal(SIGKILL, 1, NULL), -EINVAL);
    CHECK_EQ(kymo_end_on_signal(0, 1, NULL), -EINVAL);
    CHECK_OK(kymo_end_on_signal(SIGTERM, 600000, NULL));
    CHECK_EQ(kymo_end_on_signal(SIGHUP, 1, NULL), -EBUSY);
    CHECK_OK(kymo_stop());
}

static const struct check_case cases[] = {
    CHECK_CASE(the_capture_is_complete_and_the_signal_ends_the_process),
    CHECK_CASE(stopping_in_time_prevents_it),
    CHECK_CASE(a_forked_child_ends_at_once),
    CHECK_CASE(what_makes_no_sense_is_refused),
};

CHECK_MAIN(cases)
