/* Numbers and texts that belong to events: what is attached comes back, wherever it is shown
   and whatever becomes of the capture. */
#include <errno.h>
#include <kymo/kymo.h>

#include "exported.h"
#include "fault.h"
#include "rewrite.h"
#include "slices.h"
#include "tape.h"

static const char strange[] = "größe \"名前\" \\ \n\t 🙂";

/* The arguments in CAPTURE in the order of time, as NAME=VALUE or NAME="TEXT", and the other
   events by their name. */
static const char *listed(struct kymo_capture *capture)
{
    static char told[4096];
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    size_t len = 0;
    int rc;
    told[0] = '\0';
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while ((rc = kymo_cursor_next(cursor, &event)) > 0) {
        char *at = told + len;
        size_t room = sizeof(told) - len;
        if (event.kind == KYMO_ARG)
            len += (size_t)snprintf(at, room, " %s=%" PRIu64, event.name, event.id);
        else if (event.kind == KYMO_ARG_TEXT)
            len += (size_t)snprintf(at, room, " %s=\"%s\"", event.name, event.text);
        else
            len += (size_t)snprintf(at, room, "%s%s", len ? ", " : "", event.name);
        if (event.kind != KYMO_ARG_TEXT)
            CHECK_STR(event.text, "");
        CHECK(len < sizeof(told));
    }
    CHECK_OK(rc);
    kymo_cursor_free(cursor);
    return told;
}

static struct kymo_capture *opened(const char *name)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path(name), &capture));
    return capture;
}

static void begin(const char *name)
{
    CHECK_OK(fault_start(check_path(name), 0, KYMO_HELP));
}

static struct kymo_capture *finish(const char *name)
{
    CHECK_OK(kymo_stop());
    return opened(name);
}

/* ---- recording ---- */

static void numbers_and_texts_follow_what_was_recorded(void)
{
    begin("both");
    struct kymo_span span = kymo_span_begin("span");
    kymo_arg("size", UINT64_MAX);
    kymo_arg_text("text", strange);
    kymo_span_end(span);
    kymo_arg_text("result", "");
    kymo_instant("moment");
    kymo_arg_text("text", "again");
    struct kymo_capture *capture = finish("both");

    CHECK_STR(listed(capture),
              "span size=18446744073709551615 text=\"größe \"名前\" \\ \n\t 🙂\","
              " span result=\"\", moment text=\"again\"");
    kymo_close(capture);
}

static void a_text_may_be_longer_than_a_chunk(void)
{
    size_t len = 300000;
    char *longest = malloc(len + 1);
    memset(longest, 'x', len);
    memcpy(longest + len - 3, "end", 4);
    begin("long");
    kymo_instant("moment");
    kymo_arg_text("text", kymo_intern(longest));
    struct kymo_capture *capture = finish("long");

    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
    CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
    CHECK(strcmp(event.text, longest) == 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    free(longest);
}

static void without_a_session_nothing_is_attached(void)
{
    kymo_arg("off", 1);
    kymo_arg_text("off", "off");
    begin("one");
    kymo_instant("moment");
    kymo_close(finish("one"));
    kymo_arg_text("late", "late");
    begin("two"); /* what comes first in a session belongs to nothing */
    kymo_arg_text("early", "early");
    kymo_instant("moment");
    struct kymo_capture *capture = finish("two");
    kymo_arg("late", 1);

    CHECK_STR(listed(capture), " early=\"early\", moment");
    struct kymo_columns *columns;
    CHECK_OK(kymo_columns_new(capture, NULL, &columns));
    CHECK_EQ(kymo_columns_next(columns), 1);
    CHECK_EQ(kymo_columns_table(columns, 2)->rows, 0);
    kymo_columns_free(columns);
    kymo_close(capture);
}

static void a_known_text_is_not_defined_again(void)
{
    begin("once");
    for (int i = 0; i < 10000; i++) {
        kymo_instant("moment");
        kymo_arg_text("text", "the same");
    }
    struct kymo_capture *capture = finish("once");
    CHECK_EQ(capture->reader->key_count, 1 + 3);
    kymo_close(capture);
}

/* ---- what becomes of the capture ---- */

static void die(void *arg)
{
    begin(arg);
    kymo_span_begin("span");
    kymo_arg_text("text", strange);
    raise(SIGKILL);
}

static void a_killed_process_keeps_its_texts(void)
{
    fault_wait(fault_child(die, "killed"));
    struct kymo_capture *capture = opened("killed");
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_KILLED);
    CHECK_STR(listed(capture), "span text=\"größe \"名前\" \\ \n\t 🙂\"");
    kymo_close(capture);
}

static void a_flight_recorder_keeps_the_texts_of_what_it_keeps(void)
{
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("flight"),
                                               .flight_bytes = 1 << 18}));
    for (int i = 0; i < 1000000; i++) {
        kymo_instant("moment");
        kymo_arg_text("text", i % 2 ? "odd" : "even");
    }
    struct kymo_capture *capture = finish("flight");
    CHECK(fault_info(capture).expired_records > 0);

    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t texts = 0;
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0)
        if (event.kind == KYMO_ARG_TEXT) {
            CHECK(strcmp(event.text, "odd") == 0 || strcmp(event.text, "even") == 0);
            texts++;
        }
    CHECK_LE(1000, texts);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

/* A capture whose keys have other numbers than those of the others. */
static struct kymo_capture *numbered(const char *file, unsigned before, const char *its_text)
{
    char name[16];
    tape_start(file);
    for (unsigned i = 0; i < before; i++) {
        snprintf(name, sizeof(name), "name %u", i);
        tape_put(i, KYMO_INSTANT, 0, tape_span(name));
    }
    uint32_t argument = tape_span("text"), value = tape_span(its_text), span = tape_span("span");
    tape_enter(100, span);
    tape_put_value(100, KYMO_ARG_TEXT, 0, argument, value);
    tape_put_value(101, KYMO_ARG, 0, argument, value);
    tape_leave(200, span);
    return tape_stop(file);
}

static void cut_and_merged_captures_keep_their_texts(void)
{
    static const struct kymo_rewrite_options plain = {0};
    struct kymo_capture *one = numbered("one", 3, "from one");
    kymo_ns zero = (kymo_ns)tape_zero;
    const struct kymo_part part = {.capture = one, .from = zero + 150, .to = INT64_MAX};
    CHECK_OK(kymo__rewrite(&part, 1, check_path("cut"), &plain));
    struct kymo_capture *result = opened("cut"); /* the span was open where it begins */
    CHECK_STR(listed(result), "span text=\"from one\" text=5, span");
    kymo_close(result);

    struct kymo_capture *two = numbered("two", 0, "from two");
    const struct kymo_part parts[] = {{.capture = one, .from = INT64_MIN, .to = INT64_MAX},
                                      {.capture = two, .from = INT64_MIN, .to = INT64_MAX}};
    CHECK_OK(kymo__rewrite(parts, 2, check_path("merged"), &plain));
    result = opened("merged");
    CHECK(strstr(listed(result), "span text=\"from one\" text=5, span") != NULL);
    CHECK(strstr(listed(result), "span text=\"from two\" text=2, span") != NULL);
    kymo_close(result);
    kymo_close(one);
    kymo_close(two);
}

static void texts_that_a_damaged_file_does_not_define_are_unknown(void)
{
    static const uint64_t none[] = {0, 77, UINT32_MAX, UINT64_C(1) << 32 | 1, UINT64_MAX};
    enum { COUNT = sizeof(none) / sizeof(none[0]) };
    static const struct kymo_rewrite_options plain = {0};
    tape_start("damaged");
    uint32_t span = tape_span("span");
    tape_enter(0, span);
    for (uint64_t i = 0; i < COUNT; i++)
        tape_put_value(i, KYMO_ARG_TEXT, 0, span, none[i]);
    tape_leave(10, span);
    struct kymo_capture *capture = tape_stop("damaged");
    const struct kymo_part part = {.capture = capture, .from = INT64_MIN, .to = INT64_MAX};
    CHECK_OK(kymo__rewrite(&part, 1, check_path("copy"), &plain));
    struct kymo_capture *copy = opened("copy");

    static const char expected[] =
        "span span=\"(unknown)\" span=\"(unknown)\" span=\"(unknown)\" span=\"(unknown)\""
        " span=\"(unknown)\", span";
    CHECK_STR(listed(capture), expected);
    CHECK_STR(listed(copy), expected);
    CHECK_OK(kymo_export(copy, check_path("damaged.json"), NULL));
    CHECK_OK(kymo_export(copy, check_path("damaged.pftrace"), NULL));
    load_text(check_path("damaged.json"));
    CHECK(strstr(text, "\"span\":\"(unknown)\"") != NULL);
    kymo_close(copy);
    kymo_close(capture);
}

/* ---- where they are shown ---- */

/* A span that goes on beyond the call in which it began, as a context manager's does. */
static struct kymo_capture *going_on(const char *name)
{
    tape_start(name);
    uint32_t manager = tape_function("manager"), inner = tape_span("inner"),
             outer = tape_span("outer");
    uint32_t argument = tape_span("text"), size = tape_span("size");
    tape_enter(10, manager);
    tape_enter(20, outer);
    tape_put_value(20, KYMO_ARG_TEXT, 0, argument, tape_span("of the outer"));
    tape_enter(25, inner);
    tape_put_value(25, KYMO_ARG_TEXT, 0, argument, tape_span("of the inner"));
    tape_put_value(25, KYMO_ARG, 0, size, 7);
    tape_put(30, KYMO_LEAVE, 1, manager);
    tape_leave(40, inner);
    tape_leave(50, outer);
    return tape_stop(name);
}

static void a_resumed_span_keeps_its_arguments(void)
{
    struct kymo_capture *capture = going_on("going on");
    struct kymo_slices *slices;
    struct kymo_slice_row row;
    CHECK_OK(kymo__slices_new(capture, -1, INT64_MIN, INT64_MAX, &slices));
    const unsigned counts[] = {2, 1, 0, 2, 1}; /* inner, outer, manager, inner, outer */
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(kymo__slices_next(slices, &row), 1);
        CHECK_EQ(row.arg_count, counts[i]);
        if (row.arg_count) {
            const struct kymo_reader *r = capture->reader;
            CHECK_EQ(row.args[0].type, KYMO_FIELD_NAME);
            CHECK_STR(kymo__reader_string(r, r->keys[row.args[0].value].name),
                      row.arg_count == 2 ? "of the inner" : "of the outer");
        }
        if (row.arg_count == 2)
            CHECK_EQ(row.args[1].value, 7);
    }
    CHECK_EQ(kymo__slices_next(slices, &row), 0);
    kymo__slices_free(slices);
    kymo_close(capture);
}

static void columns_distinguish_texts_from_numbers(void)
{
    tape_start("columns");
    uint32_t span = tape_span("span"), argument = tape_span("text");
    tape_enter(0, span);
    tape_put_value(0, KYMO_ARG, 0, argument, 42);
    tape_put_value(0, KYMO_ARG_TEXT, 0, argument, tape_span(strange));
    tape_leave(10, span);
    struct kymo_capture *capture = tape_stop("columns");
    struct kymo_columns *columns;
    CHECK_OK(kymo_columns_new(capture, NULL, &columns));
    CHECK_EQ(kymo_columns_next(columns), 1);

    const struct kymo_table *table = kymo_columns_table(columns, 2);
    CHECK_EQ(table->rows, 2);
    CHECK_EQ(table->count, 8);
    const uint64_t *values = table->columns[3].values;
    const int64_t *texts = table->columns[4].values;
    const char *name;
    CHECK_STR(table->columns[3].name, "value");
    CHECK_STR(table->columns[4].name, "text");
    CHECK_EQ(values[0], 42);
    CHECK_EQ(texts[0], -1);
    CHECK_EQ(values[1], 0);
    CHECK_OK(kymo_columns_function(columns, (uint32_t)texts[1], &name, NULL, NULL, NULL));
    CHECK_STR(name, strange);
    kymo_columns_free(columns);
    kymo_close(capture);
}

static void chrome_traces_have_texts_as_strings(void)
{
    tape_start("chrome");
    uint32_t span = tape_span("span"), argument = tape_span("argument \"one\"");
    tape_enter(0, span);
    tape_put_value(0, KYMO_ARG_TEXT, 0, argument, tape_span(strange));
    tape_put_value(0, KYMO_ARG, 0, span, 3);
    tape_leave(10, span);
    tape_put(20, KYMO_INSTANT, 0, span);
    tape_put_value(20, KYMO_ARG_TEXT, 0, span, tape_span(""));
    struct kymo_capture *capture = tape_stop("chrome");
    CHECK_OK(kymo_export(capture, check_path("chrome.json"), NULL));
    kymo_close(capture);

    load_text(check_path("chrome.json"));
    CHECK(strstr(text, "\"args\":{\"argument \\\"one\\\"\":"
                       "\"größe \\\"名前\\\" \\\\ \\u000a\\u0009 🙂\",\"span\":3}}") != NULL);
    CHECK(strstr(text, "\"args\":{\"span\":\"\"}}") != NULL);
}

static const struct check_case cases[] = {
    CHECK_CASE(numbers_and_texts_follow_what_was_recorded),
    CHECK_CASE(a_text_may_be_longer_than_a_chunk),
    CHECK_CASE(without_a_session_nothing_is_attached),
    CHECK_CASE(a_known_text_is_not_defined_again),
    CHECK_CASE(a_killed_process_keeps_its_texts),
    CHECK_CASE(a_flight_recorder_keeps_the_texts_of_what_it_keeps),
    CHECK_CASE(cut_and_merged_captures_keep_their_texts),
    CHECK_CASE(texts_that_a_damaged_file_does_not_define_are_unknown),
    CHECK_CASE(a_resumed_span_keeps_its_arguments),
    CHECK_CASE(columns_distinguish_texts_from_numbers),
    CHECK_CASE(chrome_traces_have_texts_as_strings),
};
CHECK_MAIN(cases)
