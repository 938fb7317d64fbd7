/* tracers.c — the two other kinds of source: the tracer, with its queue of compressed entries,
   and the memory tracer. Each is a plain source (source.c) whose functions call those of the
   registered table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "local.h"
#include "mapped.h"
#include "names.h"
#include "running.h"
#include "sources.h"
#include "tracks.h"

/* Threads take entries of a session's queue in order; `ticks` is stored last and makes an entry
   valid. */
struct kymo_queue {
    struct kymo_compressed *entries;
    uint64_t capacity, taken;
    size_t bytes;
};

/* All under the life lock, except the fields of the queue. */
static struct kymo_tracer tracer; /* the registered one, absent functions NULL */
static const struct kymo_tracer *tracer_table;
static struct kymo_memory_tracer memory;
static const struct kymo_memory_tracer *memory_table;
static void *memory_user;

static struct {
    struct kymo_queue queue;
    void *state;
    bool active, paused;
} running;

int kymo_queue_enter(struct kymo_queue *queue, uint64_t trace_key, int32_t device,
                     uint32_t resource)
{
    /* The claim keeps kymo_stop from freeing the entries meanwhile. */
    struct kymo_lane *lane;
    struct kymo_record *at = queue ? kymo_lane_claim(&lane, 0) : NULL;
    if (!at)
        return KYMO_EIDLE;
    uint64_t i = kymo__add_relaxed(&queue->taken, UINT64_C(1));
    if (i < queue->capacity) {
        struct kymo_compressed *entry = &queue->entries[i];
        entry->size = sizeof(*entry);
        entry->trace_key = trace_key;
        entry->tid = kymo__tid_now();
        entry->device = device;
        entry->resource = resource;
        kymo__store_release(&entry->ticks, kymo_ticks());
    }
    kymo_lane_release(lane, at);
    return i < queue->capacity ? 0 : -ENOSPC;
}

/* ---- the tracer as a source ---- */

static int tracer_start(void *user, const struct kymo_source_session *session, void **state)
{
    memset(&running, 0, sizeof(running));
    *state = &running;
    if (!tracer.create)
        return -ENOSYS;
    size_t bytes = session->budget_bytes / 16;
    void *map = kymo__pages_new(bytes);
    if (!map)
        return -ENOMEM;
    running.queue = (struct kymo_queue){
        .entries = map,
        .capacity = bytes / sizeof(struct kymo_compressed),
        .bytes = bytes,
    };
    running.state = tracer.create(user, &running.queue);
    running.active = running.state != NULL;
    if (running.active)
        kymo__names_meta(kymo__running->names, "tracer", tracer.name);
    else
        kymo__pages_free(map, bytes);
    return running.active ? 0 : -ECANCELED;
}

static void tracer_pause(void *state)
{
    (void)state;
    running.paused = true;
    if (tracer.stop)
        tracer.stop(running.state);
}

static void tracer_resume(void *state)
{
    (void)state;
    running.paused = false;
    if (tracer.restart)
        tracer.restart(running.state);
}

static void tracer_stop(void *state)
{
    if (!running.paused)
        tracer_pause(state);
}

static int by_ticks(const void *a, const void *b)
{
    const struct kymo_compressed *x = a, *y = b;
    return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/* Collect the finished entries in order of time. Returns how many. */
static size_t sort_entries(struct kymo_queue *queue)
{
    uint64_t taken = queue->taken < queue->capacity ? queue->taken : queue->capacity;
    size_t kept = 0;
    for (uint64_t i = 0; i < taken; i++)
        if (kymo__load_acquire(&queue->entries[i].ticks))
            queue->entries[kept++] = queue->entries[i];
    qsort(queue->entries, kept, sizeof(*queue->entries), by_ticks);
    return kept;
}

/* Take one event from a tracer that may have been compiled against another version of the
   header; ARG is the tracks. */
static void finish_event(void *arg, const struct kymo_finished *event)
{
    struct kymo_finished whole = {0};
    memcpy(&whole, event, event->size < sizeof(whole) ? event->size : sizeof(whole));
    if (whole.name)
        kymo__tracks_finish(arg, &whole);
}

static void tracer_end(void *state)
{
    (void)state;
    size_t count = sort_entries(&running.queue);
    uint64_t taken = running.queue.taken, capacity = running.queue.capacity;
    struct kymo_tracks tracks;
    if (tracer.get_events && kymo__tracks_init(&tracks, kymo__running->tracks) == 0) {
        tracer.get_events(running.state, &tracks.converter, running.queue.entries, count,
                          tracks.end.monotonic, finish_event, &tracks);
        kymo__tracks_fini(&tracks, taken > capacity ? taken - capacity : 0);
    }
    if (tracer.destroy)
        tracer.destroy(running.state);
    kymo__pages_free(running.queue.entries, running.queue.bytes);
    memset(&running, 0, sizeof(running));
}

static void tracer_forked(void *state)
{
    (void)state;
    memset(&running, 0, sizeof(running));
}

static void tracer_collections(void *state)
{
    (void)state;
    if (running.active && tracer.register_gc_callback)
        tracer.register_gc_callback(running.state);
}

static struct kymo_source tracer_source = {
    .size = sizeof(tracer_source),
    .start = tracer_start,
    .pause = tracer_pause,
    .resume = tracer_resume,
    .stop = tracer_stop,
    .end = tracer_end,
    .fork_child = tracer_forked,
    .collections = tracer_collections,
};

/* ---- the memory tracer as a source ---- */

static int memory_begin(void *user, const struct kymo_source_session *session, void **state)
{
    (void)session;
    *state = user;
    return memory.start ? memory.start(user) : 0;
}

static void memory_finish(void *state)
{
    if (memory.stop)
        memory.stop(state);
}

static const struct kymo_source memory_plain = {
    .size = sizeof(memory_plain),
    .start = memory_begin,
    .stop = memory_finish,
};
static struct kymo_source memory_source;

/* How the memory tracer TABLE takes part in a session. */
static struct kymo_source source_of(const struct kymo_memory_tracer *table)
{
    const size_t known = offsetof(struct kymo_memory_tracer, source) + sizeof(table->source);
    struct kymo_source source = {.size = sizeof(source)};
    const struct kymo_source *given =
        table->size >= known && table->source ? table->source : &memory_plain;
    memcpy(&source, given, given->size < sizeof(source) ? given->size : sizeof(source));
    source.size = sizeof(source);
    source.flags = KYMO_SOURCE_OFF;
    return source;
}

/* ---- registration ---- */

/* Copy TABLE, of SIZE bytes, to COPY, and add SOURCE under its name. Both kinds of table have the
   name in the same place. */
static int add_kind(struct kymo_source *source, void *user, void *copy, size_t copy_size,
                    const void *table, size_t size)
{
    const size_t least = offsetof(struct kymo_tracer, name) + sizeof(const char *);
    if (size < least)
        return -EINVAL;
    memcpy(&source->name, (const char *)table + offsetof(struct kymo_tracer, name),
           sizeof(source->name));
    int rc = kymo__source_add(source, user);
    if (rc == 0) {
        memset(copy, 0, copy_size);
        memcpy(copy, table, size < copy_size ? size : copy_size);
    }
    return rc;
}

int kymo_tracer_register(const struct kymo_tracer *table, void *user)
{
    if (!table)
        return -EINVAL;
    kymo__life_lock();
    int rc = tracer_table
                 ? KYMO_EREGISTERED
                 : add_kind(&tracer_source, user, &tracer, sizeof(tracer), table, table->size);
    if (rc == 0)
        tracer_table = table;
    kymo__life_unlock();
    return rc;
}

int kymo_tracer_unregister(const struct kymo_tracer *table)
{
    kymo__life_lock();
    int rc = KYMO_ENOTREGISTERED;
    if (table && tracer_table == table)
        rc = kymo__source_remove(&tracer_source);
    if (rc == 0)
        tracer_table = NULL;
    kymo__life_unlock();
    return rc;
}

const char *kymo_tracer_name(void)
{
    kymo__life_lock();
    const char *name = tracer_table ? tracer.name : "none";
    kymo__life_unlock();
    return name;
}

int kymo_memory_tracer_register(const struct kymo_memory_tracer *table, void *user)
{
    if (!table)
        return -EINVAL;
    kymo__life_lock();
    int rc = KYMO_EREGISTERED;
    if (!memory_table) {
        memory_source = source_of(table);
        rc = add_kind(&memory_source, user, &memory, sizeof(memory), table, table->size);
    }
    if (rc == 0) {
        memory_table = table;
        memory_user = user;
    }
    kymo__life_unlock();
    return rc;
}

int kymo_memory_tracer_unregister(const struct kymo_memory_tracer *table)
{
    kymo__life_lock();
    int rc = KYMO_ENOTREGISTERED;
    if (table && memory_table == table)
        rc = kymo__source_remove(&memory_source);
    if (rc == 0)
        memory_table = NULL;
    kymo__life_unlock();
    return rc;
}

const char *kymo_memory_tracer_name(void)
{
    kymo__life_lock();
    const char *name = memory_table ? memory.name : "none";
    kymo__life_unlock();
    return name;
}

/* ---- driving them ---- */

int kymo_tracer_pause(void)
{
    return kymo_pause();
}

int kymo_tracer_resume(void)
{
    return kymo_resume();
}

int kymo_tracer_gc_callback(void)
{
    kymo__life_lock();
    int rc = kymo__running ? 0 : KYMO_EIDLE;
    if (rc == 0)
        kymo__sources_collections();
    kymo__life_unlock();
    return rc;
}

/* The registered memory tracer, or a no-op; *USER is what it was registered with. Call it
   without our lock, since it may start a session. */
static struct kymo_memory_tracer memory_now(void **user)
{
    static const struct kymo_memory_tracer none = {.size = sizeof(none), .name = "none"};
    kymo__life_lock();
    struct kymo_memory_tracer now = memory_table ? memory : none;
    *user = memory_user;
    kymo__life_unlock();
    return now;
}

int kymo_memory_start(void)
{
    void *user;
    struct kymo_memory_tracer now = memory_now(&user);
    return now.start ? now.start(user) : 0;
}

int kymo_memory_stop(void)
{
    void *user;
    struct kymo_memory_tracer now = memory_now(&user);
    return now.stop ? now.stop(user) : 0;
}

int kymo_memory_export(const char *path)
{
    void *user;
    struct kymo_memory_tracer now = memory_now(&user);
    return now.export_memory_history ? now.export_memory_history(user, path) : 0;
}
