/* Execution traces: what `export --to et` writes. */
#include <errno.h>
#include <kymo/kymo.h>
#include <math.h>

#include "alloc.h"
#include "check.h"
#include "exported.h"
#include "opmade.h"

/* Export the capture called NAME to a file called TO, with OPTIONS or NULL. */
static void export_to(const char *name, const char *to, struct kymo_export_options *options)
{
    struct kymo_capture *capture;
    struct kymo_export_options all = {.size = sizeof(all), .to = INT64_MAX, .thread = -1};
    CHECK_OK(kymo_open(check_path(name), &capture));
    options = options ? options : &all;
    options->format = "et";
    CHECK_OK(kymo_export(capture, check_path(to), options));
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

static void an_empty_capture_has_the_process_alone(void)
{
    opmade_start(check_path("empty.kymo"));
    CHECK_OK(kymo_stop());
    export_to("empty.kymo", "empty.et.json", NULL);

    has("{\"schema\": \"1.1.1-chakra.0.0.4\", \"kymograph\": {");
    has("\"pid\": ");
    has("\"start_ts\": ");
    has("\"finish_ts\": ");
    has("{\"id\": 1, \"name\": \"[pytorch|profiler|execution_trace|process]\", \"ctrl_deps\": 1, "
        "\"inputs\": {\"values\": [], \"shapes\": [], \"types\": [], \"strides\": []}");
    has_not("\"id\": 2");
}

static void nodes_have_their_values_shapes_types_and_strides(void)
{
    static struct opmade_values in, out;
    struct opmade_op op = {.name = "say \"hi\"\n\xc3\xa9",
                           .rf_id = 77,
                           .seq = 4,
                           .thread = 3,
                           .schema = "f(Tensor x) -> Tensor"};
    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    opmade_tensor(&in, 0x1000, 0x9000, 2, 3)->offset = 4;
    opmade_int(&in, OPMADE_LIST, 2);
    opmade_tensor(&in, 0x1100, 0x9000, 6, 1);
    opmade_int(&in, OPMADE_INT, -1);
    opmade_float(&in, 1e-8);
    opmade_float(&in, 2);
    opmade_float(&in, -INFINITY);
    opmade_int(&in, OPMADE_BOOL, 1);
    opmade_text(&in, OPMADE_TEXT, "a\\b\"c");
    opmade_kind(&in, OPMADE_NONE);
    opmade_text(&in, OPMADE_OTHER, "Generator");
    opmade_int(&in, OPMADE_TUPLE, 1);
    opmade_text(&in, OPMADE_DEVICE, "cuda:0");
    opmade_tensor(&out, 0x1200, 0x9200, 2, 3);
    opmade_start(check_path("values.kymo"));
    opmade_enter(1000, &op, &in);
    opmade_leave(3500, &op, &out);
    CHECK_OK(kymo_stop());
    export_to("values.kymo", "values.et.json", NULL);

    has("{\"id\": 2, \"name\": \"[pytorch|profiler|execution_trace|thread]\", \"ctrl_deps\": 1,");
    has("{\"id\": 3, \"name\": \"say \\\"hi\\\"\\u000a\xc3\xa9\", \"ctrl_deps\": 2, \"ts\": ");
    has("\"inclusive_dur\": 2.500, \"exclusive_dur\": 2.500, ");
    has("\"inputs\": {\"values\": [[4,5,4,6,4,\"cpu\"],[[6,5,0,6,4,\"cpu\"],-1],1e-08,2.0,\"-inf\","
        "true,\"a\\\\b\\\"c\",\"<None>\",\"<Generator>\",[\"cuda:0\"]], "
        "\"shapes\": [[2,3],[[6,1],[]],[],[],[],[],[],[],[],[[]]], "
        "\"types\": [\"Tensor(float)\",\"GenericList[Tensor(float),Int]\",\"Double\",\"Double\","
        "\"Double\",\"Bool\",\"String\",\"None\",\"Generator\",\"Tuple[Device]\"], "
        "\"strides\": [[3,1],[[1,1],[]],[],[],[],[],[],[],[],[[]]]}");
    has("\"outputs\": {\"values\": [[7,8,0,6,4,\"cpu\"]], \"shapes\": [[2,3]], ");
    has("\"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 77},"
        "{\"name\": \"fw_parent\", \"type\": \"uint64\", \"value\": 0},"
        "{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": 4},"
        "{\"name\": \"scope\", \"type\": \"uint64\", \"value\": 0},"
        "{\"name\": \"tid\", \"type\": \"uint64\", \"value\": 3},"
        "{\"name\": \"fw_tid\", \"type\": \"uint64\", \"value\": 0},"
        "{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"f(Tensor x) -> Tensor\"},"
        "{\"name\": \"kernel_backend\", \"type\": \"string\", \"value\": \"\"},"
        "{\"name\": \"kernel_file\", \"type\": \"string\", \"value\": \"\"},"
        "{\"name\": \"tensor_range\", \"type\": \"string\", \"value\": \"\"}]}");
    CHECK(strstr(text, "execution_trace|process") > strstr(text, "\"id\": 3"));
}

static void a_triton_kernel_takes_its_stream(void)
{
    static struct opmade_values in;
    struct opmade_op op = {.name = "triton_add", .rf_id = 5, .seq = -1};
    memset(&in, 0, sizeof(in));
    opmade_tensor(&in, 0x1000, 0x9000, 1, 1);
    opmade_start(check_path("triton.kymo"));
    opmade_enter(10, &op, &in);
    opmade_attribute(12, &op, "kernel_backend", "triton", 0);
    opmade_attribute(13, &op, "kernel_file", "/tmp/cache/kernel.py", 0);
    opmade_attribute(14, &op, "stream", "7", 1);
    opmade_attribute(15, &op, "tensor_range", "{\"0\":[1,4]}", 2);
    opmade_leave(20, &op, NULL);
    CHECK_OK(kymo_stop());
    export_to("triton.kymo", "triton.et.json.gz", NULL);

    has("\"values\": [[4,5,0,1,4,\"cpu\"],7], \"shapes\": [[1,1],[]], "
        "\"types\": [\"Tensor(float)\",\"Int\"], \"strides\": [[1,1],[]]}");
    has("{\"name\": \"kernel_backend\", \"type\": \"string\", \"value\": \"triton\"}");
    has("{\"name\": \"kernel_file\", \"type\": \"string\", \"value\": \"kernel.py\"}");
    has("\"value\": \"{\\\"0\\\":[1,4]}\"}");
    has_not("\"stream\"");
}

static void a_collective_has_its_attributes(void)
{
    static struct opmade_values none;
    struct opmade_op known = {.name = "record_param_comms", .rf_id = 5, .seq = -1},
                     unknown = {.name = "record_param_comms", .rf_id = 6, .seq = -1};
    opmade_start(check_path("comms.kymo"));
    opmade_enter(10, &known, &none);
    opmade_attribute(12, &known, "collective_name", "allreduce", 0);
    opmade_attribute(12, &known, "in_msg_nelems", "1024", 1);
    opmade_attribute(12, &known, "pg_size", "many", 1);
    opmade_leave(20, &known, NULL);
    opmade_enter(30, &unknown, &none);
    opmade_leave(40, &unknown, NULL);
    CHECK_OK(kymo_stop());
    export_to("comms.kymo", "comms.et.json", NULL);

    has("{\"name\": \"collective_name\", \"type\": \"string\", \"value\": \"allreduce\"},"
        "{\"name\": \"in_msg_nelems\", \"type\": \"uint64\", \"value\": 1024},"
        "{\"name\": \"pg_size\", \"type\": \"string\", \"value\": \"many\"}]}");
    has("{\"name\": \"debug\", \"type\": \"string\", \"value\": \"missing comms info\"}]}");
}

static void an_operator_that_never_ended_is_marked(void)
{
    static struct opmade_values none;
    struct opmade_op outer = {.name = "outer", .rf_id = 1, .seq = -1},
                     inner = {.name = "inner", .rf_id = 2, .seq = -1};
    opmade_start(check_path("open.kymo"));
    opmade_enter(10, &outer, &none);
    opmade_enter(20, &inner, &none);
    opmade_leave(30, &inner, NULL);
    CHECK_OK(kymo_stop());
    export_to("open.kymo", "open.et.json", NULL);

    has("\"name\": \"inner\", \"ctrl_deps\": 3,");
    has("{\"id\": 3, \"name\": \"outer\", \"ctrl_deps\": 2,");
    has("{\"name\": \"finished\", \"type\": \"string\", \"value\": \"false\"}");
}

/* torch's annotations begin and end in methods of a context manager. */
static void an_annotation_that_outlives_the_call_it_began_in_is_one_node(void)
{
    static struct opmade_values in, none;
    struct opmade_op step = {.name = "step", .rf_id = 5, .seq = -1, .thread = 1, .scope = 7},
                     add = {.name = "add", .rf_id = 6, .seq = -1, .thread = 1};
    memset(&in, 0, sizeof(in));
    opmade_text(&in, OPMADE_TEXT, "its text");
    opmade_start(check_path("parts.kymo"));
    uint32_t begin = opmade_key("__enter__", KYMO_CLASS_FUNCTION),
             end = opmade_key("__exit__", KYMO_CLASS_FUNCTION);
    opmade_record(1000, KYMO_ENTER, begin);
    opmade_enter(2000, &step, &in);
    opmade_record(3000, KYMO_LEAVE, begin);
    opmade_enter(4000000, &add, &none);
    opmade_leave(4500000, &add, NULL);
    opmade_record(5000000, KYMO_ENTER, end);
    opmade_leave(5001000, &step, NULL);
    opmade_record(5002000, KYMO_LEAVE, end);
    CHECK_OK(kymo_stop());
    export_to("parts.kymo", "parts.et.json", NULL);

    has("{\"id\": 3, \"name\": \"step\", \"ctrl_deps\": 2, ");
    has("\"inclusive_dur\": 5000.000, \"exclusive_dur\": 4500.000, ");
    has("\"values\": [\"its text\"]");
    has("\"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 5},");
    has("{\"id\": 4, \"name\": \"add\", \"ctrl_deps\": 3, ");
    has_not("\"finished\"");
    has_not("\"inter_thread_dep\"");
}

static void running_out_of_memory_leaves_no_file(void)
{
    static struct opmade_values in;
    struct opmade_op op = {.name = "op", .rf_id = 1, .seq = -1};
    struct kymo_capture *capture;
    memset(&in, 0, sizeof(in));
    opmade_tensor(&in, 0x1000, 0x9000, 2, 3);
    opmade_text(&in, OPMADE_TEXT, "text");
    opmade_start(check_path("memory.kymo"));
    opmade_enter(10, &op, &in);
    opmade_attribute(12, &op, "kernel_file", "a.py", 0);
    opmade_leave(30, &op, &in);
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path("memory.kymo"), &capture));
    int rc = -ENOMEM, n = 0;
    for (; rc < 0 && n < 2000; n++) {
        kymo__alloc_fail_after(n);
        rc = kymo_export(capture, check_path("memory.et.json"), NULL);
        kymo__alloc_fail_after(-1);
        if (rc < 0) {
            CHECK_EQ(rc, -ENOMEM);
            CHECK(access(check_path("memory.et.json"), F_OK) != 0);
        }
    }
    CHECK_EQ(rc, 0);
    CHECK_LE(20, n);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(an_empty_capture_has_the_process_alone),
    CHECK_CASE(nodes_have_their_values_shapes_types_and_strides),
    CHECK_CASE(a_triton_kernel_takes_its_stream),
    CHECK_CASE(a_collective_has_its_attributes),
    CHECK_CASE(an_operator_that_never_ended_is_marked),
    CHECK_CASE(an_annotation_that_outlives_the_call_it_began_in_is_one_node),
    CHECK_CASE(running_out_of_memory_leaves_no_file),
};

CHECK_MAIN(cases)
