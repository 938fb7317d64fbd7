/* operators FILE [kill]: records two steps of training into FILE, as a framework's source would.

   Each step is a span with a forward pass on one thread and a backward pass on another. With
   `kill`, the process dies in the middle of the second step. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "opmade.h"

enum { WEIGHT = 0x10000, INPUT = 0x20000, RESULT = 0x30000, GRADIENT = 0x40000, VIEW = 0x50000 };

static uint64_t now, rf_id;

static uint64_t tick(void)
{
    return now += 1000;
}

static void add(struct opmade_values *v, uint64_t address)
{
    opmade_tensor(v, address, address + 0x100, 4, 8);
}

static void *go_back(void *arg)
{
    static struct opmade_values in, out;
    struct opmade_op node = {.name = "MmBackward0",
                             .rf_id = ++rf_id,
                             .seq = *(const int64_t *)arg,
                             .scope = 1,
                             .thread = 2,
                             .fw_thread = 1};
    struct opmade_op mm = {
        .name = "aten::mm", .rf_id = ++rf_id, .seq = -1, .thread = 2, .schema = "aten::mm"};
    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    add(&in, RESULT);
    add(&out, GRADIENT);
    opmade_enter(tick(), &node, &in);
    opmade_enter(tick(), &mm, &in);
    opmade_leave(tick(), &mm, &out);
    opmade_leave(tick(), &node, &out);
    return NULL;
}

static void go_forward(int64_t seq)
{
    static struct opmade_values in, out, view;
    struct opmade_op linear = {.name = "aten::linear",
                               .rf_id = ++rf_id,
                               .seq = seq,
                               .thread = 1,
                               .schema = "aten::linear(Tensor input, Tensor weight) -> Tensor"};
    struct opmade_op mm = {
        .name = "aten::mm", .rf_id = ++rf_id, .seq = seq, .thread = 1, .schema = "aten::mm"};
    struct opmade_op reshape = {
        .name = "aten::view", .rf_id = ++rf_id, .seq = -1, .thread = 1, .schema = "aten::view"};
    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    memset(&view, 0, sizeof(view));
    add(&in, INPUT);
    add(&in, WEIGHT);
    opmade_float(&in, 0.1);
    add(&out, RESULT);
    opmade_enter(tick(), &linear, &in);
    opmade_enter(tick(), &mm, &in);
    opmade_leave(tick(), &mm, &out);
    opmade_leave(tick(), &linear, &out);
    opmade_tensor(&view, VIEW, RESULT + 0x100, 8, 4);
    memset(&in, 0, sizeof(in));
    add(&in, RESULT);
    opmade_int(&in, OPMADE_LIST, 2);
    opmade_int(&in, OPMADE_INT, 8);
    opmade_int(&in, OPMADE_INT, 4);
    opmade_enter(tick(), &reshape, &in);
    opmade_leave(tick(), &reshape, &view);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    opmade_start(argv[1]);
    uint32_t span = opmade_key("## \"LOOP\" ##", KYMO_CLASS_NAME);
    for (int64_t step = 0; step < 2; step++) {
        pthread_t thread;
        opmade_record(tick(), KYMO_ENTER, span);
        go_forward(step);
        if (step == 1 && argc > 2)
            raise(SIGKILL);
        if (pthread_create(&thread, NULL, go_back, &step) != 0)
            return 1;
        pthread_join(thread, NULL);
        opmade_record(tick(), KYMO_LEAVE, span);
    }
    opmade_ok(kymo_stop());
    return 0;
}
