/* Operators rebuilt from a capture: values, parents, forward operators, and ids of tensors. */
#include <errno.h>
#include <kymo/kymo.h>
#include <math.h>
#include <pthread.h>

#include "alloc.h"
#include "check.h"
#include "operators.h"
#include "opmade.h"

enum { SEEN_MOST = 2048 };

/* What of an operator the tests look at. */
static struct seen {
    char name[64], schema[64], first_text[64], attribute[64];
    uint64_t id, parent, before, forward, rf_id, tid, fw_tid;
    int64_t seq;
    uint32_t scope, thread;
    kymo_ns start, end, own;
    uint8_t flags;
    struct kymo_opdatum inputs[16], outputs[4];
    size_t input_count, output_count;
} seen[SEEN_MOST];
static size_t seen_count, thread_count;
static struct kymo_op_thread threads[8];
static struct kymo_op_link links[8];
static size_t link_count;

static int on_thread(void *arg, const struct kymo_op_thread *thread)
{
    (void)arg;
    threads[thread_count++] = *thread;
    return 0;
}

static int on_link(void *arg, const struct kymo_op_link *link)
{
    (void)arg;
    links[link_count++] = *link;
    return 0;
}

static void copy_text(char to[64], const char *text, size_t length)
{
    snprintf(to, 64, "%.*s", (int)length, text);
}

static int on_end(void *arg, struct kymo_opcall *op)
{
    (void)arg;
    struct seen *s = &seen[seen_count++];
    memset(s, 0, sizeof(*s));
    copy_text(s->name, op->name, strlen(op->name));
    copy_text(s->schema, op->schema, strlen(op->schema));
    if (op->attribute_count)
        snprintf(s->attribute, sizeof(s->attribute), "%s=%.*s", op->attributes[0].name,
                 (int)op->attributes[0].length, op->attributes[0].text);
    s->id = op->id;
    s->parent = op->parent;
    s->before = op->before;
    s->forward = op->forward;
    s->rf_id = op->rf_id;
    s->tid = op->tid;
    s->fw_tid = op->fw_tid;
    s->seq = op->seq;
    s->scope = op->scope;
    s->thread = op->thread;
    s->start = op->start;
    s->end = op->end;
    s->own = op->own;
    s->flags = op->flags;
    for (size_t i = 0; i < op->inputs.count && i < 16; i++) {
        s->inputs[s->input_count++] = op->inputs.all[i];
        if (op->inputs.all[i].kind == KYMO_OP_TEXT)
            copy_text(s->first_text, op->inputs.all[i].text, op->inputs.all[i].length);
    }
    for (size_t i = 0; i < op->outputs.count && i < 4; i++)
        s->outputs[s->output_count++] = op->outputs.all[i];
    return 0;
}

static struct kymo_export_options everything(void)
{
    return (struct kymo_export_options){
        .size = sizeof(struct kymo_export_options), .to = INT64_MAX, .thread = -1};
}

static int read_part(struct kymo_capture *capture, const struct kymo_export_options *options)
{
    const struct kymo_ops_visitor visitor = {.thread = on_thread, .end = on_end, .link = on_link};
    seen_count = thread_count = link_count = 0;
    return kymo__operators_read(capture, options, &visitor);
}

static struct kymo_capture *capture;

/* Stop, and read the operators of the capture, which stays open. */
static void read_all(const char *name)
{
    struct kymo_export_options options = everything();
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(read_part(capture, &options));
}

static const struct seen *find(const char *name)
{
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i].name, name) == 0)
            return &seen[i];
    CHECK_FAIL("there is no operator %s", name);
}

/* ---- cases ---- */

static void operators_nest_and_have_parents(void)
{
    static struct opmade_values none;
    struct opmade_op outer = {.name = "aten::linear",
                              .rf_id = 11,
                              .seq = -1,
                              .thread = 1,
                              .schema = "aten::linear(Tensor x) -> Tensor"},
                     inner = {.name = "aten::mm", .rf_id = 12, .seq = 7, .thread = 1};
    opmade_start(check_path("nest.kymo"));
    opmade_enter(1000, &outer, &none);
    uint32_t python = opmade_key("forward", KYMO_CLASS_FUNCTION);
    opmade_record(1500, KYMO_ENTER, python);
    opmade_enter(2000, &inner, &none);
    opmade_attribute(2100, &inner, "kernel_file", "a/b.py", 0);
    opmade_leave(3000, &inner, &none);
    opmade_record(3500, KYMO_LEAVE, python);
    opmade_leave(5000, &outer, &none);
    read_all("nest.kymo");

    CHECK_EQ(seen_count, 2);
    CHECK_EQ(thread_count, 1);
    CHECK_STR(seen[0].name, "aten::mm");
    const struct seen *mm = &seen[0], *linear = &seen[1];
    CHECK_EQ(threads[0].id, 2);
    CHECK_EQ(threads[0].tid, 1);
    CHECK_EQ(linear->id, 3);
    CHECK_EQ(linear->parent, 2);
    CHECK_EQ(linear->before, 2);
    CHECK_EQ(mm->id, 4);
    CHECK_EQ(mm->parent, 3);
    CHECK_EQ(mm->before, 3);
    CHECK_EQ(mm->rf_id, 12);
    CHECK_EQ(mm->seq, 7);
    CHECK_EQ(linear->seq, -1);
    CHECK_STR(linear->schema, "aten::linear(Tensor x) -> Tensor");
    CHECK_STR(mm->attribute, "kernel_file=a/b.py");
    CHECK_EQ(mm->end - mm->start, 1000);
    CHECK_EQ(linear->end - linear->start, 4000);
    CHECK_EQ(linear->own, 3000);
    kymo_close(capture);
}

/* Every kind of value, some of them nested. */
static void make_values(struct opmade_values *v)
{
    memset(v, 0, sizeof(*v));
    opmade_int(v, OPMADE_INT, -5);
    opmade_int(v, OPMADE_LIST, 2);
    opmade_tensor(v, 0x1000, 0x9000, 2, 3)->offset = 4;
    opmade_tensor(v, 0x2000, 0, 1, 1)->marks = KYMO_OP_OPAQUE;
    opmade_int(v, OPMADE_TUPLE, 2);
    opmade_int(v, OPMADE_LIST, 0);
    opmade_int(v, OPMADE_BOOL, 1);
    opmade_float(v, 1e-8);
    opmade_text(v, OPMADE_TEXT, "a \"quoted\" text");
    opmade_kind(v, OPMADE_COMPLEX);
    v->floats[v->float_count++] = 1.5;
    v->floats[v->float_count++] = -2;
    opmade_text(v, OPMADE_DEVICE, "cuda:0");
    opmade_kind(v, OPMADE_UNDEFINED);
    opmade_kind(v, OPMADE_NONE);
    v->names[0] = NULL;
    v->names[1] = "others";
    v->name_count = 2;
}

static void check_values(const struct seen *s)
{
    static const uint8_t kinds[] = {2, 7, 1, 1, 8, 7, 3, 4, 5, 10, 6, 11, 0};
    CHECK_EQ(s->input_count, sizeof(kinds));
    for (size_t i = 0; i < sizeof(kinds); i++)
        CHECK_EQ(s->inputs[i].kind, kinds[i]);
    const struct kymo_opdatum *v = s->inputs;
    CHECK_EQ(v[0].integer, -5);
    CHECK(!v[0].name);
    CHECK_STR(v[1].name, "others");
    CHECK_EQ(v[1].count, 2);
    CHECK_EQ(v[1].after, 4);
    CHECK_EQ(v[2].numel, 6);
    CHECK_EQ(v[2].offset, 4);
    CHECK_EQ(v[2].itemsize, 4);
    CHECK_STR(v[2].dtype, "float");
    CHECK_STR(v[2].device, "cpu");
    CHECK_EQ(v[2].shape.left, 2);
    CHECK_EQ(v[2].strides.left, 2);
    CHECK_EQ(v[3].storage_id, 0);
    CHECK_EQ(v[3].marks, KYMO_OP_OPAQUE);
    CHECK_EQ(v[4].count, 2);
    CHECK_EQ(v[5].count, 0);
    CHECK_EQ(v[6].integer, 1);
    CHECK(v[7].real == 1e-8);
    CHECK_STR(s->first_text, "a \"quoted\" text");
    CHECK(v[9].real == 1.5 && v[9].imaginary == -2);
    CHECK_EQ(v[12].after, 13);
}

static void values_come_back_as_recorded(void)
{
    static struct opmade_values v;
    struct opmade_op op = {.name = "custom", .rf_id = 1, .seq = -1};
    opmade_start(check_path("values.kymo"));
    make_values(&v);
    opmade_enter(10, &op, &v);
    opmade_leave(20, &op, &v);
    read_all("values.kymo");

    check_values(&seen[0]);
    CHECK_EQ(seen[0].output_count, 4);
    kymo_close(capture);
}

static void payloads_may_be_attached_to_the_events(void)
{
    static struct opmade_values v;
    struct opmade_op op = {.name = "custom", .rf_id = 1, .seq = -1};
    opmade_attached = true;
    opmade_start(check_path("attached.kymo"));
    make_values(&v);
    opmade_enter(10, &op, &v);
    opmade_leave(20, &op, &v);
    opmade_attached = false;
    read_all("attached.kymo");

    check_values(&seen[0]);
    CHECK_EQ(seen[0].output_count, 4);
    CHECK_EQ(seen[0].end - seen[0].start, 10);
    kymo_close(capture);
}

static void a_list_that_was_cut_has_what_is_left(void)
{
    static struct opmade_values v;
    struct opmade_op op = {.name = "cat", .rf_id = 1, .seq = -1, .flags = KYMO_OP_CUT};
    opmade_start(check_path("cut.kymo"));
    memset(&v, 0, sizeof(v));
    opmade_int(&v, OPMADE_LIST, 5000);
    for (int i = 0; i < 3; i++)
        opmade_int(&v, OPMADE_INT, i);
    opmade_enter(10, &op, &v);
    opmade_leave(20, &op, NULL);
    read_all("cut.kymo");

    CHECK_EQ(seen[0].inputs[0].integer, 5000);
    CHECK_EQ(seen[0].inputs[0].count, 3);
    CHECK_EQ(seen[0].inputs[0].after, 4);
    kymo_close(capture);
}

static void lists_nested_without_end_are_emptied(void)
{
    static struct opmade_values v;
    struct opmade_op op = {.name = "deep", .rf_id = 1, .seq = -1};
    opmade_start(check_path("deep.kymo"));
    memset(&v, 0, sizeof(v));
    for (int i = 0; i < 8000; i++)
        opmade_int(&v, OPMADE_LIST, 1);
    opmade_enter(10, &op, &v);
    opmade_leave(20, &op, NULL);
    read_all("deep.kymo");

    CHECK_EQ(seen[0].inputs[0].count, 1);
    CHECK_EQ(seen[0].inputs[0].after, 8000);
    kymo_close(capture);
}

/* Record an operator with one input and one output; an address of 0: there is none. */
static void call(uint64_t time, const char *name, uint64_t in, uint64_t in_storage, uint64_t out,
                 uint64_t out_storage)
{
    static struct opmade_values inputs, outputs;
    static uint64_t rf_id;
    struct opmade_op op = {.name = name, .rf_id = ++rf_id, .seq = -1, .thread = 1};
    memset(&inputs, 0, sizeof(inputs));
    memset(&outputs, 0, sizeof(outputs));
    if (in)
        opmade_tensor(&inputs, in, in_storage, 2, 2);
    if (out)
        opmade_tensor(&outputs, out, out_storage, 2, 2);
    opmade_enter(time, &op, &inputs);
    opmade_leave(time + 5, &op, &outputs);
}

static void an_address_used_again_is_another_tensor(void)
{
    enum { TIMES = 250 };
    opmade_start(check_path("reuse.kymo"));
    for (uint64_t i = 0; i < TIMES; i++) {
        call(100 * i + 10, "rand", 0, 0, 0x1000, 0x9000);
        call(100 * i + 20, "relu", 0x1000, 0x9000, 0x2000, 0x9100);
    }
    read_all("reuse.kymo");

    CHECK_EQ(seen_count, 2 * TIMES);
    for (size_t i = 0; i < 2 * TIMES; i += 2) {
        const struct kymo_opdatum *made = seen[i].outputs, *taken = seen[i + 1].inputs,
                                  *result = seen[i + 1].outputs;
        CHECK_EQ(made->tensor_id, taken->tensor_id);
        CHECK_EQ(made->storage_id, taken->storage_id);
        CHECK(result->tensor_id > taken->tensor_id);
        if (i) {
            CHECK(made->tensor_id > seen[i - 1].outputs->tensor_id);
            CHECK(made->storage_id > seen[i - 1].outputs->storage_id);
        }
    }
    kymo_close(capture);
}

static void a_view_shares_the_storage_and_in_place_keeps_both(void)
{
    opmade_start(check_path("views.kymo"));
    call(10, "mul", 0x1000, 0x9000, 0x2000, 0x9100);
    call(20, "view", 0x2000, 0x9100, 0x3000, 0x9100);
    call(30, "add_", 0x2000, 0x9100, 0x2000, 0x9100);
    call(40, "mul", 0x1000, 0x9000, 0x4000, 0x9200);
    read_all("views.kymo");

    const struct kymo_opdatum *mul = seen[0].outputs, *view = seen[1].outputs,
                              *add = seen[2].outputs;
    CHECK(view->tensor_id != mul->tensor_id);
    CHECK_EQ(view->storage_id, mul->storage_id);
    CHECK_EQ(add->tensor_id, mul->tensor_id);
    CHECK_EQ(add->storage_id, mul->storage_id);
    CHECK_EQ(seen[3].inputs->tensor_id, seen[0].inputs->tensor_id);
    kymo_close(capture);
}

static void what_an_inner_operator_made_is_what_the_outer_one_returns(void)
{
    static struct opmade_values none, outputs;
    struct opmade_op outer = {.name = "outer", .rf_id = 1, .seq = -1};
    memset(&outputs, 0, sizeof(outputs));
    opmade_tensor(&outputs, 0x1000, 0x9000, 2, 2);
    opmade_start(check_path("inner.kymo"));
    call(10, "before", 0, 0, 0x1000, 0x9000); /* something older was at that address */
    opmade_enter(20, &outer, &none);
    call(30, "inner", 0, 0, 0x1000, 0x9000);
    opmade_leave(40, &outer, &outputs);
    read_all("inner.kymo");

    CHECK_EQ(find("outer")->outputs->tensor_id, find("inner")->outputs->tensor_id);
    CHECK_EQ(find("outer")->outputs->storage_id, find("inner")->outputs->storage_id);
    CHECK(find("inner")->outputs->tensor_id > find("before")->outputs->tensor_id);
    kymo_close(capture);
}

/* What torch does in addmm: it makes the result itself, and calls operators that fill it in. */
static void what_an_operator_returns_is_what_those_inside_it_took(void)
{
    static struct opmade_values none, outputs;
    struct opmade_op outer = {.name = "outer", .rf_id = 1, .seq = -1},
                     inner = {.name = "inner", .rf_id = 2, .seq = -1},
                     span = {.name = "span", .rf_id = 3, .seq = -1, .scope = 7};
    memset(&outputs, 0, sizeof(outputs));
    opmade_tensor(&outputs, 0x1000, 0x9000, 2, 2);
    opmade_start(check_path("filled.kymo"));
    call(10, "before", 0, 0, 0x1000, 0x9000); /* something older was at that address */
    opmade_enter(20, &span, &none);
    opmade_enter(30, &outer, &none);
    opmade_enter(40, &inner, &none);
    call(50, "fill_", 0x1000, 0x9000, 0x1000, 0x9000);
    opmade_leave(60, &inner, &none);
    opmade_leave(70, &outer, &outputs);
    call(80, "after", 0x1000, 0x9000, 0, 0);
    opmade_leave(90, &span, &none);
    read_all("filled.kymo");

    const struct kymo_opdatum *made = find("outer")->outputs, *older = find("before")->outputs;
    const struct kymo_opdatum *same[] = {find("fill_")->inputs, find("fill_")->outputs,
                                         find("after")->inputs};
    CHECK(made->tensor_id > older->tensor_id);
    CHECK(made->storage_id > older->storage_id);
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        CHECK_EQ(same[i]->tensor_id, made->tensor_id);
        CHECK_EQ(same[i]->storage_id, made->storage_id);
    }
    CHECK_STR(seen[1].name, "fill_");
    CHECK_STR(seen[2].name, "inner");
    CHECK_STR(seen[3].name, "outer");
    CHECK_STR(seen[5].name, "span");
    kymo_close(capture);
}

/* Memory is bounded: not all of them wait for the outermost. */
static void an_operator_with_very_many_inside_has_them_all(void)
{
    enum { INSIDE = 1500 };
    static struct opmade_values none;
    struct opmade_op outer = {.name = "outer", .rf_id = 1, .seq = -1};
    opmade_start(check_path("many.kymo"));
    opmade_enter(5, &outer, &none);
    for (uint64_t i = 0; i < INSIDE; i++)
        call(10 * i + 10, "inner", 0x1000, 0x9000, 0x2000, 0x9100);
    opmade_leave(10 * INSIDE + 10, &outer, &none);
    read_all("many.kymo");

    CHECK_EQ(seen_count, INSIDE + 1);
    CHECK_STR(seen[INSIDE].name, "outer");
    for (size_t i = 1; i < INSIDE; i++)
        CHECK(seen[i].id > seen[i - 1].id);
    kymo_close(capture);
}

static void a_tensor_of_another_size_at_a_known_address_is_another_one(void)
{
    static struct opmade_values small, large;
    struct opmade_op out = {.name = "out", .rf_id = 2000, .seq = -1},
                     fill = {.name = "fill", .rf_id = 2001, .seq = -1},
                     neg = {.name = "neg", .rf_id = 2002, .seq = -1};
    memset(&small, 0, sizeof(small));
    memset(&large, 0, sizeof(large));
    opmade_tensor(&small, 0x1000, 0x9000, 2, 2);
    opmade_tensor(&large, 0x1000, 0x9000, 2, 3);
    opmade_start(check_path("sizes.kymo"));
    call(10, "mul", 0x1000, 0x9000, 0, 0);
    opmade_enter(20, &out, &small); /* resizes what it was given */
    opmade_enter(30, &fill, &large);
    opmade_leave(40, &fill, &large);
    opmade_leave(50, &out, &large);
    opmade_enter(60, &neg, &small);
    opmade_leave(70, &neg, NULL);
    read_all("sizes.kymo");

    uint64_t first = find("mul")->inputs->tensor_id;
    CHECK_EQ(find("out")->inputs->tensor_id, first);
    CHECK_EQ(find("fill")->inputs->tensor_id, first);
    CHECK_EQ(find("fill")->outputs->tensor_id, first);
    CHECK_EQ(find("out")->outputs->tensor_id, first);
    CHECK(find("neg")->inputs->tensor_id > first);
    kymo_close(capture);
}

static void a_tensor_of_another_type_at_a_known_address_is_another_one(void)
{
    static struct opmade_values inputs;
    struct opmade_op op = {.name = "neg", .rf_id = 1000, .seq = -1};
    opmade_start(check_path("types.kymo"));
    call(10, "mul", 0x1000, 0x9000, 0, 0);
    memset(&inputs, 0, sizeof(inputs));
    opmade_tensor(&inputs, 0x1000, 0x9000, 2, 2)->dtype = "long int";
    opmade_enter(20, &op, &inputs);
    opmade_leave(30, &op, NULL);
    read_all("types.kymo");

    CHECK(find("neg")->inputs->tensor_id != find("mul")->inputs->tensor_id);
    CHECK_EQ(find("neg")->inputs->storage_id, find("mul")->inputs->storage_id);
    kymo_close(capture);
}

static struct opmade_op backward[] = {
    {.name = "MmBackward0", .rf_id = 20, .seq = 5, .scope = 1, .thread = 2, .fw_thread = 1},
    {.name = "again", .rf_id = 21, .seq = 5, .scope = 1, .thread = 2, .fw_thread = 1},
    {.name = "stranger", .rf_id = 22, .seq = 99, .scope = 1, .thread = 2, .fw_thread = 1}};

static void *go_back(void *arg)
{
    static struct opmade_values none;
    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        opmade_enter(1000 + 10 * i, &backward[i], &none);
        opmade_leave(1005 + 10 * i, &backward[i], &none);
    }
    return NULL;
}

static void a_backward_operator_finds_the_forward_one_that_began_last(void)
{
    static struct opmade_values none;
    struct opmade_op linear = {.name = "linear", .rf_id = 1, .seq = 5, .thread = 1},
                     mm = {.name = "mm", .rf_id = 2, .seq = 5, .thread = 1};
    pthread_t thread;
    opmade_start(check_path("backward.kymo"));
    opmade_enter(10, &linear, &none);
    opmade_enter(20, &mm, &none);
    opmade_leave(30, &mm, &none);
    opmade_leave(40, &linear, &none);
    CHECK_EQ(pthread_create(&thread, NULL, go_back, NULL), 0);
    pthread_join(thread, NULL);
    read_all("backward.kymo");

    CHECK_EQ(thread_count, 2);
    CHECK_EQ(find("MmBackward0")->forward, find("mm")->id);
    CHECK_EQ(find("MmBackward0")->fw_tid, 1);
    CHECK_EQ(find("again")->forward, find("mm")->id);
    CHECK_EQ(find("stranger")->forward, 0);
    CHECK_EQ(link_count, 1); /* an arrow has one end */
    CHECK_EQ(links[0].forward_thread, find("mm")->thread);
    CHECK_EQ(links[0].thread, find("again")->thread);
    kymo_close(capture);
}

static void spans_are_operators_of_user_scope(void)
{
    static struct opmade_values none;
    struct opmade_op op = {.name = "mm", .rf_id = 3, .seq = -1, .thread = 1};
    opmade_start(check_path("spans.kymo"));
    uint32_t outer = opmade_key("caller", KYMO_CLASS_FUNCTION);
    uint32_t span = opmade_key("## LOOP ##", KYMO_CLASS_NAME);
    opmade_record(5, KYMO_ENTER, outer);
    opmade_record(10, KYMO_ENTER, span);
    opmade_enter(20, &op, &none);
    opmade_leave(30, &op, &none);
    opmade_record(40, KYMO_LEAVE, outer); /* the span outlives the call in which it began */
    opmade_enter(50, &op, &none);
    opmade_leave(60, &op, &none);
    opmade_record(70, KYMO_LEAVE, span);
    read_all("spans.kymo");

    CHECK_EQ(seen_count, 3);
    const struct seen *loop = find("## LOOP ##");
    CHECK_EQ(loop->scope, 7);
    CHECK_EQ(loop->end - loop->start, 60);
    CHECK(loop->rf_id >= UINT64_C(1) << 52);
    CHECK_EQ(seen[0].parent, loop->id);
    CHECK_EQ(seen[1].parent, loop->id);
    kymo_close(capture);
}

static void an_operator_open_at_the_end_is_there_without_outputs(void)
{
    static struct opmade_values none;
    struct opmade_op outer = {.name = "outer", .rf_id = 1, .seq = -1},
                     inner = {.name = "inner", .rf_id = 2, .seq = -1};
    opmade_start(check_path("open.kymo"));
    opmade_enter(10, &outer, &none);
    opmade_enter(20, &inner, &none);
    opmade_leave(30, &inner, &none);
    read_all("open.kymo");

    CHECK_EQ(find("inner")->parent, find("outer")->id);
    CHECK(find("outer")->flags & KYMO__OPEN_AT_END);
    CHECK(!(find("inner")->flags & KYMO__OPEN_AT_END));
    kymo_close(capture);
}

static void a_part_has_what_began_in_it_with_the_same_ids(void)
{
    static struct opmade_values none;
    struct opmade_op outer = {.name = "outer", .rf_id = 1, .seq = -1},
                     inner = {.name = "inner", .rf_id = 2, .seq = -1};
    opmade_start(check_path("part.kymo"));
    opmade_enter(1000, &outer, &none);
    opmade_enter(2000, &inner, &none);
    opmade_leave(3000, &inner, &none);
    opmade_leave(4000, &outer, &none);
    read_all("part.kymo");
    uint64_t id = find("inner")->id;
    struct kymo_export_options options = everything();
    options.from = find("outer")->start + 500;
    CHECK_OK(read_part(capture, &options));

    CHECK_EQ(seen_count, 1);
    CHECK_EQ(find("inner")->id, id);
    CHECK_EQ(find("inner")->parent, threads[0].id);
    kymo_close(capture);
}

static void running_out_of_memory_is_an_error(void)
{
    static struct opmade_values v;
    struct opmade_op op = {.name = "custom", .rf_id = 1, .seq = 3, .thread = 1},
                     outer = {.name = "outer", .rf_id = 2, .seq = -1, .thread = 1};
    struct kymo_export_options options = everything();
    opmade_start(check_path("memory.kymo"));
    make_values(&v);
    opmade_enter(5, &outer, &v);
    opmade_enter(10, &op, &v);
    opmade_attribute(15, &op, "kernel_file", "a.py", 0);
    opmade_leave(20, &op, &v);
    opmade_leave(30, &outer, &v);
    read_all("memory.kymo");
    int rc = -ENOMEM, n = 0;
    for (; rc < 0 && n < 1000; n++) {
        kymo__alloc_fail_after(n);
        rc = read_part(capture, &options);
        kymo__alloc_fail_after(-1);
        if (rc < 0)
            CHECK_EQ(rc, -ENOMEM);
    }
    CHECK_EQ(rc, 0);
    CHECK_LE(10, n);
    CHECK_EQ(seen_count, 2);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(operators_nest_and_have_parents),
    CHECK_CASE(values_come_back_as_recorded),
    CHECK_CASE(payloads_may_be_attached_to_the_events),
    CHECK_CASE(a_list_that_was_cut_has_what_is_left),
    CHECK_CASE(lists_nested_without_end_are_emptied),
    CHECK_CASE(an_address_used_again_is_another_tensor),
    CHECK_CASE(a_view_shares_the_storage_and_in_place_keeps_both),
    CHECK_CASE(what_an_inner_operator_made_is_what_the_outer_one_returns),
    CHECK_CASE(what_an_operator_returns_is_what_those_inside_it_took),
    CHECK_CASE(an_operator_with_very_many_inside_has_them_all),
    CHECK_CASE(a_tensor_of_another_size_at_a_known_address_is_another_one),
    CHECK_CASE(a_tensor_of_another_type_at_a_known_address_is_another_one),
    CHECK_CASE(a_backward_operator_finds_the_forward_one_that_began_last),
    CHECK_CASE(spans_are_operators_of_user_scope),
    CHECK_CASE(an_operator_open_at_the_end_is_there_without_outputs),
    CHECK_CASE(a_part_has_what_began_in_it_with_the_same_ids),
    CHECK_CASE(running_out_of_memory_is_an_error),
};

CHECK_MAIN(cases)
