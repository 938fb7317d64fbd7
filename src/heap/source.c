/* source.c — the memory tracer as a source: "memory" (kymo/source.h). */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "domains.h"
#include "heaprec.h"
#include "history.h"
#include "hooked.h"
#include "interrupted.h"
#include "live_held.h"
#include "patchset.h"
#include "resident.h"
#include "running.h"
#include "sizes.h"
#include "tracked.h"

static struct kymo_memory_options configured; /* by kymo_memory_configure; under the life lock */

/* Not the life lock: our own thread takes snapshots too, and whoever stops waits for it. */
static pthread_mutex_t snapshots = PTHREAD_MUTEX_INITIALIZER;
static bool recording; /* under that lock, as is the next */
static uint32_t last_snapshot;

static uint32_t pauses;

/* ---- options ---- */

/* Read OPTIONS, which may be NULL or of an older caller, and fill in the defaults. */
static int complete(const struct kymo_memory_options *options, struct kymo_memory_options *o)
{
    *o = (struct kymo_memory_options){0};
    if (options)
        memcpy(o, options, options->size < sizeof(*o) ? options->size : sizeof(*o));
    o->size = sizeof(*o);
    if (o->mode < KYMO_MEMORY_EXACT || o->mode > KYMO_MEMORY_LIVE || o->rate >= UINT64_C(1) << 40)
        return -EINVAL;
    if (!o->what)
        o->what =
            KYMO_MEMORY_NATIVE | KYMO_MEMORY_MAPPINGS | KYMO_MEMORY_MANAGED | KYMO_MEMORY_TRACKED;
    if (!o->rate)
        o->rate = 512 << 10;
    if (!o->resident_ns)
        o->resident_ns = 10 * 1000000;
    return 0;
}

/* The kinds of frames to record. Known only when a session starts: an interpreter may come late. */
static unsigned stacks_of(const struct kymo_memory_options *o)
{
    if (o->no_stacks)
        return 0;
    if (o->stacks)
        return o->stacks;
    return kymo__interpreter() ? KYMO_STACK_MANAGED : KYMO_STACK_NATIVE;
}

int kymo_memory_configure(const struct kymo_memory_options *options)
{
    struct kymo_memory_options o;
    int rc = complete(options, &o);
    if (rc == 0) {
        kymo__life_lock();
        configured = o;
        kymo__life_unlock();
    }
    return rc;
}

/* ---- metadata ---- */

static void describe_options(const struct kymo_memory_options *o, unsigned what)
{
    static const char *const modes[] = {"exact", "sampled", "live"};
    static const struct {
        unsigned bit;
        const char *name;
    } parts[] = {{KYMO_MEMORY_NATIVE, "native"},
                 {KYMO_MEMORY_MAPPINGS, "mappings"},
                 {KYMO_MEMORY_MANAGED, "python"},
                 {KYMO_MEMORY_TRACKED, "tracked"}};
    char text[64] = "";
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (what & parts[i].bit)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? "," : "",
                     parts[i].name);
    kymo_metadata("memory.domains", text);
    kymo_metadata("memory.mode", modes[o->mode]);
    unsigned both = KYMO_STACK_NATIVE | KYMO_STACK_MANAGED;
    kymo_metadata("memory.stacks", (o->stacks & both) == both       ? "both"
                                   : o->stacks & KYMO_STACK_NATIVE  ? "native"
                                   : o->stacks & KYMO_STACK_MANAGED ? "python"
                                                                    : "none");
    if (o->mode == KYMO_MEMORY_SAMPLED) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)o->rate);
        kymo_metadata("memory.rate", text);
    }
}

static void describe_losses(void)
{
    struct kymo_patchset_counts counts;
    char text[160];
    kymo__patchset_count(&counts);
    if (counts.missed) {
        snprintf(text, sizeof(text), "%llu slots of allocation functions could not be patched",
                 (unsigned long long)counts.missed);
        kymo_metadata("memory.missed", text);
    } else if (pauses) {
        kymo_metadata("memory.missed", "recording was paused");
    }
    if (kymo__held_lost()) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)kymo__held_lost());
        kymo_metadata("memory.lost", text);
    }
}

/* ---- snapshots ---- */

static void write_row(void *arg, uint64_t bytes, uint64_t count, uint32_t stack, uint32_t function)
{
    const uint64_t values[] = {*(const uint32_t *)arg, bytes, count, stack, function};
    kymo__heaprec_note(&kymo__heaprec.held, kymo_ticks(), values, 5);
}

static void write_held(uint32_t number, bool at_peak)
{
    kymo__held_rows(at_peak, write_row, &number);
}

static void mark_snapshot(uint32_t number, const char *reason)
{
    unsigned char room[512];
    struct kymo_payload payload;
    size_t len = strlen(reason), most = sizeof(room) - 20;
    kymo_payload_begin(&payload, room, sizeof(room));
    kymo_payload_uint(&payload, number);
    kymo_payload_bytes(&payload, reason, len < most ? len : most);
    kymo_note(&kymo__heaprec.snapshot, &payload);
}

int kymo__heaprec_snapshot(const char *reason)
{
    pthread_mutex_lock(&snapshots);
    uint32_t number = recording ? ++last_snapshot : 0;
    if (number) {
        kymo__resident_note();
        mark_snapshot(number, reason);
        if (kymo__heaprec.options.mode != KYMO_MEMORY_EXACT)
            write_held(number, false);
    }
    pthread_mutex_unlock(&snapshots);
    return number ? (int)number : KYMO_EIDLE;
}

int kymo_memory_snapshot(const char *reason)
{
    kymo__life_lock();
    bool entered = kymo_memory_enter();
    int number = kymo__heaprec_snapshot(reason ? reason : "");
    if (number > 0)
        kymo__domains_snapshot((uint32_t)number);
    if (entered)
        kymo_memory_leave();
    kymo__life_unlock();
    return number;
}

void kymo_memory_snapshot_request(void)
{
    if (kymo__load_relaxed(&kymo__memory_on))
        kymo__resident_request();
}

int kymo_memory_stats(struct kymo_memory_stats *stats)
{
    struct kymo_patchset_counts counts;
    if (stats->size < sizeof(size_t))
        return -EINVAL;
    kymo__patchset_count(&counts);
    const struct kymo_memory_stats now = {
        .size = stats->size,
        .patched_objects = counts.objects,
        .patched_slots = counts.slots,
        .missed_slots = counts.missed,
        .lost = kymo__held_lost(),
    };
    memcpy(stats, &now, stats->size < sizeof(now) ? stats->size : sizeof(now));
    return 0;
}

/* ---- the source ---- */

/* The bits that make up about 8 ns, or none where the counter is slower than that. */
static uint64_t fine_bits(void)
{
    const struct kymo_snapshot now = kymo__clock_snapshot();
    uint64_t ticks = kymo__clock_rate(&now) / (1000000000 / 8), step = 1;
    while (step * 2 <= ticks)
        step *= 2;
    return step - 1;
}

static int prepare_heap(struct kymo_heaprec *heap, const struct kymo_source_session *session)
{
    *heap = (struct kymo_heaprec){0};
    int rc = complete(session->options  ? session->options
                      : configured.size ? &configured
                                        : NULL,
                      &heap->options);
    if (rc == 0)
        rc = kymo__heaprec_schemas(heap);
    if (rc == 0 && heap->options.what & KYMO_MEMORY_TRACKED)
        rc = kymo__tracked_begin();
    if (heap->options.mode == KYMO_MEMORY_SAMPLED)
        heap->options.keep_sizes = 0;
    if (rc == 0)
        rc = kymo__sizes_begin(heap->options.keep_sizes);
    if (heap->options.mode == KYMO_MEMORY_EXACT)
        kymo__live_held_unused();
    if (rc == 0 && heap->options.mode != KYMO_MEMORY_EXACT)
        rc = kymo__live_held_begin(heap->options.mode == KYMO_MEMORY_SAMPLED ? heap->options.rate
                                                                             : 0);
    heap->options.stacks = stacks_of(&heap->options);
    heap->parts = heap->options.stacks;
    heap->fine = fine_bits();
    if (!kymo__interpreter())
        heap->parts &= ~(unsigned)KYMO_STACK_MANAGED;
    return rc;
}

static void set_recording(bool now)
{
    pthread_mutex_lock(&snapshots);
    recording = now;
    last_snapshot = now ? 1 : last_snapshot;
    pthread_mutex_unlock(&snapshots);
}

static int source_start(void *user, const struct kymo_source_session *session, void **state)
{
    (void)user;
    struct kymo_heaprec heap;
    int rc = prepare_heap(&heap, session);
    if (rc < 0)
        return rc;
    kymo__hooked_keys();
    kymo__heaprec = heap;
    pauses = 0;
    *state = &kymo__heaprec;
    kymo__resident_note();
    unsigned what = heap.options.what & (KYMO_MEMORY_NATIVE | KYMO_MEMORY_MAPPINGS);
    unsigned patched = what | (heap.options.what & KYMO_MEMORY_TRACKED);
    if (kymo__resident_start(heap.options.resident_ns) < 0)
        kymo_metadata("memory.missed", "resident memory: no thread could be started");
    if (patched)
        kymo__patchset_start(patched, heap.options.mode == KYMO_MEMORY_SAMPLED);
    set_recording(true);
    /* Before anything is recorded: it may wait until other threads let go of the interpreter, and
       what their objects get from malloc meanwhile would be native blocks. */
    what |= kymo__domains_install(&kymo__heaprec.options);
    kymo__store_release(&kymo__memory_on, 1u);
    describe_options(&kymo__heaprec.options, what);
    return 0;
}

static void source_stop(void *state)
{
    (void)state;
    kymo__domains_snapshot(0);
    kymo__domains_remove();
    kymo__store_release(&kymo__memory_on, 0u);
    set_recording(false);
    kymo__patchset_stop();
    kymo__resident_stop();
    kymo__resident_note();
    if (kymo__heaprec.options.mode != KYMO_MEMORY_EXACT) {
        write_held(0, false);
        write_held(1, true);
    }
    describe_losses();
}

static void source_pause(void *state)
{
    (void)state;
    pauses++;
    kymo__store_release(&kymo__memory_on, 0u);
}

static void source_resume(void *state)
{
    (void)state;
    kymo__store_release(&kymo__memory_on, 1u);
    kymo__patchset_more();
}

static void source_rest(void *state)
{
    (void)state;
    kymo__resident_rest();
}

static void source_work(void *state)
{
    (void)state;
    kymo__resident_work();
}

static void source_before_fork(void *state)
{
    (void)state;
    kymo__patchset_before_fork();
}

static void source_after_fork(void *state)
{
    (void)state;
    kymo__patchset_after_fork();
}

static void source_forked(void *state)
{
    (void)state;
    kymo__store_release(&kymo__memory_on, 0u);
    pthread_mutex_init(&snapshots, NULL);
    recording = false;
    kymo__patchset_forked();
    kymo__resident_forked();
    kymo__domains_forked();
}

static const struct kymo_source source = {
    .size = sizeof(source),
    .name = "memory",
    .flags = KYMO_SOURCE_OFF,
    .start = source_start,
    .pause = source_pause,
    .resume = source_resume,
    .stop = source_stop,
    .fork_prepare = source_before_fork,
    .fork_parent = source_after_fork,
    .fork_child = source_forked,
    .rest = source_rest,
    .work = source_work,
};

static const struct kymo_memory_tracer tracer = {
    .size = sizeof(tracer),
    .name = "memory",
    .start = kymo__history_start,
    .stop = kymo__history_stop,
    .export_memory_history = kymo__history_export,
    .source = &source,
};

__attribute__((constructor)) static void register_at_load(void)
{
    kymo_memory_tracer_register(&tracer, NULL);
}
