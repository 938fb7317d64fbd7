/* devices FILE: records operators that launch work on a device into FILE, as a source for a GPU would.

   Operator 1 launches two kernels with one id, and a copy; operator 2 is a collective on another thread's
   track; operator 3 sends; what nobody launched is there as well. Times are nanoseconds after the start. */
#include <kymo/track.h>

#include "opmade.h"

enum { DEVICE = 3, STREAM = 7, COPIES = 8 };

static struct kymo_schema launch_schema, kernel_schema;
static struct kymo_track *stream, *copies;

static void define_schemas(void)
{
    static const struct kymo_field launch[] = {{"function", KYMO_FIELD_TEXT},
                                               {"correlation", KYMO_FIELD_ID}};
    static const struct kymo_field kernel[] = {{"registers", KYMO_FIELD_UINT}};
    opmade_ok(kymo_schema_define(&launch_schema, "launch", launch, 2));
    opmade_ok(kymo_schema_define(&kernel_schema, "kernel", kernel, 1));
}

static struct kymo_track *open_track(uint64_t number)
{
    struct kymo_track *track = NULL;
    const struct kymo_track_options options = {
        .size = sizeof(options), .device = DEVICE, .stream = number, .clock = KYMO_TRACK_NS};
    opmade_ok(kymo_track_open(&options, &track));
    return track;
}

static void launch(uint64_t time, uint64_t correlation)
{
    struct kymo_payload p;
    kymo_payload_begin(&p, opmade_room, sizeof(opmade_room));
    kymo_payload_text(&p, "cudaLaunchKernel");
    kymo_payload_uint(&p, correlation);
    kymo_note_at(&launch_schema, &p, opmade_zero + time);
}

static void run(struct kymo_track *track, uint64_t from, uint64_t to, const char *name,
                uint64_t correlation)
{
    struct kymo_payload p;
    kymo_payload_begin(&p, opmade_room, sizeof(opmade_room));
    kymo_payload_uint(&p, 32);
    const struct kymo_track_event event = {
        .size = sizeof(event),
        .start = opmade_zero + from,
        .end = opmade_zero + to,
        .key = kymo_name_key(name),
        .correlation = correlation,
        .schema = &kernel_schema,
        .payload = &p,
    };
    opmade_ok(kymo_track_write(track, &event));
}

static void operate(uint64_t from, uint64_t to, const char *name, uint64_t rf_id,
                    uint64_t correlation, uint64_t another)
{
    static struct opmade_values in;
    struct opmade_op op = {.name = name, .rf_id = rf_id, .seq = -1, .thread = 1, .schema = name};
    memset(&in, 0, sizeof(in));
    opmade_tensor(&in, 0x1000 * rf_id, 0x1000 * rf_id + 8, 10, 100);
    opmade_enter(from, &op, &in);
    launch(from + 1000, correlation);
    if (another)
        launch(from + 2000, another);
    opmade_leave(to, &op, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    opmade_start(argv[1]);
    define_schemas();
    stream = open_track(STREAM);
    copies = open_track(COPIES);
    struct opmade_op send = {.name = "c10d::send", .rf_id = 4, .seq = -1, .thread = 1};
    operate(10000, 20000, "aten::mm", 1, 101, 102);
    operate(30000, 40000, "nccl:all_reduce", 2, 103, 0);
    opmade_enter(50000, &send, NULL);
    operate(51000, 59000, "record_param_comms", 3, 104, 0);
    opmade_leave(60000, &send, NULL);
    launch(70000, 105); /* by no operator */

    run(stream, 100000, 150000, "gemm", 101);
    run(stream, 150000, 180000, "split_k_reduce", 101);
    run(copies, 90000, 95000, "Memcpy HtoD", 102);
    run(stream, 200000, 290000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", 103);
    run(stream, 300000, 310000, "ncclDevKernel_SendRecv(ncclDevKernelArgs)", 104);
    run(stream, 320000, 330000, "nobody's", 105);
    run(stream, 340000, 350000, "unknown", 106);
    kymo_track_close(stream);
    kymo_track_close(copies);
    opmade_ok(kymo_stop());
    return 0;
}
