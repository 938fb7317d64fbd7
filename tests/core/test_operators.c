/* Operators recorded with op.h, and what a capture then says about them. */
#include <kymo/kymo.h>
#include <kymo/lane.h>
#include <kymo/op.h>
#include <kymo/payload.h>
#include <pthread.h>

#include "opsaid.h"

/* ---- cases ---- */

static void an_operator_is_a_call_with_a_note_of_its_inputs_and_outputs(void)
{
    static const int64_t shape[] = {3, 4}, strides[] = {4, 1};
    const struct kymo_op_value in[] = {
        {.kind = KYMO_OP_TENSOR,
         .tensor = {.tensor = 100,
                    .storage = 200,
                    .offset = 5,
                    .numel = 12,
                    .shape = shape,
                    .strides = strides,
                    .dtype = "float",
                    .device = "cpu",
                    .dims = 2,
                    .itemsize = 4}},
        {.kind = KYMO_OP_LIST, .count = 2},
        {.kind = KYMO_OP_INT, .integer = -3},
        {.kind = KYMO_OP_TUPLE, .count = 1},
        {.kind = KYMO_OP_BOOL, .integer = 1},
        {.kind = KYMO_OP_FLOAT, .name = "alpha", .real = 0.5},
        {.kind = KYMO_OP_TEXT, .text = {"tanh", 4}},
        {.kind = KYMO_OP_COMPLEX, .complex_parts = {1, 2}},
        {.kind = KYMO_OP_NONE},
        {.kind = KYMO_OP_UNDEFINED},
    };
    const struct kymo_op_value out[] = {{.kind = KYMO_OP_DEVICE, .text = {"cuda:1", 6}}};
    begin("whole");
    struct kymo_op op = kymo_op_begin(&(struct kymo_operator){.size = sizeof(struct kymo_operator),
                                                              .name = "aten::mm",
                                                              .schema = "out",
                                                              .id = 41,
                                                              .sequence = 9,
                                                              .thread = 1,
                                                              .forward_thread = 2,
                                                              .scope = 1,
                                                              .inputs = in,
                                                              .input_count = 10});
    kymo_op_end(op, out, 1);
    CHECK_EQ(finish(), 0);
    CHECK_STR(said, "enter operator aten::mm\n"
                    "operator.in: rf_id=41 seq=9 scope=1 thread=1 fw_thread=2 schema='out'"
                    " kinds=[1 7 2 8 3 4 5 10 0 11] ints=[2 -3 1 1] floats=[0.5 1 2] texts=['tanh']"
                    " names=['' '' 'alpha' '' '' '' ''] tensors=[100] storages=[200] offsets=[5]"
                    " numels=[12] itemsizes=[4] dtypes=['float'] devices=['cpu'] marks=[0]"
                    " shapes=[[3 4]] strides=[[4 1]]\n"
                    "operator.out: rf_id=41 kinds=[6] texts=['cuda:1']\n"
                    "leave operator aten::mm\n");
}

static void what_means_nothing_is_left_out_of_an_odd_tensor(void)
{
    static const int64_t shape[] = {2}, strides[] = {1};
    struct kymo_op_value in[2] = {{.kind = KYMO_OP_TENSOR,
                                   .tensor = {.tensor = 1,
                                              .shape = shape,
                                              .strides = strides,
                                              .dims = 1,
                                              .marks = KYMO_OP_NOT_PLAIN}}};
    in[1] = in[0];
    in[1].tensor.marks |= KYMO_OP_OPAQUE;
    begin("odd");
    kymo_op_end(open_op("sparse", in, 2), NULL, 0);
    CHECK_EQ(finish(), 0);
    CHECK(strstr(said, " marks=[1 3] shapes=[[2] []] strides=[[] []]\n") != NULL);
}

static void operators_nest_and_one_without_outputs_has_no_note_of_them(void)
{
    begin("nest");
    struct kymo_op outer = open_op("outer", NULL, 0), inner = open_op("inner", NULL, 0);
    kymo_op_end(inner, NULL, 0);
    kymo_op_end(outer, NULL, 0);
    CHECK_EQ(finish(), 0);
    CHECK_STR(said, "enter operator outer\noperator.in: rf_id=7 seq=-1\n"
                    "enter operator inner\noperator.in: rf_id=7 seq=-1\n"
                    "leave operator inner\nleave operator outer\n");
}

static void a_name_is_looked_up_by_its_text(void)
{
    char name[8] = "first";
    begin("text");
    kymo_op_end(open_op(name, NULL, 0), NULL, 0);
    strcpy(name, "other");
    kymo_op_end(open_op(name, NULL, 0), NULL, 0);
    struct kymo_op again = open_op("first", NULL, 0), same = open_op("first", NULL, 0);
    CHECK_EQ(again.key, same.key);
    kymo_op_end(same, NULL, 0);
    kymo_op_end(again, NULL, 0);
    CHECK_EQ(finish(), 0);
    CHECK(strstr(said, "enter operator other\n") != NULL);
}

static void many_names_keep_their_keys(void)
{
    enum { NAMES = 3000 };
    uint32_t keys[NAMES];
    char name[32];
    begin("names");
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < NAMES; i++) {
            snprintf(name, sizeof(name), "operator %d", i);
            struct kymo_op op = open_op(name, NULL, 0);
            CHECK(op.key != 0);
            if (round)
                CHECK_EQ(op.key, keys[i]);
            keys[i] = op.key;
            kymo_op_end(op, NULL, 0);
        }
    CHECK_EQ(finish(), 0);
}

static void a_new_session_names_operators_again(void)
{
    static const char name[] = "the same address";
    for (int i = 0; i < 2; i++) {
        begin("again");
        kymo_op_end(open_op(i ? name : "another", NULL, 0), NULL, 0);
        kymo_op_end(open_op(name, NULL, 0), NULL, 0);
        CHECK_EQ(finish(), 0);
        CHECK(strstr(said, "enter operator the same address\n") != NULL);
    }
}

static void numbers_of_every_size_are_kept(void)
{
    enum { BITS = 63 };
    struct kymo_op_value in[2 * BITS];
    char expected[8192];
    size_t length = 0;
    for (unsigned i = 0; i < BITS; i++) {
        int64_t power = INT64_C(1) << i;
        in[2 * i] = (struct kymo_op_value){.kind = KYMO_OP_INT, .integer = power - 1};
        in[2 * i + 1] = (struct kymo_op_value){.kind = KYMO_OP_INT, .integer = -power};
        length +=
            (size_t)snprintf(expected + length, sizeof(expected) - length, "%s%" PRId64 " %" PRId64,
                             i ? " " : " ints=[", power - 1, -power);
    }
    snprintf(expected + length, sizeof(expected) - length, "]\n");
    begin("sizes");
    kymo_op_end(open_op("numbers", in, sizeof(in) / sizeof(in[0])), NULL, 0);
    for (unsigned i = 0; i < 64; i++)
        kymo_op_end(kymo_op_begin(&(struct kymo_operator){.size = sizeof(struct kymo_operator),
                                                          .name = "plain",
                                                          .id = UINT64_MAX >> i,
                                                          .sequence = INT64_MIN >> i,
                                                          .thread = UINT64_MAX >> i,
                                                          .forward_thread = UINT64_C(1) << i}),
                    NULL, 0);
    CHECK_EQ(finish(), 0);
    CHECK(strstr(said, expected) != NULL);
    for (unsigned i = 0; i < 64; i++) {
        snprintf(expected, sizeof(expected),
                 "operator.in: rf_id=%" PRIu64 " seq=%" PRId64 " thread=%" PRIu64
                 " fw_thread=%" PRIu64 "\n",
                 UINT64_MAX >> i, INT64_MIN >> i, UINT64_MAX >> i, UINT64_C(1) << i);
        CHECK(strstr(said, expected) != NULL);
    }
}

static void very_long_lists_are_in_parts_before_the_operator(void)
{
    enum { MANY = 300 };
    struct kymo_op_value *in = calloc(MANY + 1, sizeof(*in));
    in[0] = (struct kymo_op_value){.kind = KYMO_OP_LIST, .count = MANY};
    for (size_t i = 1; i <= MANY; i++)
        in[i] = (struct kymo_op_value){.kind = KYMO_OP_UNDEFINED};
    begin("long");
    struct kymo_op op = open_op("cat", in, MANY + 1);
    kymo_op_end(op, in, MANY + 1);
    free(in);
    CHECK_EQ(finish(), 0);
    CHECK_EQ(occurrences("operator.part: kinds=[7 11 11"), 2);
    CHECK_EQ(occurrences("operator.part: first=128 kinds=[11 11"), 2);
    CHECK_EQ(occurrences("operator.part: first=256 kinds=[11 11"), 2);
    CHECK_EQ(occurrences("]\nenter operator cat\noperator.in: rf_id=7 seq=-1 flags=77060\n"), 1);
    CHECK_EQ(occurrences("]\noperator.out: rf_id=7 flags=77060\nleave"), 1); /* 301 << 8 | 4 */
    CHECK_EQ(occurrences("11 ") + occurrences("11]"), 2 * MANY);
}

static void arguments_too_large_for_a_note_are_in_parts(void)
{
    enum { TEXTS = 100, LONG = 2000 };
    static struct kymo_op_value in[TEXTS];
    static char text[LONG];
    memset(text, 'x', sizeof(text));
    memcpy(text + KYMO_OP_TEXT_MOST - 1, "\xc3\xa9", 2); /* é, across the limit */
    for (size_t i = 0; i < TEXTS; i++)
        in[i] = (struct kymo_op_value){.kind = KYMO_OP_TEXT, .text = {text, LONG}};
    begin("large");
    kymo_op_end(open_op("print", in, TEXTS), NULL, 0);
    CHECK_EQ(finish(), 0);
    CHECK_EQ(occurrences(" flags=25604\n"), 1); /* 100 << 8 | 4 */
    CHECK_EQ(occurrences("'x"), TEXTS);
    CHECK_EQ(occurrences("\xc3"), 0);
}

static void ids_are_chosen_for_operators_without_one(void)
{
    begin("ids");
    const struct kymo_operator what = {.size = sizeof what, .name = "mine", .sequence = -1};
    struct kymo_op first = kymo_op_begin(&what), second = kymo_op_begin(&what);
    CHECK(first.id && second.id && first.id != second.id);
    kymo_op_end(second, NULL, 0);
    kymo_op_end(first, NULL, 0);
    CHECK_EQ(finish(), 0);
}

static void attributes_are_noted_with_the_id_of_their_operator(void)
{
    const struct kymo_op_attribute attributes[] = {
        {.name = "Collective name", .text = "allreduce", .length = 9},
        {.name = "stream", .text = "7", .length = 1, .kind = KYMO_OP_ATTRIBUTE_INTEGER},
    };
    begin("attributes");
    struct kymo_op op = open_op("nccl:all_reduce", NULL, 0);
    kymo_op_attributes(op, attributes, 2);
    kymo_op_end(op, NULL, 0);
    CHECK_EQ(finish(), 0);
    CHECK(strstr(said, "operator.attributes: rf_id=7 names=['Collective name' 'stream']"
                       " texts=['allreduce' '7'] kinds=[0 1]\n") != NULL);
}

static void nothing_happens_without_a_session_or_after_its_end(void)
{
    struct kymo_op off = open_op("off", NULL, 0);
    CHECK_EQ(off.key, 0);
    kymo_op_end(off, NULL, 0);
    begin("earlier");
    struct kymo_op open = open_op("open", NULL, 0);
    CHECK_EQ(finish(), 0);
    begin("later");
    struct kymo_op_value none = {.kind = KYMO_OP_NONE};
    kymo_op_end(open, NULL, 0);
    kymo_op_end(open, &none, 1);
    kymo_op_attributes(open, &(struct kymo_op_attribute){.name = "a", .text = "b", .length = 1}, 1);
    CHECK_EQ(finish(), 0);
    CHECK_STR(said, "");
}

enum { THREADS = 4, EACH = 2000 };

static void *work(void *arg)
{
    static const char *const names[] = {"aten::add", "aten::mul", "aten::mm"};
    for (int i = 0; i < EACH; i++) {
        struct kymo_op_value in = {.kind = KYMO_OP_INT, .integer = i};
        kymo_op_end(open_op(names[i % 3], &in, 1), &in, 1);
    }
    return arg;
}

static void threads_record_at_the_same_time(void)
{
    pthread_t threads[THREADS];
    begin("threads");
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct kymo_stats stats = {.size = sizeof stats};
    CHECK_OK(kymo_stats(&stats));
    CHECK_OK(kymo_stop());
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof event};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    long enters = 0, leaves = 0, notes = 0;
    while (kymo_cursor_next(cursor, &event) > 0) {
        enters += event.kind == KYMO_ENTER;
        leaves += event.kind == KYMO_LEAVE;
        notes += event.kind == KYMO_PAYLOAD;
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
    CHECK_EQ(enters, THREADS * EACH);
    CHECK_EQ(leaves, THREADS * EACH);
    CHECK_EQ(notes, 2 * THREADS * EACH);
}

static const struct check_case cases[] = {
    CHECK_CASE(an_operator_is_a_call_with_a_note_of_its_inputs_and_outputs),
    CHECK_CASE(what_means_nothing_is_left_out_of_an_odd_tensor),
    CHECK_CASE(operators_nest_and_one_without_outputs_has_no_note_of_them),
    CHECK_CASE(a_name_is_looked_up_by_its_text),
    CHECK_CASE(many_names_keep_their_keys),
    CHECK_CASE(a_new_session_names_operators_again),
    CHECK_CASE(numbers_of_every_size_are_kept),
    CHECK_CASE(very_long_lists_are_in_parts_before_the_operator),
    CHECK_CASE(arguments_too_large_for_a_note_are_in_parts),
    CHECK_CASE(ids_are_chosen_for_operators_without_one),
    CHECK_CASE(attributes_are_noted_with_the_id_of_their_operator),
    CHECK_CASE(nothing_happens_without_a_session_or_after_its_end),
    CHECK_CASE(threads_record_at_the_same_time),
};

CHECK_MAIN(cases)
