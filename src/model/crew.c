/* crew.c — see crew.h.

   A chunk gets its number when it is full, while its thread is still held, and chunks are
   written in the order of numbers. Everyone holds one numbered chunk at most and hands it
   over before anything else, so that waiting for one's turn always ends. */
#include "crew.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "gzip.h"

enum {
    STEP = 1024,           /* events between two looks at the chunk */
    MEMBERS_MOST = 16,     /* more cores than that wait for one another */
    SMALL_CAPTURE = 100000 /* events that one core has written before others have started */
};

struct crew {
    struct kymo_capture *capture;
    const struct kymo_export_options *options;
    const struct kymo_crew_format *format;
    void *arg;
    struct kymo_outfile *out;
    uint64_t *tids;
    uint64_t all; /* events there are */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    struct kymo_crew_thread *idle; /* begun, and held by nobody; the first is next */
    uint32_t next, last;           /* threads not begun yet */
    unsigned held;                 /* by members that read them */
    uint64_t before;               /* events of the threads begun so far */
    uint64_t given, written;       /* numbers of chunks */
    uint64_t done;                 /* events read */
    int error;
};

/* ---- ids ---- */

struct named {
    uint64_t tid;
    uint32_t thread;
};

static int by_tid(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* A system thread id may have been used again; in a file each thread needs its own. The
   ids by thread, to be freed, or NULL. */
static uint64_t *give_tids(const struct kymo_reader *r)
{
    struct named *all = kymo__alloc((r->thread_count + 1) * sizeof(*all));
    uint64_t *tids = kymo__alloc((r->thread_count + 1) * sizeof(*tids));
    if (!all || !tids) {
        kymo__free(all);
        kymo__free(tids);
        return NULL;
    }
    for (uint32_t i = 0; i < r->thread_count; i++)
        all[i] = (struct named){r->threads[i].tid, i};
    if (r->thread_count)
        qsort(all, r->thread_count, sizeof(*all), by_tid);
    for (size_t i = 0; i < r->thread_count; i++) {
        bool again = all[i].tid >= KYMO__SECOND_TID || (i && all[i].tid == all[i - 1].tid);
        tids[all[i].thread] = again ? KYMO__SECOND_TID + all[i].thread : all[i].tid;
    }
    kymo__free(all);
    return tids;
}

/* ---- threads; all with the lock held, except read ---- */

static void close_thread(struct crew *c, struct kymo_crew_thread *t)
{
    if (t->state && c->format->end)
        c->format->end(t);
    kymo__calls_fini(&t->calls);
    kymo__capture_unshare(c->capture, t->capture);
    kymo__buffer_fini(&t->out);
    kymo__free(t->state);
    kymo__free(t);
}

int64_t kymo__crew_pid(const struct kymo_capture *capture, uint32_t index,
                       struct kymo_process_info *info)
{
    struct kymo_process_info other = {.size = sizeof(other)};
    info->size = sizeof(*info);
    if (kymo_capture_process(capture, index, info) < 0)
        return 0;
    for (uint32_t i = 0; i < index; i++)
        if (kymo_capture_process(capture, i, &other) == 0 && other.pid == info->pid)
            return (int64_t)KYMO__SECOND_TID + index;
    return info->pid;
}

static int open_thread(struct crew *c, const struct kymo_thread_info *info,
                       struct kymo_crew_thread **thread)
{
    const struct kymo_export_options *o = c->options;
    struct kymo_crew_thread *t = kymo__alloc_zeroed(sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->info = *info;
    t->arg = c->arg;
    t->tid = c->tids[info->index];
    struct kymo_process_info process;
    t->pid = kymo__crew_pid(c->capture, info->process, &process);
    t->before = c->before;
    c->before += info->records;
    snprintf(t->unnamed, sizeof(t->unnamed), "thread %" PRId64, info->tid);
    t->name = *info->name ? info->name : t->unnamed;
    t->visitor = (struct kymo_visitor){
        .arg = t, .enter = c->format->enter, .leave = c->format->leave, .other = c->format->other};
    t->state = kymo__alloc_zeroed(c->format->state_size + 1);
    int rc = t->state ? kymo__buffer_reserve(&t->out, KYMO__CREW_CHUNK) : -ENOMEM;
    if (rc == 0)
        rc = kymo__capture_share(c->capture, &t->capture);
    if (rc == 0)
        rc = kymo__calls_init(&t->calls, t->capture, info->index, o->from > 0 ? o->from : INT64_MIN,
                              o->to, &t->visitor);
    if (rc == 0 && c->format->begin)
        rc = c->format->begin(t);
    if (rc < 0) {
        close_thread(c, t);
        return rc;
    }
    *thread = t;
    return 0;
}

/* The next thread that has something to tell, or NULL; then either none is left, or an
   error happened. */
static struct kymo_crew_thread *begin_thread(struct crew *c)
{
    while (c->next < c->last) {
        struct kymo_crew_thread *t = NULL;
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(c->capture, c->next++, &info);
        if (!info.records && !info.lost)
            continue;
        int rc = open_thread(c, &info, &t);
        if (rc < 0)
            c->error = rc;
        return t;
    }
    return NULL;
}

/* A thread to read: one that was put back first, so that no more are under way than there
   are members. Waits while all are held, since one may come back; NULL when there is
   nothing left to do. */
static struct kymo_crew_thread *take(struct crew *c)
{
    for (;;) {
        if (c->error)
            return NULL;
        struct kymo_crew_thread *t = c->idle;
        if (t)
            c->idle = t->next;
        else
            t = begin_thread(c);
        c->held += t != NULL;
        if (t || !c->held)
            return t;
        if (c->error)
            pthread_cond_broadcast(&c->changed);
        else
            pthread_cond_wait(&c->changed, &c->lock);
    }
}

static void put_back(struct crew *c, struct kymo_crew_thread *t)
{
    struct kymo_crew_thread **at = &c->idle;
    while (*at)
        at = &(*at)->next;
    t->next = NULL;
    *at = t;
}

/* Read until the chunk is full. 1: there is more, 0: the thread is done, or negative. */
static int fill(struct kymo_crew_thread *t, uint64_t *events)
{
    int rc = 1;
    while (rc > 0 && t->out.len < KYMO__CREW_CHUNK) {
        rc = kymo__calls_read(&t->calls, STEP);
        *events += STEP;
    }
    return rc;
}

/* ---- members ---- */

/* One of the crew, and the chunk that it has at hand. */
struct member {
    struct kymo_buffer chunk, packed;
    struct kymo_deflater *deflater; /* where the file is compressed: this instead of `packed` */
    struct kymo_gzip_part part;
    const struct kymo_buffer *ready; /* what is to be written; NULL: the part */
};

static int pack(const struct crew *c, struct member *m)
{
    int rc = 1;
    m->ready = &m->chunk;
    if (m->chunk.len && m->deflater) {
        m->ready = NULL;
        return kymo__gzip_part(m->deflater, m->chunk.bytes, m->chunk.len, &m->part);
    }
    if (m->chunk.len && c->format->pack) {
        m->packed.len = 0;
        rc = c->format->pack(&m->chunk, &m->packed);
    }
    if (rc == 0)
        m->ready = &m->packed;
    return rc < 0 ? rc : 0;
}

/* Write what M has ready when it is its turn. The turn is what guards the file, not the lock:
   others take threads and read them meanwhile. */
static void hand_over(struct crew *c, uint64_t number, const struct member *m, int rc)
{
    pthread_mutex_lock(&c->lock);
    while (c->written != number)
        pthread_cond_wait(&c->changed, &c->lock);
    c->error = c->error ? c->error : rc;
    if (!c->error) {
        pthread_mutex_unlock(&c->lock);
        if (m->ready)
            kymo__outfile_add(c->out, m->ready->bytes, m->ready->len);
        else
            kymo__outfile_add_part(c->out, &m->part);
        pthread_mutex_lock(&c->lock);
        c->error = c->error ? c->error : c->out->error;
    }
    c->written++;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* Read T on; its chunk is then in CHUNK, which lends its memory in return. */
static uint64_t read_on(struct crew *c, struct kymo_crew_thread *t, struct kymo_buffer *chunk)
{
    uint64_t events = 0;
    chunk->len = 0;
    int rc = kymo__buffer_reserve(chunk, KYMO__CREW_CHUNK);
    if (rc == 0)
        rc = fill(t, &events);
    pthread_mutex_lock(&c->lock);
    struct kymo_buffer full = t->out;
    t->out = *chunk;
    *chunk = full;
    uint64_t number = c->given++;
    c->done += events;
    c->held--;
    if (rc > 0)
        put_back(c, t);
    else
        close_thread(c, t);
    c->error = c->error || rc > 0 ? c->error : rc;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return number;
}

static int tell(struct crew *c)
{
    pthread_mutex_lock(&c->lock);
    uint64_t done = c->done < c->all ? c->done : c->all;
    pthread_mutex_unlock(&c->lock);
    return c->options->progress ? c->options->progress(c->options->progress_arg, done, c->all) : 0;
}

static void work(struct crew *c, bool caller)
{
    struct member m = {0};
    if (c->out->packing)
        m.deflater = kymo__deflater_new(); /* without: the file's own, when it is written */
    for (;;) {
        pthread_mutex_lock(&c->lock);
        struct kymo_crew_thread *t = take(c);
        pthread_mutex_unlock(&c->lock);
        if (!t)
            break;
        uint64_t number = read_on(c, t, &m.chunk);
        int rc = pack(c, &m);
        int told = caller ? tell(c) : 0;
        hand_over(c, number, &m, rc < 0 ? rc : told < 0 ? told : 0);
    }
    kymo__deflater_free(m.deflater);
    kymo__buffer_fini(&m.chunk);
    kymo__buffer_fini(&m.packed);
    kymo__buffer_fini(&m.part.deflated);
}

static void *work_on(void *crew)
{
    work(crew, false);
    return NULL;
}

/* ---- whole ---- */

static unsigned count_members(const struct crew *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long wanted = cores < 1 || c->all < SMALL_CAPTURE ? 1 : cores;
    bool packs = c->format->pack || c->out->packing;
    if (!packs && wanted > (long)(c->last - c->next) + 1)
        wanted = (long)(c->last - c->next) + 1; /* one reads a thread, and one writes at a time */
    return wanted < MEMBERS_MOST ? (unsigned)wanted : MEMBERS_MOST;
}

/* The caller and as many others as can be had. Signals are for the program's threads. */
static void work_together(struct crew *c, unsigned count)
{
    pthread_t others[MEMBERS_MOST];
    unsigned started = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started + 1 < count && pthread_create(&others[started], NULL, work_on, c) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(c, true);
    while (started)
        pthread_join(others[--started], NULL);
}

int kymo__crew_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                     const struct kymo_crew_format *format, void *arg, struct kymo_outfile *out)
{
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    struct crew c = {
        .capture = capture,
        .options = options,
        .format = format,
        .arg = arg,
        .out = out,
        .all = info.records,
        .last = (uint32_t)capture->reader->thread_count,
        .tids = give_tids(capture->reader),
    };
    if (!c.tids)
        return -ENOMEM;
    if (options->thread >= 0) {
        c.next = (uint32_t)options->thread;
        c.last = c.next + 1;
    }
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.changed, NULL);
    work_together(&c, count_members(&c));
    while (c.idle) { /* after an error */
        struct kymo_crew_thread *t = c.idle;
        c.idle = t->next;
        close_thread(&c, t);
    }
    pthread_cond_destroy(&c.changed);
    pthread_mutex_destroy(&c.lock);
    kymo__free(c.tids);
    return c.error;
}
