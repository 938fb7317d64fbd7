/* A folded survey has the program's own functions, what they call, and waiting apart. */
#include "fold.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "tape.h"

static struct kymo_capture *capture;
static struct kymo_survey *survey;
static struct kymo_fold *fold;

static const char library[] = "/usr/lib/python3.13/json/decoder.py";
static const char importlib[] = "<frozen importlib._bootstrap>";

/* main calls loads 10..60, which calls decode 20..50, which calls main's hook 30..40; then main
   imports 70..80, then sleeps 90..95 and waits inside the library 100..130. */
static void play(const char *name)
{
    tape_start(name);
    uint32_t main = tape_function("main"), hook = tape_function("hook");
    uint32_t loads = tape_key("loads", library, 1, KYMO_CLASS_FUNCTION);
    uint32_t decode = tape_key("decode", library, 2, KYMO_CLASS_FUNCTION);
    uint32_t import = tape_key("_find_and_load", importlib, 3, KYMO_CLASS_FUNCTION);
    uint32_t sleep = tape_key("sleep", "time", 0, KYMO_CLASS_NATIVE);
    uint32_t acquire = tape_key("lock.acquire", "_thread", 0, KYMO_CLASS_METHOD);
    tape_enter(0, main);
    tape_enter(10, loads);
    tape_enter(20, decode);
    tape_enter(30, hook);
    tape_leave(40, hook);
    tape_leave(50, decode);
    tape_leave(60, loads);
    tape_enter(70, import);
    tape_leave(80, import);
    tape_enter(90, sleep);
    tape_leave(95, sleep);
    tape_enter(100, loads);
    tape_enter(105, acquire);
    tape_leave(130, acquire);
    tape_leave(131, loads);
    tape_leave(140, main);
    capture = tape_stop(name);
    const struct kymo_survey_options everything = {
        .from = INT64_MIN, .to = INT64_MAX, .nodes = 1000};
    CHECK_OK(kymo__survey(capture, &everything, &survey));
}

static void done(void)
{
    kymo__fold_free(fold);
    kymo__survey_free(survey);
    kymo_close(capture);
}

/* What the fold shows for NAME; its calls are 0 when it is folded away. */
static const struct kymo_function_cost *cost_of(const char *name)
{
    for (size_t i = 0; i < fold->shown.callables.count; i++)
        if (strcmp(fold->shown.callables.all[i].name, name) == 0)
            return fold->shown.functions.of[i];
    CHECK_FAIL("%s is not there", name);
    return NULL;
}

static void calls_inside_a_library_count_for_the_call_that_led_there(void)
{
    play("library");
    CHECK_OK(kymo__fold(survey, false, &fold));
    CHECK(fold->folded);
    CHECK_EQ(cost_of("decode")->calls, 0);
    CHECK_EQ(cost_of("loads")->calls, 2);
    CHECK_EQ(cost_of("loads")->self, 40 + 6); /* with decode, without the hook and the waiting */
    CHECK_EQ(cost_of("loads")->total, 50 + 6);
    CHECK_EQ(cost_of("hook")->self, 10);
    CHECK_EQ(cost_of(KYMO__IMPORTS)->calls, 1);
    CHECK_EQ(cost_of(KYMO__IMPORTS)->self, 10);
    CHECK_EQ(cost_of("_find_and_load")->calls, 0);
    done();
}

static void waiting_is_attributed_to_the_waiter(void)
{
    play("waiting");
    CHECK_OK(kymo__fold(survey, false, &fold));
    CHECK_EQ(fold->work, 140 - 30);
    CHECK_EQ(fold->waiting, 30);
    CHECK_EQ(cost_of("main")->total, 140 - 30);
    CHECK_EQ(fold->wait_count, 2);
    CHECK_EQ(fold->waits[0].time, 25);
    CHECK(strcmp(fold->shown.callables.all[fold->waits[0].callable].name, "lock.acquire") == 0);
    CHECK(strcmp(fold->shown.callables.all[fold->waits[0].from].name, "loads") == 0);
    CHECK(strcmp(fold->shown.callables.all[fold->waits[1].from].name, "main") == 0);
    CHECK_EQ(survey->threads[0].waiting, 30);
    done();
}

/* An installed command calls loads, which calls decode; decode imports. With OWN, it also calls a
   function of the user's. */
static void play_installed(const char *name, bool own)
{
    tape_start(name);
    uint32_t script = tape_key("<module>", "/home/me/.venv/bin/flask", 1, KYMO_CLASS_FUNCTION);
    uint32_t loads = tape_key("loads", library, 1, KYMO_CLASS_FUNCTION);
    uint32_t decode = tape_key("decode", library, 2, KYMO_CLASS_FUNCTION);
    uint32_t import = tape_key("_find_and_load", importlib, 3, KYMO_CLASS_FUNCTION);
    uint32_t hook = tape_function("hook");
    tape_enter(0, script);
    tape_enter(10, loads);
    tape_enter(20, decode);
    tape_enter(30, import);
    tape_enter(31, loads);
    tape_leave(39, loads);
    tape_leave(40, import);
    if (own) {
        tape_enter(40, hook);
        tape_leave(45, hook);
    }
    tape_leave(50, decode);
    tape_leave(60, loads);
    tape_leave(70, script);
    capture = tape_stop(name);
    const struct kymo_survey_options everything = {
        .from = INT64_MIN, .to = INT64_MAX, .nodes = 1000};
    CHECK_OK(kymo__survey(capture, &everything, &survey));
}

static void what_an_installed_script_calls_is_shown(void)
{
    play_installed("installed", true);
    CHECK_OK(kymo__fold(survey, false, &fold));
    CHECK_EQ(cost_of("<module>")->self, 20);
    CHECK_EQ(cost_of("loads")->calls, 1);
    CHECK_EQ(cost_of("loads")->self, 45);
    CHECK_EQ(cost_of("decode")->calls, 0);
    done();
}

static void without_code_of_its_own_only_imports_are_folded(void)
{
    play_installed("foreign", false);
    CHECK_OK(kymo__fold(survey, false, &fold));
    CHECK_EQ(cost_of("decode")->calls, 1);
    CHECK_EQ(cost_of("decode")->self, 20);
    CHECK_EQ(cost_of("loads")->calls, 1);
    CHECK_EQ(cost_of(KYMO__IMPORTS)->self, 10);
    done();
}

static void unfolded_every_function_is_there_with_its_own_time(void)
{
    play("unfolded");
    CHECK_OK(kymo__fold(survey, true, &fold));
    CHECK(!fold->folded);
    CHECK_EQ(cost_of("decode")->self, 20);
    CHECK_EQ(cost_of("_find_and_load")->calls, 1);
    CHECK_EQ(cost_of("sleep")->calls, 0); /* waiting is apart all the same */
    CHECK_EQ(fold->work, 110);
    done();
}

static void memory_may_run_out_anywhere(void)
{
    play("memory");
    int rc;
    long n = 0;
    do {
        kymo__alloc_fail_after(n++);
        rc = kymo__fold(survey, false, &fold);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK_LE(n, 100);
    } while (rc < 0);
    CHECK_EQ(cost_of("loads")->calls, 2);
    done();
}

static void the_file_determines_the_origin(void)
{
    static const struct {
        const char *file;
        enum kymo_origin origin;
    } known[] = {
        {"/home/me/shop.py", KYMO__OWN},
        {"/home/me/python3/shop.py", KYMO__OWN},
        {"/home/me/.venv/lib/python3.12/site-packages/numpy/core.py", KYMO__LIBRARY},
        {"/usr/lib/python3/dist-packages/yaml.py", KYMO__LIBRARY},
        {"/usr/lib/python3.12/json/decoder.py", KYMO__LIBRARY},
        {"/opt/python/lib/python3.13t/threading.py", KYMO__LIBRARY},
        {"/usr/lib64/python3.9/os.py", KYMO__LIBRARY},
        {"<frozen importlib._bootstrap_external>", KYMO__IMPORT},
        {"<frozen runpy>", KYMO__LIBRARY},
        {"/home/me/.venv/bin/flask", KYMO__LIBRARY},
        {"<string>", KYMO__OWN},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct kymo_callable callable = {
            .name = "f", .file = known[i].file, .line = 1, .class = KYMO_CLASS_FUNCTION};
        if (kymo__origin(&callable) != known[i].origin)
            CHECK_FAIL("%s is taken for %s", known[i].file,
                       kymo__origin_word(kymo__origin(&callable)));
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(calls_inside_a_library_count_for_the_call_that_led_there),
    CHECK_CASE(waiting_is_attributed_to_the_waiter),
    CHECK_CASE(what_an_installed_script_calls_is_shown),
    CHECK_CASE(without_code_of_its_own_only_imports_are_folded),
    CHECK_CASE(unfolded_every_function_is_there_with_its_own_time),
    CHECK_CASE(memory_may_run_out_anywhere),
    CHECK_CASE(the_file_determines_the_origin),
};
CHECK_MAIN(cases)
