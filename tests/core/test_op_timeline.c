/* Operators in timelines: Chrome traces have them as PyTorch's profiler writes them. */
#include <errno.h>
#include <kymo/kymo.h>
#include <pthread.h>

#include "alloc.h"
#include "check.h"
#include "crew.h"
#include "exported.h"
#include "opmade.h"

static void export_to(const char *name, const char *to)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(kymo_export(capture, check_path(to), NULL));
    kymo_close(capture);
    load_text(check_path(to));
}

static void has(const char *part)
{
    if (!strstr(text, part))
        CHECK_FAIL("%s is not in\n%s", part, text);
}

static void has_not(const char *part)
{
    if (strstr(text, part))
        CHECK_FAIL("%s is in\n%s", part, text);
}

static unsigned count_of(const char *part)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static struct opmade_values in, none;

/* An operator with inputs of every kind, inside a Python call. */
static void record_operator(const char *name)
{
    struct opmade_op op = {.name = "aten::cat", .rf_id = 9, .seq = 4, .thread = 1};
    memset(&in, 0, sizeof(in));
    opmade_tensor(&in, 0x1000, 0x9000, 2, 3);
    opmade_int(&in, OPMADE_LIST, 2);
    opmade_tensor(&in, 0x1100, 0x9000, 6, 1);
    opmade_tensor(&in, 0x1200, 0x9000, 1, 6);
    opmade_int(&in, OPMADE_LIST, 2);
    opmade_int(&in, OPMADE_INT, 64);
    opmade_int(&in, OPMADE_INT, -1);
    opmade_int(&in, OPMADE_BOOL, 0);
    opmade_float(&in, 1);
    opmade_float(&in, 0.1);
    opmade_kind(&in, OPMADE_NONE);
    opmade_text(&in, OPMADE_TEXT, "shown elsewhere");
    opmade_kind(&in, OPMADE_NO_TENSORS);
    opmade_int(&in, OPMADE_INT, 3);
    in.names[9] = "alpha";
    in.name_count = 10;
    opmade_start(check_path(name));
    uint32_t python = opmade_key("train", KYMO_CLASS_FUNCTION);
    opmade_record(500, KYMO_ENTER, python);
    opmade_enter(1000, &op, &in);
    opmade_attribute(1100, &op, "in_msg_nelems", "12", 1);
    opmade_leave(3500, &op, &in);
    opmade_record(4000, KYMO_LEAVE, python);
    CHECK_OK(kymo_stop());
}

static void check_operator(void)
{
    has("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::cat\",");
    has("\"dur\":2.500,\"args\":{\"Python parent id\":0,\"External id\":9,\"Record function id\":9,"
        "\"Sequence number\":4,\"Fwd thread id\":0,"
        "\"Concrete Inputs\":[\"\", \"\", \"[64, -1]\", \"False\", \"1.\", "
        "\"0.10000000000000001\", \"\", \"\", \"\"],"
        "\"Input type\":[\"float\", \"TensorList\", \"ScalarList\", \"Scalar\", \"Scalar\", "
        "\"Scalar\", \"\", \"\", \"TensorList\"],"
        "\"Input Strides\":[[3, 1], [[1, 1], [6, 1]], [], [], [], [], [], [], []],"
        "\"Input Dims\":[[2, 3], [[6, 1], [1, 6]], [], [], [], [], [], [], []],"
        "\"alpha\":3,\"In msg nelems\":12}}");
    has_not("operator.in");
    has_not("numels");
}

static void a_chrome_trace_has_operators_with_their_inputs(void)
{
    record_operator("chrome.kymo");
    export_to("chrome.kymo", "chrome.json");

    check_operator();
}

static void attached_payloads_look_the_same(void)
{
    opmade_attached = true;
    record_operator("attached.kymo");
    opmade_attached = false;
    export_to("attached.kymo", "attached.json");

    check_operator();
}

static void an_operator_of_user_scope_is_an_annotation(void)
{
    struct opmade_op op = {.name = "## LOOP ##", .rf_id = 9, .seq = -1, .scope = 7};
    opmade_start(check_path("user.kymo"));
    opmade_enter(10, &op, &none);
    opmade_leave(20, &op, NULL);
    CHECK_OK(kymo_stop());
    export_to("user.kymo", "user.json");

    has("\"cat\":\"user_annotation\",\"name\":\"## LOOP ##\"");
    has("\"Record function id\":9");
    has_not("Sequence number");
}

static void names_alone_have_no_inputs(void)
{
    struct opmade_op names = {.name = "mm", .rf_id = 9, .seq = -1, .flags = 2},
                     bare = {.name = "bare"};
    opmade_start(check_path("names.kymo"));
    opmade_enter(10, &names, &none);
    opmade_leave(20, &names, NULL);
    opmade_enter(30, &bare, NULL);
    opmade_leave(40, &bare, NULL);
    CHECK_OK(kymo_stop());
    export_to("names.kymo", "names.json");

    CHECK_EQ(count_of("\"cpu_op\""), 2);
    CHECK_EQ(count_of("Record function id"), 2);
    has_not("Input Dims");
}

static struct opmade_op backward[2] = {
    {.name = "MmBackward0", .rf_id = 20, .seq = 5, .scope = 1, .thread = 2, .fw_thread = 1},
    {.name = "again", .rf_id = 21, .seq = 5, .scope = 1, .thread = 2, .fw_thread = 1}};

static void *go_back(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        opmade_enter(1000 + 10 * i, &backward[i], &none);
        opmade_leave(1005 + 10 * i, &backward[i], NULL);
    }
    return NULL;
}

/* The text of the line with PART, up to its end. */
static const char *line_with(const char *part)
{
    static char line[512];
    const char *at = strstr(text, part);
    if (!at)
        CHECK_FAIL("%s is not in\n%s", part, text);
    while (at > text && at[-1] != '\n')
        at--;
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

static void an_arrow_leads_from_forward_to_backward(void)
{
    struct opmade_op mm = {.name = "mm", .rf_id = 2, .seq = 5, .thread = 1};
    pthread_t thread;
    opmade_start(check_path("arrow.kymo"));
    opmade_enter(10, &mm, &none);
    opmade_leave(30, &mm, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, go_back, NULL), 0);
    pthread_join(thread, NULL);
    CHECK_OK(kymo_stop());
    export_to("arrow.kymo", "arrow.json");

    CHECK_EQ(count_of("\"cat\":\"fwdbwd\""), 2);
    const char *start = line_with("{\"ph\":\"s\"");
    CHECK(strstr(start, "\"id\":1,") && strstr(start, "\"name\":\"fwdbwd\""));
    const char *end = line_with("{\"ph\":\"f\",\"bp\":\"e\"");
    CHECK(strstr(end, "\"id\":1,"));
    has("\"Fwd thread id\":1");
}

/* However a thread is cut into pieces, an operator has the payload that came at its begin. */
static void pieces_do_not_lose_payloads(void)
{
    enum { TIMES = 4000 };
    struct opmade_op outer = {.name = "outer", .rf_id = 1000000, .seq = -1},
                     inner = {.name = "inner", .seq = -1};
    memset(&in, 0, sizeof(in));
    opmade_tensor(&in, 0x1000, 0x9000, 2, 3);
    opmade_start(check_path("pieces.kymo"));
    opmade_enter(1, &outer, &in);
    for (unsigned i = 0; i < TIMES; i++) {
        inner.rf_id = i + 1;
        opmade_enter(10 + 10 * i, &inner, &in);
        opmade_leave(15 + 10 * i, &inner, NULL);
    }
    opmade_leave(1000000, &outer, NULL);
    CHECK_OK(kymo_stop());
    kymo__crew_limit(2, 100);
    export_to("pieces.kymo", "pieces.json");
    kymo__crew_limit(0, 0);

    CHECK_EQ(count_of("\"Input Dims\":[[2, 3]]"), TIMES + 1);
    has("\"Record function id\":1000000");
    has("\"Record function id\":4000");
}

/* An annotation begins in one call and ends in another, and a thread may be cut in between. */
static void an_annotation_in_parts_keeps_its_id_and_text(void)
{
    enum { TIMES = 4000 };
    struct opmade_op step = {.name = "step", .rf_id = 1000000, .seq = -1, .scope = 7};
    memset(&in, 0, sizeof(in));
    opmade_text(&in, OPMADE_TEXT, "its text");
    opmade_start(check_path("parts.kymo"));
    uint32_t begin = opmade_key("__enter__", KYMO_CLASS_FUNCTION),
             end = opmade_key("__exit__", KYMO_CLASS_FUNCTION),
             work = opmade_key("work", KYMO_CLASS_FUNCTION);
    opmade_record(1, KYMO_ENTER, begin);
    opmade_enter(2, &step, &in);
    opmade_record(3, KYMO_LEAVE, begin);
    for (unsigned i = 0; i < TIMES; i++) {
        opmade_record(10 + 10 * i, KYMO_ENTER, work);
        opmade_record(15 + 10 * i, KYMO_LEAVE, work);
    }
    opmade_record(1000000, KYMO_ENTER, end);
    opmade_leave(1000001, &step, NULL);
    opmade_record(1000002, KYMO_LEAVE, end);
    CHECK_OK(kymo_stop());
    kymo__crew_limit(2, 100);
    export_to("parts.kymo", "parts.json");
    kymo__crew_limit(0, 0);

    CHECK_EQ(count_of("\"name\":\"work\""), TIMES);
    CHECK_EQ(count_of("\"name\":\"part: step\""), 1);
    const char *whole = line_with("\"name\":\"step\"");
    CHECK(strstr(whole, "\"Record function id\":1000000") &&
          strstr(whole, "\"args\":\"its text\""));
}

static void running_out_of_memory_is_an_error(void)
{
    struct kymo_capture *capture;
    record_operator("memory.kymo");
    CHECK_OK(kymo_open(check_path("memory.kymo"), &capture));
    kymo__crew_limit(1, 0);
    int rc = -ENOMEM, n = 0;
    for (; rc < 0 && n < 3000; n++) {
        kymo__alloc_fail_after(n);
        rc = kymo_export(capture, check_path("memory.json"), NULL);
        kymo__alloc_fail_after(-1);
        if (rc < 0)
            CHECK_EQ(rc, -ENOMEM);
    }
    kymo__crew_limit(0, 0);
    kymo_close(capture);
    CHECK_EQ(rc, 0);
    load_text(check_path("memory.json"));
    check_operator();
}

static const struct check_case cases[] = {
    CHECK_CASE(a_chrome_trace_has_operators_with_their_inputs),
    CHECK_CASE(attached_payloads_look_the_same),
    CHECK_CASE(an_operator_of_user_scope_is_an_annotation),
    CHECK_CASE(names_alone_have_no_inputs),
    CHECK_CASE(an_arrow_leads_from_forward_to_backward),
    CHECK_CASE(pieces_do_not_lose_payloads),
    CHECK_CASE(an_annotation_in_parts_keeps_its_id_and_text),
    CHECK_CASE(running_out_of_memory_is_an_error),
};

CHECK_MAIN(cases)
