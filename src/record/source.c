/* source.c — the registered tracers, and what a session does with one. */
#include <kymo/source.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "local.h"
#include "session.h"
#include "tracks.h"

/* Entries of a session's queue are taken in order by whoever comes; `ticks` is stored
   last and makes an entry count. */
struct kymo_queue {
    struct kymo_compressed *entries;
    uint64_t capacity, taken;
};

/* All under the life lock, but for what the queue says of itself. */
static struct kymo_tracer tracer; /* the registered one, absent functions NULL */
static const struct kymo_tracer *tracer_table;
static void *tracer_user;
static struct kymo_memory_tracer memory;
static const struct kymo_memory_tracer *memory_table;
static void *memory_user;

static struct {
    struct kymo_queue queue;
    void *state;
    bool active, paused;
} running;

static int add(void *copy, size_t copy_size, const void *table, size_t size, const char *name)
{
    if (size < offsetof(struct kymo_tracer, name) + sizeof(name) || !name)
        return -EINVAL;
    memset(copy, 0, copy_size);
    memcpy(copy, table, size < copy_size ? size : copy_size);
    return 0;
}

int kymo_tracer_register(const struct kymo_tracer *table, void *user)
{
    if (!table)
        return -EINVAL;
    kymo__life_lock();
    int rc = tracer_table ? -KYMO_EREGISTERED
                          : add(&tracer, sizeof(tracer), table, table->size,
                                table->size < sizeof(size_t) * 2 ? NULL : table->name);
    if (rc == 0) {
        tracer_table = table;
        tracer_user = user;
    }
    kymo__life_unlock();
    return rc;
}

int kymo_tracer_unregister(const struct kymo_tracer *table)
{
    kymo__life_lock();
    int rc = 0;
    if (!table || tracer_table != table)
        rc = -KYMO_ENOTREGISTERED;
    else if (running.active)
        rc = -KYMO_ERUNNING;
    else
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

int kymo_queue_enter(struct kymo_queue *queue, uint64_t trace_key, int32_t device,
                     uint32_t resource)
{
    /* The claim keeps kymo_stop from taking the entries away meanwhile. */
    struct kymo_lane *lane;
    struct kymo_record *at = queue ? kymo_lane_claim(&lane, 0) : NULL;
    if (!at)
        return -KYMO_EIDLE;
    uint64_t i = kymo__add_relaxed(&queue->taken, UINT64_C(1));
    if (i < queue->capacity) {
        struct kymo_compressed *entry = &queue->entries[i];
        entry->trace_key = trace_key;
        entry->tid = kymo__tid_now();
        entry->device = device;
        entry->resource = resource;
        kymo__store_release(&entry->ticks, kymo_ticks());
    }
    kymo_lane_release(lane, at);
    return i < queue->capacity ? 0 : -ENOSPC;
}

void kymo__source_begin(struct kymo_session *s)
{
    memset(&running, 0, sizeof(running));
    if (!tracer_table || !tracer.create)
        return;
    uint64_t bytes = (uint64_t)s->live.limit * KYMO__CHUNK_BYTES / 16;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return;
    running.queue.entries = map;
    running.queue.capacity = bytes / sizeof(struct kymo_compressed);
    running.state = tracer.create(tracer_user, &running.queue);
    running.active = running.state != NULL;
    if (running.active)
        kymo__names_meta(&s->names, "tracer", tracer.name);
    else
        munmap(map, bytes);
}

void kymo__source_end(struct kymo_session *s)
{
    (void)s;
    if (running.active && !running.paused && tracer.stop)
        tracer.stop(running.state);
}

static int by_ticks(const void *a, const void *b)
{
    const struct kymo_compressed *x = a, *y = b;
    return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/* The entries that were finished, in the order of time. Returns how many. */
static size_t settle(struct kymo_queue *queue)
{
    uint64_t taken = queue->taken < queue->capacity ? queue->taken : queue->capacity;
    size_t kept = 0;
    for (uint64_t i = 0; i < taken; i++)
        if (kymo__load_acquire(&queue->entries[i].ticks))
            queue->entries[kept++] = queue->entries[i];
    qsort(queue->entries, kept, sizeof(*queue->entries), by_ticks);
    return kept;
}

void kymo__source_finish(struct kymo_session *s)
{
    if (!running.active)
        return;
    size_t count = settle(&running.queue);
    uint64_t lost = running.queue.taken - (running.queue.taken < running.queue.capacity
                                               ? running.queue.taken
                                               : running.queue.capacity);
    struct kymo_tracks tracks;
    if (tracer.get_events && kymo__tracks_init(&tracks, s) == 0) {
        tracer.get_events(running.state, &tracks.converter, running.queue.entries, count,
                          tracks.end.monotonic, kymo__tracks_finish, &tracks);
        kymo__tracks_fini(&tracks, lost);
    }
    if (tracer.destroy)
        tracer.destroy(running.state);
    munmap(running.queue.entries, (uint64_t)s->live.limit * KYMO__CHUNK_BYTES / 16);
    memset(&running, 0, sizeof(running));
}

void kymo__source_forked(void)
{
    memset(&running, 0, sizeof(running));
}

int kymo_tracer_pause(void)
{
    kymo__life_lock();
    int rc = kymo__session ? 0 : -KYMO_EIDLE;
    if (running.active && !running.paused) {
        running.paused = true;
        if (tracer.stop)
            tracer.stop(running.state);
    }
    if (kymo__session)
        kymo__sampler_pause(kymo__session, true);
    kymo__life_unlock();
    return rc;
}

int kymo_tracer_resume(void)
{
    kymo__life_lock();
    int rc = kymo__session ? 0 : -KYMO_EIDLE;
    if (running.active && running.paused) {
        running.paused = false;
        if (tracer.restart)
            tracer.restart(running.state);
    }
    if (kymo__session)
        kymo__sampler_pause(kymo__session, false);
    kymo__life_unlock();
    return rc;
}

int kymo_tracer_gc_callback(void)
{
    kymo__life_lock();
    int rc = kymo__session ? 0 : -KYMO_EIDLE;
    if (running.active && tracer.register_gc_callback)
        tracer.register_gc_callback(running.state);
    kymo__life_unlock();
    return rc;
}

int kymo_memory_tracer_register(const struct kymo_memory_tracer *table, void *user)
{
    if (!table)
        return -EINVAL;
    kymo__life_lock();
    int rc = memory_table ? -KYMO_EREGISTERED
                          : add(&memory, sizeof(memory), table, table->size,
                                table->size < sizeof(size_t) * 2 ? NULL : table->name);
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
    int rc = table && memory_table == table ? 0 : -KYMO_ENOTREGISTERED;
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

/* The registered memory tracer, or a no-op; *USER is what it was registered with. It
   is called without our lock, since it may well start a session. */
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
