/* Makes the golden files of the format as it is: a capture that was stopped and one
   whose process was killed, with a listing of each.

       ninja -C build/main tests/core/make_golden
       cd tests/golden
       ../../build/main/tests/core/make_golden v1
       zstd -19 --rm v1-killed.kymo.live

   What only captures made of others have is in another pair, merged and then cut:

       zstd -d v1-killed.kymo.live.zst
       kymo merge v1.kymo v1-killed.kymo -o both.kymo
       kymo cut both.kymo --from 1us -o v1.1-merged.kymo
       ../../build/main/tests/core/make_golden v1.1-merged.kymo v1.1-merged.txt

   A golden file is made once, when its version of the format is new, and then kept as
   long as there are readers; so look at the listing before you commit it. Captures
   name the machine they were made on, which is nobody's business here: uname below
   stands in for the system's. */
#include <kymo/lane.h>
#include <kymo/source.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "listing.h"

int uname(struct utsname *name)
{
    memset(name, 0, sizeof(*name));
    strcpy(name->sysname, "Linux");
    strcpy(name->nodename, "golden");
    strcpy(name->release, "6.0");
    strcpy(name->machine, "x86_64");
    return 0;
}

/* ---- a tracer that turns each entry into an event of a microsecond ---- */

static struct kymo_queue *queue;

static void *create(void *user, struct kymo_queue *its_queue)
{
    (void)user;
    queue = its_queue;
    return &queue;
}

static int64_t get_events(void *state, const struct kymo_converter *converter,
                          const struct kymo_compressed *enters, size_t count, kymo_ns end,
                          kymo_finish_fn *finish, void *arg)
{
    (void)state;
    (void)end;
    for (size_t i = 0; i < count; i++) {
        kymo_ns start = converter->convert(converter, enters[i].ticks);
        finish(arg, &(struct kymo_finished){.size = sizeof(struct kymo_finished),
                                            .name = enters[i].trace_key == 1 ? "kernel" : "copie →",
                                            .tid = enters[i].tid,
                                            .device = enters[i].device,
                                            .resource = enters[i].resource,
                                            .start = start,
                                            .end = start + 1000 * (kymo_ns)enters[i].trace_key});
    }
    return (int64_t)count;
}

static const struct kymo_tracer tracer = {
    .size = sizeof(tracer), .name = "golden", .create = create, .get_events = get_events};

/* ---- events ---- */

/* One record, with a value behind it if VALUE is not 0. */
static void put(unsigned kind, unsigned detail, uint32_t key, uint64_t value)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (!at)
        abort();
    kymo_lane_store(at, kymo_ticks(), kymo_word(kind, detail, key));
    if (value)
        kymo_lane_store(at + 1, value, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, at + 1 + (value != 0));
}

static void lose(unsigned count, int reason)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (!at)
        abort();
    kymo_lane_drop(lane, at, count, reason);
}

static void every_kind(void)
{
    struct kymo_span outer = kymo_span_begin("outer");
    struct kymo_span inner = kymo_span_begin("内側 — inner");
    kymo_instant("instant");
    kymo_span_end(inner);
    const double values[] = {0, -0.0, 1, -42, 0.1, 1e300, 1e15, INFINITY};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        kymo_counter("счётчик", values[i]);
    kymo_flow_out("flow", 7);
    kymo_async_begin("async", UINT64_MAX);
    kymo_async_end("async", UINT64_MAX);
    kymo_flow_in("flow", 7);
    kymo_instant("");
    kymo_instant("name\twith \"marks\"\\");
    kymo_span_end(outer);
    kymo_span_end(inner); /* again: it matches nothing */
}

/* What the tracer of a language records: functions, and the slices of a coroutine. */
static void functions(void)
{
    const struct kymo_function plain = {.size = sizeof(plain),
                                        .name = "fonction_été",
                                        .file = "/srv/app/été.py",
                                        .line = 12,
                                        .kind = KYMO_CLASS_FUNCTION};
    const struct kymo_function native = {
        .size = sizeof(native), .name = "list.append", .kind = KYMO_CLASS_METHOD};
    uint32_t one = kymo_function_key(&plain), two = kymo_function_key(&native);
    put(KYMO_ENTER, 3, one, 0);
    put(KYMO_ENTER, KYMO_HAS_ID | 1, one, 99);
    put(KYMO_ENTER, 0, two, 0);
    put(KYMO_LEAVE, 0, two, 0);
    put(KYMO_LEAVE, 1, one, 0);
    put(KYMO_ENTER, KYMO_HAS_ID | 2, one, 99);
    put(KYMO_ARG, 0, two, 3);
    put(KYMO_OFF, 1, two, 1000);
    put(KYMO_LEAVE, 2, one, 0);
    put(KYMO_LEAVE, 0, one, 0);
}

static void nested(int depth)
{
    struct kymo_span span = kymo_span_begin("deep");
    if (depth)
        nested(depth - 1);
    kymo_span_end(span);
}

static void *worker(void *arg)
{
    kymo_thread_name(arg);
    kymo_instant("first");
    lose(3, KYMO_GAP_BUDGET);
    functions();
    return NULL;
}

static void run_worker(void *name)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, name);
    pthread_join(thread, NULL);
}

static int begin(const char *path)
{
    return kymo_start(&(struct kymo_options){
        .size = sizeof(struct kymo_options), .path = path, .budget = 1 << 20});
}

/* ---- the two captures ---- */

static void make_stopped(const char *path)
{
    kymo_tracer_register(&tracer, NULL);
    if (begin(path) < 0)
        exit(1);
    kymo_process_name("golden ⚜");
    kymo_metadata("rank", "3");
    kymo_metadata("rank", "4");
    kymo_metadata("ключ", "значение");
    every_kind();
    nested(520); /* deeper than an encoder remembers */
    kymo_queue_enter(queue, 1, 0, 7);
    kymo_queue_enter(queue, 2, -1, 0);
    run_worker("worker ☃");
    run_worker("worker \"zwei\"");
    lose(1, KYMO_GAP_NESTED);
    lose(2, KYMO_GAP_DISK);
    if (kymo_stop() < 0)
        exit(1);
    kymo_tracer_unregister(&tracer);
}

static void make_killed(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        if (begin(path) < 0)
            _exit(1);
        kymo_metadata("rank", "5");
        run_worker("written");
        /* Until the writer thread has been round and taken a second snapshot. */
        const struct timespec moment = {0, 800000000};
        nanosleep(&moment, NULL);
        every_kind();
        functions();
        lose(5, KYMO_GAP_BUDGET);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
}

static void list(const char *path, const char *text)
{
    struct kymo_capture *capture;
    FILE *out = fopen(text, "w");
    if (!out || kymo_open(path, &capture) < 0 || list_capture(out, capture) < 0)
        exit(1);
    kymo_close(capture);
    fclose(out);
}

int main(int argc, char **argv)
{
    char path[256], text[256];
    if (argc == 3) {
        list(argv[1], argv[2]);
        return 0;
    }
    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s.kymo", argv[1]);
    snprintf(text, sizeof(text), "%s.txt", argv[1]);
    make_stopped(path);
    list(path, text);
    snprintf(path, sizeof(path), "%s-killed.kymo", argv[1]);
    snprintf(text, sizeof(text), "%s-killed.txt", argv[1]);
    make_killed(path);
    list(path, text);
    return 0;
}
