/* Plain sources: several behind one door, each with a name and a state of its own. */
#include <errno.h>
#include <kymo/source.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fault.h"

/* What was called, in order: "one.start two.start". */
static char calls[1024];

struct fake {
    struct kymo_source source;
    const void *options; /* what start was given last */
    int fails;           /* what start returns */
    uint32_t session;
};

static void called(const struct fake *fake, const char *what)
{
    size_t len = strlen(calls);
    snprintf(calls + len, sizeof(calls) - len, "%s%s.%s", len ? " " : "", fake->source.name, what);
}

static int fake_start(void *user, const struct kymo_source_session *session, void **state)
{
    struct fake *fake = user;
    called(fake, "start");
    CHECK_EQ(session->size, sizeof(*session));
    CHECK(session->number != 0);
    if (session->path) /* it does not join later */
        CHECK(session->budget_bytes >= 1 << 20 && *session->path);
    fake->options = session->options;
    fake->session = session->number;
    kymo_instant("recorded by a source that starts");
    *state = fake;
    return fake->fails;
}

#define FAKE_FUNCTION(what)                                                                        \
    static void fake_##what(void *state)                                                           \
    {                                                                                              \
        called(state, #what);                                                                      \
    }
FAKE_FUNCTION(pause)
FAKE_FUNCTION(resume)
FAKE_FUNCTION(end)
FAKE_FUNCTION(fork_prepare)
FAKE_FUNCTION(fork_parent)
FAKE_FUNCTION(fork_child)

static void fake_stop(void *state)
{
    called(state, "stop");
    kymo_instant("recorded by a source that stops");
}

#define FAKE(text, bits)                                                                           \
    {                                                                                              \
        .source = {                                                                                \
            .size = sizeof(struct kymo_source),                                                    \
            .name = text,                                                                          \
            .flags = bits,                                                                         \
            .start = fake_start,                                                                   \
            .pause = fake_pause,                                                                   \
            .resume = fake_resume,                                                                 \
            .stop = fake_stop,                                                                     \
            .end = fake_end,                                                                       \
            .fork_prepare = fake_fork_prepare,                                                     \
            .fork_parent = fake_fork_parent,                                                       \
            .fork_child = fake_fork_child,                                                         \
        },                                                                                         \
    }
static struct fake one = FAKE("one", 0), two = FAKE("two", 0), late = FAKE("late", KYMO_SOURCE_OFF);

static void register_all(void)
{
    one.fails = two.fails = late.fails = 0;
    CHECK_OK(kymo_source_register(&one.source, &one));
    CHECK_OK(kymo_source_register(&two.source, &two));
    CHECK_OK(kymo_source_register(&late.source, &late));
}

static void unregister_all(void)
{
    CHECK_OK(kymo_source_unregister(&two.source));
    CHECK_OK(kymo_source_unregister(&one.source));
    CHECK_OK(kymo_source_unregister(&late.source));
}

static const char *path;

static int begin_with(const char *name, const char *sources, const struct kymo_source_options *more)
{
    path = check_path(name);
    calls[0] = '\0';
    return kymo_start(&(struct kymo_options){
        .size = sizeof(struct kymo_options),
        .path = path,
        .budget = 1 << 20,
        .sources = sources,
        .source_options = more,
    });
}

/* The metadata KEY of the capture just written; "" when it has none. */
static const char *metadata(const char *key)
{
    static char found[256];
    struct kymo_capture *capture;
    const char *each, *value;
    CHECK_OK(kymo_open(path, &capture));
    found[0] = '\0';
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &each, &value) == 0; i++)
        if (strcmp(each, key) == 0)
            snprintf(found, sizeof(found), "%s", value);
    kymo_close(capture);
    return found;
}

static uint64_t records(void)
{
    struct kymo_capture *capture;
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_capture_info(capture, &info));
    kymo_close(capture);
    return info.records;
}

/* ---- the life of a session ---- */

static void sources_see_a_session_in_the_documented_order(void)
{
    register_all();
    CHECK_OK(begin_with("order", NULL, NULL));
    CHECK_OK(kymo_pause());
    CHECK_OK(kymo_pause());
    CHECK_OK(kymo_resume());
    CHECK_OK(kymo_resume());
    CHECK_OK(kymo_stop());
    unregister_all();

    CHECK_STR(calls, "one.start two.start two.pause one.pause one.resume two.resume "
                     "two.stop one.stop two.end one.end");
    CHECK_EQ(one.session, two.session);
    CHECK_EQ(records(), 4);
    CHECK_STR(metadata("sources"), "one,two");
}

static void a_paused_session_stops_its_sources_without_resuming_them(void)
{
    register_all();
    CHECK_OK(begin_with("paused", "two=off", NULL));
    CHECK_OK(kymo_pause());
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start one.pause one.stop one.end");
    CHECK_OK(begin_with("not paused", "two=off", NULL));
    CHECK_OK(kymo_resume());
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start one.stop one.end");
    unregister_all();
    CHECK_EQ(kymo_pause(), KYMO_EIDLE);
    CHECK_EQ(kymo_resume(), KYMO_EIDLE);
}

static void a_source_joins_a_running_session_and_leaves_it(void)
{
    register_all();
    CHECK_EQ(kymo_source_start("two", NULL), KYMO_EIDLE);
    CHECK_OK(begin_with("joins", "two=off", NULL));
    CHECK_EQ(kymo_source_start("three", NULL), KYMO_ESOURCE);
    CHECK_EQ(kymo_source_start("one", NULL), KYMO_ERUNNING);
    CHECK_EQ(kymo_source_stop("two"), KYMO_EIDLE);
    CHECK_OK(kymo_pause());
    CHECK_OK(kymo_source_start("two", NULL));
    CHECK_OK(kymo_resume());
    CHECK_OK(kymo_source_stop("two"));
    CHECK_EQ(kymo_source_stop("two"), KYMO_EIDLE);
    CHECK_EQ(kymo_source_start("two", NULL), -EALREADY);
    CHECK_OK(kymo_pause());
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start one.pause two.start two.pause one.resume two.resume two.stop "
                     "one.pause one.stop two.end one.end");
    CHECK_STR(metadata("sources"), "one,two");
    CHECK_OK(begin_with("again", "two=off", NULL));
    two.fails = -EPERM;
    CHECK_EQ(kymo_source_start("two", NULL), -EPERM);
    two.fails = 0;
    CHECK_OK(kymo_source_start("two", NULL));
    CHECK_OK(kymo_stop());
    unregister_all();
}

static void a_source_that_cannot_start_is_left_out_and_the_capture_says_why(void)
{
    register_all();
    one.fails = -EPERM;
    CHECK_OK(begin_with("fails", NULL, NULL));
    CHECK_OK(kymo_pause());
    CHECK_OK(kymo_source_unregister(&one.source)); /* no session uses it */
    CHECK_OK(kymo_source_register(&one.source, &one));
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start two.start two.pause two.stop two.end");
    CHECK_STR(metadata("source one"), kymo_strerror(-EPERM));
    CHECK_STR(metadata("sources"), "two");
    unregister_all();
}

/* ---- switching ---- */

static void sources_are_switched_by_name_for_one_session(void)
{
    register_all();
    CHECK_OK(begin_with("switched", "one=off,LATE=on", NULL));
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "two.start late.start late.stop two.stop late.end two.end");
    CHECK_STR(metadata("sources"), "two,late");
    CHECK_OK(begin_with("next", NULL, NULL));
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start two.start two.stop one.stop two.end one.end");
    CHECK_OK(begin_with("last counts", "one=off,one=on,two=off,", NULL));
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start one.stop one.end");
    CHECK_OK(begin_with("all but", "*=on,two=off", NULL));
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start late.start late.stop one.stop late.end one.end");
    CHECK_OK(begin_with("none but", "two=on,*=off,late=on", NULL));
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "late.start late.stop late.end");
    unregister_all();
}

static int busy_start, busy_stop;

static void *start_and_stop_at_once(void *arg)
{
    (void)arg;
    busy_start = kymo_start_at_once(
        &(struct kymo_options){.size = sizeof(struct kymo_options), .path = path});
    busy_stop = kymo_stop_at_once();
    return NULL;
}

/* A source's functions run under the session's lock. */
static int try_from_another_thread(void *user, const struct kymo_source_session *session,
                                   void **state)
{
    (void)user, (void)session, (void)state;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, start_and_stop_at_once, NULL), 0);
    pthread_join(thread, NULL);
    return 0;
}

static void at_once_means_not_to_wait_for_a_thread_that_starts_a_session(void)
{
    struct fake busy = FAKE("busy", 0);
    busy.source.start = try_from_another_thread;
    busy.source.stop = busy.source.end = NULL;
    CHECK_OK(kymo_source_register(&busy.source, &busy));
    CHECK_OK(begin_with("busy", NULL, NULL));
    CHECK_EQ(busy_start, -EBUSY);
    CHECK_EQ(busy_stop, -EBUSY);
    CHECK_EQ(kymo_start_at_once(
                 &(struct kymo_options){.size = sizeof(struct kymo_options), .path = path}),
             KYMO_ERUNNING);
    CHECK_OK(kymo_stop_at_once());
    CHECK_EQ(kymo_stop_at_once(), KYMO_EIDLE);
    CHECK_OK(kymo_source_unregister(&busy.source));
}

static void an_unknown_name_or_value_is_refused_with_a_line_that_lists_the_names(void)
{
    char why[200];
    CHECK_EQ(kymo_sources_check("one=on", why, sizeof(why)), KYMO_ESOURCE);
    CHECK_STR(why, "no source 'one'; registered sources: none");
    register_all();
    CHECK_EQ(kymo_sources_check(NULL, NULL, 0), 0);
    CHECK_EQ(kymo_sources_check("one=on,Two=off", NULL, 0), 0);
    CHECK_EQ(kymo_sources_check("one=on,tow=off", why, sizeof(why)), KYMO_ESOURCE);
    CHECK_STR(why, "no source 'tow'; registered sources: one, two, late");
    CHECK_EQ(kymo_sources_check("two=yes", why, sizeof(why)), KYMO_ESOURCE);
    CHECK_STR(why, "a source is switched with NAME=on or NAME=off, not 'two=yes'; "
                   "registered sources: one, two, late");
    const char *const refused[] = {
        "two", "two=", "=on", "tw=on", "twoo=on", "two=on, one=off", "two=ON", "two=onn", ","};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        CHECK_EQ(begin_with("refused", refused[i], NULL), KYMO_ESOURCE);
        CHECK_EQ(access(path, F_OK), -1);
        CHECK_STR(calls, "");
    }
    CHECK_EQ(kymo_sources_check("x", why, 8), KYMO_ESOURCE);
    CHECK_STR(why, "no sour");
    unregister_all();
}

static void options_reach_the_source_they_are_for_and_only_in_that_session(void)
{
    const struct kymo_source_options
        for_two = {.size = sizeof(for_two), .source = "Two", .options = "2"},
        for_one = {.size = sizeof(for_one), .next = &for_two, .source = "one", .options = "1"},
        unknown = {.size = sizeof(unknown), .next = &for_one, .source = "three"};
    register_all();
    CHECK_OK(begin_with("options", "late=on", &for_one));
    CHECK_OK(kymo_stop());
    CHECK_STR(one.options, "1");
    CHECK_STR(two.options, "2");
    CHECK(!late.options);

    /* A start that fails, before and after options were looked at, leaves none behind. */
    CHECK_EQ(begin_with("unknown", NULL, &unknown), KYMO_ESOURCE);
    CHECK_EQ(begin_with("no such directory/file", "two=off", &for_one), -ENOENT);
    CHECK_OK(begin_with("without", NULL, NULL));
    CHECK_OK(kymo_stop());
    CHECK(!one.options && !two.options);
    CHECK_STR(metadata("sources"), "one,two");
    unregister_all();
}

/* ---- registration ---- */

static void a_table_or_a_name_is_registered_once(void)
{
    struct fake same = FAKE("ONE", 0);
    register_all();
    CHECK_EQ(kymo_source_register(&one.source, &one), KYMO_EREGISTERED);
    CHECK_EQ(kymo_source_register(&same.source, &same), KYMO_EREGISTERED);
    CHECK_EQ(kymo_source_unregister(&same.source), KYMO_ENOTREGISTERED);
    CHECK_EQ(kymo_source_unregister(NULL), KYMO_ENOTREGISTERED);
    struct kymo_tracer tracer = {.size = sizeof(tracer), .name = "two"};
    CHECK_EQ(kymo_tracer_register(&tracer, NULL), KYMO_EREGISTERED);
    CHECK_STR(kymo_tracer_name(), "none");
    unregister_all();
}

static void a_name_that_cannot_be_written_in_a_list_is_refused(void)
{
    const char *const names[] = {NULL, "", "*", "a,b", "a=b", " a", "a ", "a\nb"};
    struct fake bad = FAKE("good", 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bad.source.name = names[i];
        CHECK_EQ(kymo_source_register(&bad.source, &bad), -EINVAL);
    }
    bad.source.name = "good";
    bad.source.size = sizeof(size_t);
    CHECK_EQ(kymo_source_register(&bad.source, &bad), -EINVAL);
    CHECK_EQ(kymo_source_register(NULL, &bad), -EINVAL);
}

static void a_source_in_use_cannot_be_unregistered_and_a_new_one_waits(void)
{
    register_all();
    struct fake new = FAKE("new", 0);
    CHECK_OK(begin_with("in use", NULL, NULL));
    CHECK_EQ(kymo_source_unregister(&one.source), KYMO_ERUNNING);
    CHECK_OK(kymo_source_register(&new.source, &new));
    CHECK_OK(kymo_source_unregister(&late.source)); /* it takes no part */
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "one.start two.start two.stop one.stop two.end one.end");
    CHECK_OK(kymo_source_unregister(&new.source));
    CHECK_OK(kymo_source_register(&late.source, &late));
    unregister_all();
}

static void functions_that_an_older_table_lacks_count_as_absent(void)
{
    struct {
        struct kymo_source source;
        char more[64];
    } table;
    const size_t sizes[] = {offsetof(struct kymo_source, flags),
                            offsetof(struct kymo_source, pause), offsetof(struct kymo_source, end),
                            sizeof(table)};
    const char *expected[] = {"", "one.start", "one.start one.pause one.stop",
                              "one.start one.pause one.stop one.end"};
    one.fails = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(&table, 0x5a, sizeof(table));
        memcpy(&table.source, &one.source,
               sizes[i] < sizeof(one.source) ? sizes[i] : sizeof(one.source));
        table.source.size = sizes[i];
        CHECK_OK(kymo_source_register(&table.source, &one));
        CHECK_OK(begin_with("older", NULL, NULL));
        CHECK_OK(kymo_pause());
        CHECK_OK(kymo_stop());
        CHECK_STR(calls, expected[i]);
        CHECK_OK(kymo_source_unregister(&table.source));
    }
}

static void sources_can_be_listed_and_there_is_room_for_32(void)
{
    static struct kymo_source many[33];
    char names[33][8];
    for (int i = 0; i < 33; i++) {
        snprintf(names[i], sizeof(names[i]), "s%d", i);
        many[i] = (struct kymo_source){
            .size = sizeof(many[i]), .name = names[i], .flags = i % 2 ? KYMO_SOURCE_OFF : 0};
        CHECK_EQ(kymo_source_register(&many[i], NULL), i < 32 ? 0 : -ENOSPC);
    }
    struct kymo_source_info info = {.size = sizeof(info)};
    CHECK_OK(begin_with("many", "s1=on", NULL));
    CHECK_OK(kymo_source_at(0, &info));
    CHECK_STR(info.name, "s0");
    CHECK(info.active && info.flags == 0);
    CHECK_OK(kymo_source_at(1, &info));
    CHECK(info.active && info.flags == KYMO_SOURCE_OFF);
    CHECK_OK(kymo_source_at(31, &info));
    CHECK(!info.active);
    CHECK_EQ(kymo_source_at(32, &info), -ENOENT);
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_source_at(0, &info));
    CHECK(!info.active);
    for (int i = 0; i < 32; i++)
        CHECK_OK(kymo_source_unregister(&many[i]));
    CHECK_EQ(kymo_source_at(0, &info), -ENOENT);
}

/* ---- forks ---- */

/* Wait for CHILD, which exits with 0 when it found what it had to. */
static void check_child(pid_t child)
{
    int status;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static void fork_handlers_run_in_reverse_before_and_in_order_after(void)
{
    FAULT_NOT_EMULATED("threads in forked children");
    if (FAULT_TSAN)
        CHECK_SKIP("thread sanitizer does not start threads in a forked child");
    register_all();
    CHECK_OK(begin_with("fork", NULL, NULL));
    calls[0] = '\0';
    pid_t child = fork();
    if (child == 0) {
        bool right = strcmp(calls, "two.fork_prepare one.fork_prepare one.fork_child "
                                   "two.fork_child") == 0;
        /* The child's own session begins as if there had been none. */
        right = right && begin_with("child", "one=off", NULL) == 0 && kymo_stop() == 0 &&
                strcmp(calls, "two.start two.stop two.end") == 0;
        _exit(right ? 0 : 1);
    }
    CHECK_STR(calls, "two.fork_prepare one.fork_prepare one.fork_parent two.fork_parent");
    check_child(child);
    CHECK_OK(kymo_stop());
    calls[0] = '\0';
    child = fork(); /* without a session nobody learns of it */
    if (child == 0)
        _exit(strcmp(calls, "") != 0);
    check_child(child);
    CHECK_STR(calls, "");
    unregister_all();
}

static void a_child_made_by_a_system_call_learns_of_it_when_it_starts_a_session(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("thread sanitizer does not start threads in a forked child");
    FAULT_NOT_EMULATED("memory that is wiped in children");
    register_all();
    CHECK_OK(begin_with("clone", NULL, NULL));
    fflush(stdout);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        path = check_path("clone child");
        calls[0] = '\0';
        int rc = kymo_start(&(struct kymo_options){
            .size = sizeof(struct kymo_options), .path = path, .sources = "one=off"});
        bool right = rc == 0 && strcmp(calls, "one.fork_child two.fork_child two.start") == 0;
        _exit(right ? 0 : 1);
    }
    check_child(child);
    CHECK_OK(kymo_stop());
    unregister_all();
}

/* ---- memory tracers ---- */

static int memory_start(void *user)
{
    (void)user;
    strcat(calls, "[memory start]");
    return 0;
}

static int memory_stop(void *user)
{
    (void)user;
    strcat(calls, "[memory stop]");
    return 0;
}

static void a_memory_tracer_takes_part_in_a_session_that_switches_it_on(void)
{
    static const struct kymo_memory_tracer memory = {
        .size = sizeof(memory), .name = "memory", .start = memory_start, .stop = memory_stop};
    CHECK_OK(kymo_memory_tracer_register(&memory, NULL));
    CHECK_OK(begin_with("without memory", NULL, NULL));
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "");
    CHECK_OK(begin_with("memory", "memory=on", NULL));
    CHECK_EQ(kymo_memory_tracer_unregister(&memory), KYMO_ERUNNING);
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "[memory start][memory stop]");
    CHECK_STR(metadata("sources"), "memory");
    CHECK_OK(kymo_memory_tracer_unregister(&memory));
}

static const struct check_case cases[] = {
    CHECK_CASE(sources_see_a_session_in_the_documented_order),
    CHECK_CASE(a_paused_session_stops_its_sources_without_resuming_them),
    CHECK_CASE(a_source_joins_a_running_session_and_leaves_it),
    CHECK_CASE(a_source_that_cannot_start_is_left_out_and_the_capture_says_why),
    CHECK_CASE(sources_are_switched_by_name_for_one_session),
    CHECK_CASE(at_once_means_not_to_wait_for_a_thread_that_starts_a_session),
    CHECK_CASE(an_unknown_name_or_value_is_refused_with_a_line_that_lists_the_names),
    CHECK_CASE(options_reach_the_source_they_are_for_and_only_in_that_session),
    CHECK_CASE(a_table_or_a_name_is_registered_once),
    CHECK_CASE(a_name_that_cannot_be_written_in_a_list_is_refused),
    CHECK_CASE(a_source_in_use_cannot_be_unregistered_and_a_new_one_waits),
    CHECK_CASE(functions_that_an_older_table_lacks_count_as_absent),
    CHECK_CASE(sources_can_be_listed_and_there_is_room_for_32),
    CHECK_CASE(fork_handlers_run_in_reverse_before_and_in_order_after),
    CHECK_CASE(a_child_made_by_a_system_call_learns_of_it_when_it_starts_a_session),
    CHECK_CASE(a_memory_tracer_takes_part_in_a_session_that_switches_it_on),
};
CHECK_MAIN(cases)
