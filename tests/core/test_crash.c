/* A crash is told, and ends the process as it would have. */
#include "dumped.h"

#include <sys/resource.h>

/* A sanitizer would handle crashes itself, and see some before they come. */
#define CRASHES __attribute__((noinline, no_sanitize("address", "undefined")))

#if FAULT_ASAN
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:"
           "handle_sigtrap=0:use_sigaltstack=0:detect_leaks=0";
}
#endif

struct outcome {
    int status; /* as waitpid has it */
    char *text; /* what it wrote to stderr */
};

/* Run SCENE in a process of its own, with crashes told by PROGRAM. */
static struct outcome crash(void (*scene)(void), const char *program)
{
    int fd = memfd_create("stderr", 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(fd, 2);
        alarm(30);
        if (kymo_crash_stacks(1, program) != 0)
            _exit(98);
        scene();
        _exit(97);
    }
    struct outcome outcome;
    CHECK_EQ(waitpid(child, &outcome.status, 0), child);
    outcome.text = text_of(fd);
    close(fd);
    return outcome;
}

static const char *kymo_program(void)
{
    const char *path = getenv("KYMO_PROGRAM");
    if (!path || access(path, X_OK) != 0)
        CHECK_SKIP("KYMO_PROGRAM does not name the program kymograph");
    return path;
}

static void check_told(void (*scene)(void), int number, const char *const *words)
{
    struct outcome outcome = crash(scene, kymo_program());
    if (!WIFSIGNALED(outcome.status) || WTERMSIG(outcome.status) != number)
        CHECK_FAIL("status %#x, not signal %d: %s", (unsigned)outcome.status, number, outcome.text);
    for (; *words; words++)
        if (!strstr(outcome.text, *words))
            CHECK_FAIL("no '%s' in:\n%s", *words, outcome.text);
    free(outcome.text);
}

/* ---- scenes */

static volatile int zero;

CRASHES static void write_to_nowhere(void)
{
    *(volatile int *)(uintptr_t)zero = 1;
    zero = 0;
}

CRASHES static void divide_by_nothing(void)
{
#if defined(__x86_64__)
    zero = 7 / zero;
#else
    raise(SIGFPE);
#endif
}

__attribute__((noinline)) static void give_up(void)
{
    abort();
}

CRASHES static int recurse(int depth)
{
    volatile char room[512];
    room[depth % 512] = 1;
    return depth >= 0 ? recurse(depth + 1) + room[0] : 0;
}

static void overflow(void)
{
    recurse(0);
}

static void *overflow_main(void *arg)
{
    struct waiter *w = arg;
    __atomic_store_n(&w->tid, 1u, __ATOMIC_RELEASE);
    while (__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) == 1)
        fault_sleep(1000000);
    recurse(0);
    return NULL;
}

/* Of a thread that was there when crashes were switched on. */
static void overflow_of_a_thread(void)
{
    struct waiter w = {0};
    kymo_crash_stacks(0, NULL);
    pthread_create(&w.thread, NULL, overflow_main, &w);
    while (!__atomic_load_n(&w.tid, __ATOMIC_ACQUIRE))
        fault_sleep(1000000);
    kymo_crash_stacks(1, kymo_program());
    __atomic_store_n(&w.tid, 2u, __ATOMIC_RELEASE);
    pthread_join(w.thread, NULL);
}

static void *crash_main(void *arg)
{
    (void)arg;
    write_to_nowhere();
    return NULL;
}

static void two_crash(void)
{
    pthread_t other[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&other[i], NULL, crash_main, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(other[i], NULL);
}

static void *held_up(struct waiter *w)
{
    char c;
    w->result = (int)read(w->fds[0], &c, 1);
    return NULL;
}

static void crash_beside_others(void)
{
    static struct waiter w;
    waiter_start(&w, held_up);
    fault_sleep(20000000);
    write_to_nowhere();
}

static void before(int number, siginfo_t *info, void *context)
{
    (void)context;
    static const char text[] = "the handler of before\n";
    ssize_t n = write(2, text, sizeof(text) - 1);
    _exit(n > 0 && number == SIGSEGV && info->si_addr == NULL ? 42 : 43);
}

static void with_a_handler(void)
{
    const struct sigaction action = {.sa_sigaction = before, .sa_flags = SA_SIGINFO};
    kymo_crash_stacks(0, NULL);
    sigaction(SIGSEGV, &action, NULL);
    kymo_crash_stacks(1, kymo_program());
    write_to_nowhere();
}

static void switched_off(void)
{
    kymo_crash_stacks(0, NULL);
    write_to_nowhere();
}

static void in_a_child(void)
{
    pid_t child = fork();
    if (child == 0)
        write_to_nowhere();
    int status;
    waitpid(child, &status, 0);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
}

/* Switched on before the flight recorder asks for the same signal. */
static void with_a_flight_recorder(void)
{
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("flight"), .flight_bytes = 1 << 20};
    if (kymo_start(&options) != 0 || kymo_flight_on_signal(SIGSEGV, 1) != 0)
        _exit(96);
    kymo_instant("the last mark");
    write_to_nowhere();
}

static void after_a_flight_recorder(void)
{
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("stopped"), .flight_bytes = 1 << 20};
    if (kymo_start(&options) != 0 || kymo_flight_on_signal(SIGSEGV, 1) != 0 || kymo_stop() != 0)
        _exit(96);
    write_to_nowhere();
}

/* An interpreter whose frames cannot be walked, as soon as that is wanted. */
static bool is_broken;

static void broken_walk(struct kymo_managed_walk *walk)
{
    walk->count = 0;
    if (is_broken)
        write_to_nowhere();
}

static void no_keep(struct kymo_managed_walk *walk)
{
    walk->count = 0;
}

static void crash_while_crashing(void)
{
    static const struct kymo_interpreter broken = {
        .size = sizeof(broken), .name = "broken", .walk = broken_walk, .keep = no_keep};
    kymo_interpreter_register(&broken);
    is_broken = true;
    write_to_nowhere();
}

static void without_files(void)
{
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    close(0);
    close(1);
    write_to_nowhere();
}

/* ---- cases */

static void a_bad_address_is_reported(void)
{
    check_told(write_to_nowhere, SIGSEGV,
               (const char *const[]){"kymograph: SIGSEGV (segmentation fault) in thread ",
                                     ": SIGSEGV, segmentation fault, address 0x0. 1 thread",
                                     ", which crashed:\n", "  native check_main at ",
                                     "  native write_to_nowhere at ", NULL});
}

static void an_arithmetic_error_is_reported(void)
{
    check_told(divide_by_nothing, SIGFPE,
               (const char *const[]){"SIGFPE", "  native divide_by_nothing at ", NULL});
}

static void abort_is_reported(void)
{
    check_told(give_up, SIGABRT,
               (const char *const[]){": SIGABRT, aborted. ", "  native give_up at ", NULL});
}

static void a_stack_overflow_is_reported(void)
{
    check_told(overflow, SIGSEGV,
               (const char *const[]){"  native recurse at ", " repeated ", NULL});
}

static void a_stack_overflow_in_a_thread_is_reported(void)
{
    check_told(overflow_of_a_thread, SIGSEGV,
               (const char *const[]){", which crashed:\n  (calls further out",
                                     "  native recurse at ", NULL});
}

static void other_threads_are_reported_too(void)
{
    check_told(crash_beside_others, SIGSEGV,
               (const char *const[]){". 2 threads", "  native write_to_nowhere at ",
                                     "  native held_up at ", NULL});
}

static void only_one_of_two_crashes_is_reported(void)
{
    struct outcome outcome = crash(two_crash, kymo_program());
    CHECK(WIFSIGNALED(outcome.status));
    CHECK_EQ(WTERMSIG(outcome.status), SIGSEGV);
    const char *first = strstr(outcome.text, "\nProcess ");
    CHECK(first && !strstr(first + 1, "\nProcess "));
    free(outcome.text);
}

static void the_previous_handler_still_runs(void)
{
    struct outcome outcome = crash(with_a_handler, kymo_program());
    CHECK(WIFEXITED(outcome.status));
    CHECK_EQ(WEXITSTATUS(outcome.status), 42);
    const char *stacks = strstr(outcome.text, "  native write_to_nowhere at ");
    CHECK(stacks && strstr(stacks, "the handler of before\n"));
    free(outcome.text);
}

static void without_the_program_the_raw_text_is_printed(void)
{
    char program[512];
    snprintf(program, sizeof(program), "%s", check_path("no-program"));
    FILE *file = fopen(program, "w");
    fputs("this is no program\n", file);
    fclose(file);
    chmod(program, 0755);
    struct outcome outcome = crash(write_to_nowhere, program);
    CHECK_EQ(WTERMSIG(outcome.status), SIGSEGV);
    const char *raw = strstr(outcome.text, "kymo stacks 1\n");
    CHECK(raw && strstr(raw, "\nnative ") && strstr(raw, "\nend\n"));
    /* Which can be read later. */
    int from = memfd_create("raw", 0), to = memfd_create("text", 0);
    CHECK_EQ(write(from, raw, strlen(raw)), (ssize_t)strlen(raw));
    lseek(from, 0, SEEK_SET);
    CHECK_OK(kymo_stacks_print(from, to, 0));
    char *text = text_of(to);
    CHECK(strstr(text, "  native write_to_nowhere at ") != NULL);
    free(text);
    free(outcome.text);
    close(from);
    close(to);
}

static void a_file_that_is_not_a_program_is_refused(void)
{
    CHECK_EQ(kymo_crash_stacks(1, "/nowhere/kymograph"), -ENOENT);
    CHECK_EQ(kymo_crash_stacks(1, "/tmp"), -EACCES);
}

static void nothing_is_reported_when_switched_off(void)
{
    struct outcome outcome = crash(switched_off, kymo_program());
    CHECK_EQ(WTERMSIG(outcome.status), SIGSEGV);
    CHECK_STR(outcome.text, "");
    free(outcome.text);
}

static void a_forked_child_reports_its_own_crash(void)
{
    check_told(in_a_child, SIGSEGV,
               (const char *const[]){"  native write_to_nowhere at ", "native in_a_child", NULL});
}

static void a_flight_recorder_is_written_afterwards(void)
{
    check_told(with_a_flight_recorder, SIGSEGV,
               (const char *const[]){"  native with_a_flight_recorder at ",
                                     "  native write_to_nowhere at ", NULL});
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    bool found = false;
    CHECK_OK(kymo_open(check_path("flight"), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0)
        found = found || (event.kind == KYMO_INSTANT && strcmp(event.name, "the last mark") == 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    CHECK(found);
}

static void a_stopped_flight_recorder_does_not_matter(void)
{
    check_told(after_a_flight_recorder, SIGSEGV,
               (const char *const[]){"  native write_to_nowhere at ", NULL});
}

static void a_crash_inside_the_handler_ends_the_process(void)
{
    struct outcome outcome = crash(crash_while_crashing, kymo_program());
    CHECK(WIFSIGNALED(outcome.status));
    CHECK_EQ(WTERMSIG(outcome.status), SIGSEGV);
    const char *end = strchr(outcome.text, '\n');
    CHECK(strncmp(outcome.text, "kymograph: SIGSEGV ", 14) == 0 && end && !end[1]);
    free(outcome.text);
}

static void standard_streams_may_be_closed(void)
{
    check_told(without_files, SIGSEGV,
               (const char *const[]){"  native write_to_nowhere at ", NULL});
}

static const struct check_case cases[] = {
    CHECK_CASE(a_bad_address_is_reported),
    CHECK_CASE(an_arithmetic_error_is_reported),
    CHECK_CASE(abort_is_reported),
    CHECK_CASE(a_stack_overflow_is_reported),
    CHECK_CASE(a_stack_overflow_in_a_thread_is_reported),
    CHECK_CASE(other_threads_are_reported_too),
    CHECK_CASE(only_one_of_two_crashes_is_reported),
    CHECK_CASE(the_previous_handler_still_runs),
    CHECK_CASE(without_the_program_the_raw_text_is_printed),
    CHECK_CASE(a_file_that_is_not_a_program_is_refused),
    CHECK_CASE(nothing_is_reported_when_switched_off),
    CHECK_CASE(a_forked_child_reports_its_own_crash),
    CHECK_CASE(a_flight_recorder_is_written_afterwards),
    CHECK_CASE(a_stopped_flight_recorder_does_not_matter),
    CHECK_CASE(a_crash_inside_the_handler_ends_the_process),
    CHECK_CASE(standard_streams_may_be_closed),
};
DUMPED_MAIN(cases)
