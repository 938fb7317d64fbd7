/* Operators with more values than one note holds: recorded in parts, and joined when they are read. */
#include <kymo/exports.h>
#include <kymo/kymo.h>
#include <kymo/op.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "operators.h"

static struct kymo_capture *capture;
static struct kymo_opcall read_op; /* the last that ended; its values belong to us */
static size_t read_count;

static int on_end(void *arg, struct kymo_opcall *op)
{
    (void)arg;
    struct kymo_opcall before = read_op;
    read_op = *op;
    *op = before;
    read_count++;
    return 0;
}

static void begin(const char *name)
{
    CHECK_OK(kymo_start(
        &(struct kymo_options){.size = sizeof(struct kymo_options), .path = check_path(name)}));
}

static void read_back(const char *name)
{
    const struct kymo_ops_visitor visitor = {.end = on_end};
    const struct kymo_export_options options = {
        .size = sizeof options, .from = INT64_MIN, .to = INT64_MAX, .thread = -1};
    CHECK_OK(kymo_stop());
    read_count = 0;
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(kymo__operators_read(capture, &options, &visitor));
    CHECK_EQ(read_count, 1);
}

static void forget(void)
{
    kymo__opcall_fini(&read_op);
    memset(&read_op, 0, sizeof(read_op));
    kymo_close(capture);
}

static struct kymo_operator called(const char *name)
{
    return (struct kymo_operator){
        .size = sizeof(struct kymo_operator), .name = name, .sequence = -1};
}

/* A list of COUNT tensors and integers by turns, and an argument after it. */
static struct kymo_op_value *mixed_list(size_t count)
{
    static const int64_t shape[] = {2, 300}, strides[] = {300, 1};
    struct kymo_op_value *in = calloc(count + 2, sizeof(*in));
    in[0] = (struct kymo_op_value){.kind = KYMO_OP_LIST, .count = count};
    for (size_t i = 0; i < count; i++)
        in[i + 1] = i % 2 ? (struct kymo_op_value){.kind = KYMO_OP_INT, .integer = (int64_t)i}
                          : (struct kymo_op_value){.kind = KYMO_OP_TENSOR,
                                                   .tensor = {.tensor = 1000 + i,
                                                              .storage = 7,
                                                              .offset = (int64_t)i,
                                                              .numel = 600,
                                                              .shape = shape,
                                                              .strides = strides,
                                                              .dtype = "float",
                                                              .device = "cpu",
                                                              .dims = 2,
                                                              .itemsize = 4}};
    in[count + 1] = (struct kymo_op_value){.kind = KYMO_OP_FLOAT, .name = "alpha", .real = 0.5};
    return in;
}

static void check_mixed(const struct kymo_opdata *values, size_t count)
{
    CHECK_EQ(values->cut, false);
    CHECK_EQ(values->count, count + 2);
    CHECK_EQ(values->top, 2);
    CHECK_EQ(values->all[0].count, count);
    for (size_t i = 0; i < count; i++) {
        struct kymo_opdatum *value = &values->all[i + 1];
        CHECK_EQ(value->kind, i % 2 ? KYMO_OP_INT : KYMO_OP_TENSOR);
        CHECK(value->name == NULL);
        if (i % 2) {
            CHECK_EQ(value->integer, (int64_t)i);
            continue;
        }
        CHECK_EQ(value->tensor, 1000 + i);
        CHECK_EQ(value->offset, (int64_t)i);
        CHECK_STR(value->dtype, "float");
        struct kymo_op_list shape = value->shape;
        CHECK_EQ(kymo__op_list_int(&shape), 2);
        CHECK_EQ(kymo__op_list_int(&shape), 300);
        CHECK_EQ(shape.left, 0);
    }
    CHECK_STR(values->all[count + 1].name, "alpha");
    CHECK(values->all[count + 1].real == 0.5);
}

static void all_inputs_and_outputs_are_read_back(void)
{
    static const size_t counts[] = {20, 100, 126, 127, 128, 513, 5000, 65534};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct kymo_op_value *in = mixed_list(counts[i]);
        struct kymo_operator what = called("cat");
        what.inputs = in;
        what.input_count = counts[i] + 2;
        begin("parts.kymo");
        kymo_op_end(kymo_op_begin(&what), in, counts[i] + 2);
        read_back("parts.kymo");
        free(in);

        check_mixed(&read_op.inputs, counts[i]);
        check_mixed(&read_op.outputs, counts[i]);
        forget();
    }
}

static void more_values_than_are_recorded_are_cut(void)
{
    enum { MANY = 70000 };
    struct kymo_op_value *in = mixed_list(MANY);
    struct kymo_operator what = called("cat");
    what.inputs = in;
    what.input_count = MANY + 2;
    begin("many.kymo");
    kymo_op_end(kymo_op_begin(&what), in, MANY + 2);
    read_back("many.kymo");
    free(in);

    CHECK_EQ(read_op.inputs.cut, true);
    CHECK_EQ(read_op.outputs.cut, true);
    CHECK_EQ(read_op.inputs.count, KYMO_OP_VALUES_MOST);
    CHECK_EQ(read_op.inputs.all[0].integer, MANY);
    CHECK_EQ(read_op.inputs.all[0].count, KYMO_OP_VALUES_MOST - 1);
    forget();
}

static void parts_are_joined_wherever_lists_begin_and_end(void)
{
    const struct kymo_op_value list = {.kind = KYMO_OP_LIST, .count = 3};
    const struct kymo_op_value one = {.kind = KYMO_OP_INT, .integer = 1},
                               two = {.kind = KYMO_OP_INT, .name = "two", .integer = 2};
    struct kymo_op_parts parts = {0}, out = {0};
    struct kymo_operator what = called("cat");
    begin("between.kymo");
    kymo_op_part(&parts, &list, 1);
    for (int i = 0; i < 4; i++)
        kymo_op_part(&parts, i < 3 ? &one : &two, 1);
    what.flags = kymo_op_parts_flags(&parts);
    struct kymo_op op = kymo_op_begin(&what);
    kymo_op_part(&out, &one, 1);
    kymo_op_end_parts(op, &out);
    read_back("between.kymo");

    CHECK_EQ(read_op.inputs.cut, false);
    CHECK_EQ(read_op.inputs.count, 5);
    CHECK_EQ(read_op.inputs.top, 2);
    CHECK_EQ(read_op.inputs.all[0].count, 3);
    CHECK_STR(read_op.inputs.all[4].name, "two");
    CHECK_EQ(read_op.outputs.count, 1);
    CHECK_EQ(read_op.outputs.cut, false);
    forget();
}

static void a_part_that_is_lost_cuts_the_values(void)
{
    static int64_t shape[30000];
    const struct kymo_op_value one = {.kind = KYMO_OP_INT, .integer = 1};
    const struct kymo_op_value large = {
        .kind = KYMO_OP_TENSOR,
        .tensor = {.shape = shape, .dims = 30000, .dtype = "x", .device = "cpu"}};
    struct kymo_op_parts parts = {0};
    struct kymo_operator what = called("cat");
    begin("lost.kymo");
    kymo_op_part(&parts, &one, 1);
    kymo_op_part(&parts, &large, 1); /* no note has room for it */
    kymo_op_part(&parts, &one, 1);
    what.flags = kymo_op_parts_flags(&parts);
    kymo_op_end(kymo_op_begin(&what), NULL, 0);
    read_back("lost.kymo");

    CHECK_EQ(read_op.inputs.cut, true);
    CHECK_EQ(read_op.inputs.count, 1);
    forget();
}

static void parts_of_another_operator_are_not_taken(void)
{
    const struct kymo_op_value one = {.kind = KYMO_OP_INT, .integer = 1};
    struct kymo_op_parts none = {0}, lost = {0};
    struct kymo_operator what = called("cat");
    begin("other.kymo");
    kymo_op_part(&lost, &one, 1); /* whose operator is not recorded */
    what.flags = kymo_op_parts_flags(&none) | 5u << 8;
    kymo_op_end(kymo_op_begin(&what), NULL, 0);
    read_back("other.kymo");

    CHECK_EQ(read_op.inputs.cut, true);
    forget();
}

static void *record_many(void *arg)
{
    struct kymo_operator what = called("cat");
    what.inputs = arg;
    what.input_count = 5002;
    kymo_op_end(kymo_op_begin(&what), arg, 5002);
    return NULL;
}

static void a_thread_with_a_small_stack_records_many_values(void)
{
    enum { STACK = 64 << 10 };
    long least = sysconf(_SC_THREAD_STACK_MIN); /* 128 KiB on aarch64 */
    struct kymo_op_value *in = mixed_list(5000);
    pthread_attr_t small;
    pthread_t thread;
    CHECK_EQ(pthread_attr_init(&small), 0);
    CHECK_EQ(pthread_attr_setstacksize(&small, least > STACK ? (size_t)least : STACK), 0);
    begin("small.kymo");
    CHECK_EQ(pthread_create(&thread, &small, record_many, in), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    read_back("small.kymo");
    pthread_attr_destroy(&small);
    free(in);

    check_mixed(&read_op.inputs, 5000);
    check_mixed(&read_op.outputs, 5000);
    forget();
}

static const struct check_case cases[] = {
    CHECK_CASE(all_inputs_and_outputs_are_read_back),
    CHECK_CASE(more_values_than_are_recorded_are_cut),
    CHECK_CASE(parts_are_joined_wherever_lists_begin_and_end),
    CHECK_CASE(a_part_that_is_lost_cuts_the_values),
    CHECK_CASE(parts_of_another_operator_are_not_taken),
    CHECK_CASE(a_thread_with_a_small_stack_records_many_values),
};

CHECK_MAIN(cases)
