/* A source that knows nothing of anybody: it registers through the door and writes what real ones
   will write. 500 tracks on 4 clocks, finished events with correlation ids and payloads, calls with
   a payload of every type of field, notes like those of an allocator, and a counted loss.

       fake_source CAPTURE stop|kill|flight

   With "kill" the process ends by SIGKILL in the middle of the session. Everything that is written
   follows from its number, so that a test can compute it too (tests/python/test_fake_source.py). */
#include <inttypes.h>
#include <kymo/source.h>
#include <kymo/track.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TRACKS = 500, ROUNDS = 40, NOTES = 1000, CLOCKS = 4 };

/* A device's clock counts from its own zero, in steps of 40 ns; another's runs 100 ppm fast. */
enum { COARSE_STEP = 40, COARSE_ZERO = 1000000, FAST_ZERO = 77 };

static struct {
    int active;
    int clocks[CLOCKS];
    struct kymo_track *tracks[TRACKS];
    struct kymo_schema kernel, everything, allocation;
} fake;

static kymo_ns now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (kymo_ns)t.tv_sec * 1000000000 + t.tv_nsec;
}

static kymo_ns zero;        /* when the source started, */
static uint64_t zero_ticks; /* and on the clock of records */

/* TIME nanoseconds after the start, on clock INDEX. */
static uint64_t on_clock(int index, kymo_ns time)
{
    switch (index) {
    case 1: /* so many ticks, however long they are */
        return zero_ticks + (uint64_t)time;
    case 2:
        return COARSE_ZERO + (uint64_t)time / COARSE_STEP;
    case 3:
        return FAST_ZERO + (uint64_t)time + (uint64_t)time / 10000;
    default:
        return (uint64_t)(zero + time);
    }
}

static void check(int code, const char *what)
{
    if (code >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, kymo_strerror(code));
    exit(1);
}

static void define_schemas(void)
{
    static const struct kymo_field kernel[] = {
        {"grid", KYMO_FIELD_UINT | KYMO_FIELD_LIST},
        {"bytes", KYMO_FIELD_UINT},
    };
    static const struct kymo_field everything[] = {
        {"uint", KYMO_FIELD_UINT},
        {"int", KYMO_FIELD_INT},
        {"float", KYMO_FIELD_FLOAT},
        {"text", KYMO_FIELD_TEXT},
        {"bytes", KYMO_FIELD_BYTES},
        {"address", KYMO_FIELD_ADDRESS},
        {"stack", KYMO_FIELD_STACK},
        {"thread id", KYMO_FIELD_THREAD},
        {"task", KYMO_FIELD_TASK},
        {"id", KYMO_FIELD_ID},
        {"name", KYMO_FIELD_NAME},
        {"shape", KYMO_FIELD_INT | KYMO_FIELD_LIST},
        {"shapes", KYMO_FIELD_INT | KYMO_FIELD_LISTS},
        {"types", KYMO_FIELD_NAME | KYMO_FIELD_LIST},
        {"reals", KYMO_FIELD_FLOAT | KYMO_FIELD_LIST},
        {"texts", KYMO_FIELD_TEXT | KYMO_FIELD_LIST},
        {"addresses", KYMO_FIELD_ADDRESS | KYMO_FIELD_LIST},
        {"empty", KYMO_FIELD_UINT | KYMO_FIELD_LIST},
    };
    static const struct kymo_field allocation[] = {
        {"size", KYMO_FIELD_UINT},
        {"address", KYMO_FIELD_ADDRESS},
        {"stack", KYMO_FIELD_STACK},
    };
    check(kymo_schema_define(&fake.kernel, "kernel", kernel, 2), "schema kernel");
    check(kymo_schema_define(&fake.everything, "everything", everything,
                             sizeof(everything) / sizeof(everything[0])),
          "schema everything");
    check(kymo_schema_define(&fake.allocation, "allocation", allocation, 3), "schema allocation");
}

static void open_tracks(void)
{
    fake.clocks[0] = KYMO_TRACK_NS;
    fake.clocks[1] = KYMO_TRACK_TICKS;
    fake.clocks[2] = kymo_clock_open("coarse", 1000000000 / COARSE_STEP);
    fake.clocks[3] = kymo_clock_open("fast", 0);
    check(fake.clocks[2], "clock coarse");
    check(fake.clocks[3], "clock fast");
    /* Three snapshots that lie on one line: times come back as they were. */
    for (kymo_ns time = 0; time <= 2000000000; time += 1000000000)
        for (int i = 2; i < CLOCKS; i++)
            check(kymo_clock_snapshot(fake.clocks[i], on_clock(i, time), zero + time), "snapshot");
    for (int i = 0; i < TRACKS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "stream %d", i);
        const struct kymo_track_options options = {
            .size = sizeof(options),
            .name = name,
            .device = i / 100,
            .stream = (uint64_t)i,
            .clock = fake.clocks[i % CLOCKS],
        };
        check(kymo_track_open(&options, &fake.tracks[i]), name);
    }
}

static int fake_start(void *user, const struct kymo_source_session *session, void **state)
{
    (void)user, (void)session;
    *state = &fake;
    fake.active = 1;
    return 0;
}

static void fake_end(void *state)
{
    (void)state;
    fake.active = 0;
}

static const struct kymo_source source = {
    .size = sizeof(source),
    .name = "fake",
    .start = fake_start,
    .end = fake_end,
};

/* Event ROUND of track I starts so long after the start, and lasts so long. */
static kymo_ns start_of(int i, int round)
{
    return (kymo_ns)round * 1000000 + (kymo_ns)i * 2000;
}

static kymo_ns length_of(int i, int round)
{
    return 400 + 40 * (kymo_ns)((i + round) % 10);
}

static void write_track(int i, int round, uint32_t key)
{
    unsigned char room[64];
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, sizeof(room));
    kymo_payload_count(&payload, 3);
    kymo_payload_uint(&payload, (uint64_t)i);
    kymo_payload_uint(&payload, (uint64_t)round);
    kymo_payload_uint(&payload, 1);
    kymo_payload_uint(&payload, (uint64_t)i * 1000 + (uint64_t)round);
    int clock = i % CLOCKS;
    kymo_ns start = start_of(i, round);
    const struct kymo_track_event event = {
        .size = sizeof(event),
        .start = on_clock(clock, start),
        .end = on_clock(clock, start + length_of(i, round)),
        .key = key,
        .correlation = (uint64_t)round * TRACKS + (uint64_t)i + 1,
        .schema = &fake.kernel,
        .payload = &payload,
    };
    check(kymo_track_write(fake.tracks[i], &event), "kymo_track_write");
}

static void put_everything(struct kymo_payload *p)
{
    static const unsigned char bytes[] = {0, 1, 0xfe, 0xff};
    kymo_payload_uint(p, UINT64_MAX);
    kymo_payload_int(p, INT64_MIN);
    kymo_payload_float(p, -0.5);
    kymo_payload_text(p, "größe \"名前\" \\ \n 🙂");
    kymo_payload_bytes(p, bytes, sizeof(bytes));
    kymo_payload_uint(p, UINT64_C(0x7fff12345678));
    kymo_payload_uint(p, 0);
    kymo_payload_uint(p, 4242);
    kymo_payload_uint(p, UINT64_C(1) << 60);
    kymo_payload_uint(p, 99);
    kymo_payload_uint(p, kymo_name_key("float32"));
    kymo_payload_count(p, 3);
    for (int i = -1; i < 2; i++)
        kymo_payload_int(p, i);
    kymo_payload_count(p, 3);
    for (int i = 0; i < 3; i++) {
        kymo_payload_count(p, (size_t)i);
        for (int j = 0; j < i; j++)
            kymo_payload_int(p, 10 * i + j);
    }
    kymo_payload_count(p, 2);
    kymo_payload_uint(p, kymo_name_key("int8"));
    kymo_payload_uint(p, kymo_name_key("float32"));
    kymo_payload_count(p, 2);
    kymo_payload_float(p, 1.5);
    kymo_payload_float(p, 1e300);
    kymo_payload_count(p, 2);
    kymo_payload_text(p, "");
    kymo_payload_text(p, "two");
    kymo_payload_count(p, 1);
    kymo_payload_uint(p, UINT64_C(0xdeadbeef));
    kymo_payload_count(p, 0);
}

static void write_calls(void)
{
    unsigned char room[512];
    struct kymo_payload payload;
    for (int i = 0; i < 3; i++) {
        struct kymo_span span = kymo_span_begin("operator");
        kymo_payload_begin(&payload, room, sizeof(room));
        put_everything(&payload);
        kymo_attach(&fake.everything, &payload);
        kymo_arg("number", 7);
        kymo_span_end(span);
    }
    /* A value that does not fit: the note is there without it, and the loss is counted. */
    kymo_payload_begin(&payload, room, 4);
    put_everything(&payload);
    kymo_note(&fake.everything, &payload);
}

static void write_notes(void)
{
    unsigned char room[32];
    struct kymo_payload payload;
    for (uint64_t i = 0; i < NOTES; i++) {
        kymo_payload_begin(&payload, room, sizeof(room));
        kymo_payload_uint(&payload, 16 + i % 7 * 8);
        kymo_payload_uint(&payload, UINT64_C(0x7f0000000000) + i * 48);
        kymo_payload_uint(&payload, 0);
        kymo_note(&fake.allocation, &payload);
    }
}

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: fake_source CAPTURE stop|kill|flight\n");
        return 2;
    }
    check(kymo_source_register(&source, NULL), "register");
    struct kymo_options options = {.size = sizeof(options), .path = words[1]};
    if (strcmp(words[2], "flight") == 0)
        options.flight_bytes = 64 << 20;
    check(kymo_start(&options), words[1]);
    if (!fake.active)
        return 1;
    zero = now();
    zero_ticks = kymo_ticks();
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, zero);
    kymo_metadata("fake_zero", text);
    define_schemas();
    open_tracks();
    write_calls();
    write_notes();
    uint32_t key = kymo_name_key("kernel of the fake");
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < TRACKS; i++)
            write_track(i, round, key);
    if (strcmp(words[2], "kill") == 0)
        raise(SIGKILL);
    check(kymo_stop(), "kymo_stop");
    for (int i = 0; i < TRACKS; i++)
        kymo_track_close(fake.tracks[i]);
    return 0;
}
