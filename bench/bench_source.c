/* What sources pay: a note with three fields and an event of a track against a span; bytes of a note
   in the file; and how many events of tracks one thread sustains while they are written.

   The last may be given a number of seconds: bench_source 10 measures only that, for so long. */
#include <inttypes.h>
#include <kymo/track.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alternate.h"

enum { ROUNDS = 30, TRACKS = 16, NOTES = 2000000, EVENTS = 5000000 };

static char path[] = "/tmp/kymograph-bench-XXXXXX";
static struct kymo_schema schema;
static struct kymo_track *tracks[TRACKS];
static uint32_t key;

static void begin(void)
{
    static const struct kymo_field fields[] = {
        {"size", KYMO_FIELD_UINT}, {"address", KYMO_FIELD_ADDRESS}, {"stack", KYMO_FIELD_STACK}};
    struct kymo_options options = {.size = sizeof(options), .path = path};
    if (kymo_start(&options) < 0 || kymo_schema_define(&schema, "malloc", fields, 3) < 0)
        exit(1);
    key = kymo_name_key("kernel");
    for (int i = 0; i < TRACKS; i++)
        if (kymo_track_open(&(struct kymo_track_options){.size = sizeof(struct kymo_track_options),
                                                         .stream = (uint64_t)i,
                                                         .clock = KYMO_TRACK_NS},
                            &tracks[i]) < 0)
            exit(1);
}

static void end(void)
{
    kymo_stop();
    for (int i = 0; i < TRACKS; i++)
        kymo_track_close(tracks[i]);
}

static void spans(long count)
{
    for (long i = 0; i < count; i++)
        kymo_span_end(kymo_span_begin("span"));
}

/* Sizes, addresses and stacks as an allocator has them: few sizes, much reuse. */
static void notes(long count)
{
    unsigned char room[32];
    struct kymo_payload payload;
    uint64_t state = 1;
    for (long i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t dice = state >> 40;
        kymo_payload_begin(&payload, room, sizeof(room));
        kymo_payload_uint(&payload, 32u << (dice % 16 ? 0 : dice / 16 % 4));
        kymo_payload_uint(&payload, 0x7f0000000000 + dice % 8 * 64 + (uint64_t)i / 4 * 16);
        kymo_payload_uint(&payload, 1000 + (dice % 8 ? 0 : dice / 8 % 32));
        kymo_note(&schema, &payload);
    }
}

static void track_events_from(long from, long count)
{
    for (long i = from; i < from + count; i++) {
        const struct kymo_track_event event = {
            .size = sizeof(event),
            .start = 1000000 + (uint64_t)i * 1000,
            .end = 1000700 + (uint64_t)i * 1000,
            .key = key,
            .correlation = (uint64_t)i + 1,
        };
        kymo_track_write(tracks[i / 64 % TRACKS], &event);
    }
}

static void track_events(long count)
{
    track_events_from(0, count);
}

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double bytes_each(void (*run)(long), long count)
{
    struct stat with, without;
    begin();
    end();
    stat(path, &without);
    begin();
    run(count);
    end();
    stat(path, &with);
    return (double)(with.st_size - without.st_size) / (double)count;
}

/* Write events of tracks for SECONDS, or EVENTS of them if that takes longer. */
static void sustain(double seconds)
{
    struct kymo_stats stats = {.size = sizeof(stats)};
    long count = 0;
    begin();
    double began = wall(), lasted;
    do {
        track_events_from(count, EVENTS);
        count += EVENTS;
        lasted = wall() - began;
    } while (lasted < seconds);
    kymo_stats(&stats);
    end();
    printf("One thread wrote %.2f million events of tracks a second for %.1f s; %" PRIu64
           " of %ld million were lost\n",
           (double)count / lasted / 1e6, lasted, stats.dropped_records, count / 1000000);
}

static void compare(void)
{
    struct contestant all[] = {
        {.name = "kymograph span", .run = spans},
        {.name = "note of 3 fields", .run = notes},
        {.name = "event of a track", .run = track_events},
    };
    begin();
    bench_alternate(all, 3, ROUNDS, NULL);
    end();
    printf("What a source pays, with a session\n");
    bench_table(all, 3, ROUNDS);
    printf("\nIn the file: %.2f bytes a note, %.2f bytes an event of a track\n",
           bytes_each(notes, NOTES), bytes_each(track_events, NOTES));
}

int main(int count, char **words)
{
    close(mkstemp(path));
    if (count == 1)
        compare();
    sustain(count > 1 ? atof(words[1]) : 0);
    unlink(path);
    return 0;
}
