/* The ids of calls in a Chrome trace, and the lines that they were called from, as Kineto has them. */
#include <kymo/kymo.h>
#include <stdbool.h>

#include "chromed.h"

static void kineto_s_ids_begin_with_1_and_calls_of_objects_are_their_functions(void)
{
    tape_start("objects");
    uint32_t f = tape_key("A.f", "/lib/sub/a.py", 3, KYMO_CLASS_FUNCTION);
    uint32_t object = tape_key("Model", "mine", 0, KYMO_CLASS_CALLABLE);
    uint32_t call = tape_key("Model.__call__", "/lib/a.py", 7, KYMO_CLASS_FUNCTION);
    uint32_t module = tape_key("nn.Module: Model_0", "", 0, KYMO_CLASS_FUNCTION);
    uint32_t native = tape_key("len", "builtins", 0, KYMO_CLASS_NATIVE);
    const uint32_t inside[] = {call, module, f, native};
    tape_enter(0, f);
    for (unsigned i = 0; i < 4; i++) {
        tape_enter(10 + 20 * i, object);
        tape_enter(11 + 20 * i, inside[i]);
        tape_leave(12 + 20 * i, inside[i]);
        tape_leave(13 + 20 * i, object);
    }
    tape_leave(100, f);
    const char *const prefixes[] = {"/lib/sub/", "/lib/", NULL};
    CHECK_EQ(export_with("objects", "", prefixes), 7 + 1);

    CHECK_HAS("\"name\":\"a.py(3): f\"");
    CHECK_HAS("\"args\":{\"Python id\":1,\"Ev Idx\":0}}");
    CHECK_HAS("\"name\":\"a.py(7): __call__\"");
    CHECK_HAS("\"args\":{\"Python id\":2,\"Python parent id\":1,\"Ev Idx\":1}}");
    CHECK_HAS("\"name\":\"nn.Module: Model_0\"");
    CHECK_HAS("\"args\":{\"Python id\":3,\"Python parent id\":1,\"Ev Idx\":2}}");
    CHECK_HAS("\"args\":{\"Python id\":5,\"Python parent id\":4,\"Ev Idx\":4}}");
    CHECK_HAS("\"args\":{\"Python id\":7,\"Python parent id\":6,\"Ev Idx\":6}}");
    CHECK_HAS("\"name\":\"<mine.Model object>\"");
}

/* A function that was running at line 9, which calls another from there, in a span; twice. */
static void play_lines(const char *name)
{
    enum { OPEN = 3 };
    tape_start(name);
    uint32_t f = tape_key("f", "/lib/a.py", 3, KYMO_CLASS_FUNCTION);
    uint32_t g = tape_key("g", "/lib/a.py", 20, KYMO_CLASS_FUNCTION);
    uint32_t from = tape_span("called from"), line = tape_span("line"), span = tape_span("span");
    uint32_t place = tape_span("/lib/a.py:9");
    tape_put(0, KYMO_ENTER, OPEN, f);
    tape_put_value(0, KYMO_ARG_TEXT, 0, from, place);
    tape_put_value(0, KYMO_ARG, 0, line, 9);
    for (unsigned i = 0; i < 2; i++) {
        tape_enter(10 + 10 * i, span);
        tape_put_value(10 + 10 * i, KYMO_ARG, 0, line, 77);
        tape_enter(11 + 10 * i, g);
        tape_put_value(11 + 10 * i, KYMO_ARG_TEXT, 0, from, place);
        tape_leave(12 + 10 * i, g);
        tape_leave(13 + 10 * i, span);
    }
    tape_leave(100, f);
}

static void lines_of_calls_are_where_kineto_has_them(void)
{
    const char *const prefixes[] = {"/lib/", NULL};
    play_lines("lines");
    CHECK_EQ(export_with("lines", "", prefixes), 5 + 1);

    CHECK_HAS("\"name\":\"a.py(9): f\"");
    CHECK_HAS("\"args\":{\"Python id\":1,\"Ev Idx\":2,\"started\":false,\"CallFrom\":\"a.py:9\"}}");
    CHECK_HAS("\"name\":\"a.py(20): g\"");
    CHECK_HAS("{\"Python id\":2,\"Python parent id\":1,\"Ev Idx\":3,\"CallFrom\":\"a.py:9\"}}");
    CHECK_HAS("{\"Python id\":3,\"Python parent id\":1,\"Ev Idx\":4,\"CallFrom\":\"a.py:9\"}}");
    CHECK_HAS("\"Ev Idx\":0,\"line\":77}}"); /* an argument of a span */
    CHECK_HAS("\"Ev Idx\":1,\"line\":77}}");
}

static void without_kineto_s_form_lines_are_arguments(void)
{
    play_lines("plainlines");
    CHECK_EQ(export("plainlines"), 5);

    CHECK_HAS("\"name\":\"f (/lib/a.py:3)\"");
    CHECK_HAS("\"started\":false,\"called from\":\"/lib/a.py:9\",\"line\":9}}");
}

static void first_lines_may_be_asked_for(void)
{
    play_lines("firstlines");
    struct kymo_capture *capture = tape_stop("firstlines");
    const struct kymo_export_options options = {
        .size = sizeof(options), .to = INT64_MAX, .thread = -1, .extra = "", .first_lines = 1};
    CHECK_OK(kymo_export(capture, check_path("firstlines.json"), &options));
    kymo_close(capture);
    load(check_path("firstlines.json"));

    CHECK_HAS("\"name\":\"/lib/a.py(3): f\"");
    CHECK_HAS("\"CallFrom\":\"/lib/a.py:9\"");
}

static const struct check_case cases[] = {
    CHECK_CASE(kineto_s_ids_begin_with_1_and_calls_of_objects_are_their_functions),
    CHECK_CASE(lines_of_calls_are_where_kineto_has_them),
    CHECK_CASE(without_kineto_s_form_lines_are_arguments),
    CHECK_CASE(first_lines_may_be_asked_for),
};

CHECK_MAIN(cases)
