/* session.c — a session's life: start, stop, exit, fork. */
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "local.h"
#include "procid.h"
#include "sampler_parts.h"
#include "switch.h"

enum {
    FIRST_CHUNKS = 32, /* made usable by start: 2 MiB */
    LEAST_CHUNKS = 16, /* a budget below this is raised to it */
    DEFAULT_BUDGET = 64 << 20,
};

struct kymo_session *kymo__session; /* under the life lock; read inside claims */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_number; /* under the life lock */

void kymo__life_lock(void)
{
    pthread_mutex_lock(&life);
}

void kymo__life_unlock(void)
{
    pthread_mutex_unlock(&life);
}

static void describe(struct kymo_session *s)
{
    char text[4096];
    ssize_t n = kymo__file_text("/proc/self/cmdline", text, sizeof(text));
    for (ssize_t i = 0; i + 1 < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    if (n > 0)
        kymo__names_meta(&s->names, "command_line", text);
    if (kymo__file_text("/proc/self/comm", text, sizeof(text)) > 0)
        kymo__names_meta(&s->names, "process_name", text);
    struct utsname name;
    if (uname(&name) == 0) {
        kymo__names_meta(&s->names, "host", name.nodename);
        kymo__names_meta(&s->names, "kernel", name.release);
        kymo__names_meta(&s->names, "machine", name.machine);
    }
    kymo__names_meta(&s->names, "kymo_version", kymo_version());
    if (s->live.fd < 0)
        kymo__names_meta(&s->names, "live_file", kymo_strerror(s->live.reason));
}

static void fill_header(struct kymo_file_header *header, int clock, struct kymo_snapshot now)
{
    *header = (struct kymo_file_header){
        .pid = (uint32_t)getpid(),
        .clock = (uint32_t)clock,
        .process_start = kymo__process_start((uint32_t)getpid()),
        .ticks_rate = kymo__clock_rate(&now),
        .ticks = now.ticks,
        .monotonic = now.monotonic,
        .wall = now.wall,
    };
    kymo__boot_id(header->boot);
    if (getrandom(header->capture, sizeof(header->capture), GRND_NONBLOCK) !=
        (ssize_t)sizeof(header->capture)) {
        memcpy(header->capture, &now, sizeof(header->capture));
        header->capture[0] ^= (uint8_t)header->pid;
    }
}

static int packers_new(struct kymo_session *s)
{
    s->packer = kymo__packer_new(s->level);
    if (!s->packer)
        return -ENOMEM;
    /* One helper is needed for the policy to hold; the others are for speed. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 0; s->policy == KYMO_HELP && i < KYMO__HELPERS && i < (cores < 1 ? 1 : cores);
         i++) {
        s->helpers[i] = kymo__packer_new(s->level);
        if (!s->helpers[i] && i == 0)
            return -ENOMEM;
    }
    return 0;
}

static void session_free(struct kymo_session *s, bool keep_live)
{
    kymo__sampler_free(s);
    kymo__names_fini(&s->names);
    kymo__packer_free(s->packer);
    for (int i = 0; i < KYMO__HELPERS; i++)
        kymo__packer_free(s->helpers[i]);
    kymo__sink_close(&s->sink);
    kymo__live_close(&s->live, keep_live);
    kymo__flight_fini(&s->flight);
    pthread_mutex_destroy(&s->file_lock);
    pthread_mutex_destroy(&s->grow_lock);
    kymo__free(s);
}

/* Start the writer thread. It gets no signals: they are the program's. */
static int writer_start(struct kymo_session *s)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    int rc = pthread_create(&s->writer, &attributes, kymo__drain_thread, s);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pthread_setname_np(s->writer, "kymograph");
    s->writing = rc == 0;
    return -rc;
}

/* Everything of a session but its being on; *OUT is to be freed on failure too. */
static int session_new(const struct kymo_options *o, struct kymo_session **out)
{
    struct kymo_session *s = *out = kymo__alloc_zeroed(sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->sink.fd = s->live.fd = -1;
    s->policy = o->policy;
    s->level = o->level ? o->level : 1;
    pthread_mutex_init(&s->file_lock, NULL);
    pthread_mutex_init(&s->grow_lock, NULL);
    kymo__flight_init(&s->flight);
    int clock = kymo__clock_choose(o->clock);
    s->started = kymo__clock_snapshot();
    struct kymo_file_header header;
    fill_header(&header, clock, s->started);
    int rc = packers_new(s);
    if (rc == 0)
        rc = kymo__flight_begin(&s->flight, o->flight_bytes, o->flight_ns, o->slow_ns);
    if (rc == 0)
        rc = kymo__sink_create(&s->sink, o->path, &header);
    if (rc < 0)
        return rc;
    uint64_t chunks = (o->budget ? o->budget : DEFAULT_BUDGET) / KYMO__CHUNK_BYTES;
    chunks = chunks < LEAST_CHUNKS ? LEAST_CHUNKS : chunks > 1u << 24 ? 1u << 24 : chunks;
    rc = kymo__live_create(&s->live, s->sink.path, header.capture, (uint32_t)chunks);
    if (rc == 0)
        s->live.header->flight = kymo__flight_on(&s->flight);
    if (rc == 0 && !kymo__pool_grow(s, FIRST_CHUNKS))
        rc = s->live.reason ? s->live.reason : -ENOMEM;
    if (rc == 0)
        rc = kymo__names_init(&s->names, kymo__chunks_pop(&s->free, s->live.chunks), s->level,
                              kymo__drain_append, s, &s->failing);
    if (rc == 0) {
        describe(s);
        kymo__names_snapshot(&s->names, &s->started);
        rc = kymo__names_flush(&s->names);
    }
    if (rc == 0)
        rc = kymo__sampler_new(s, o);
    if (rc == 0)
        rc = writer_start(s);
    return rc;
}

static void forked_child(void);
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    pthread_atfork(kymo__sampler_before_fork, kymo__sampler_after_fork, forked_child);
    sem_init(&kymo__wake, 0, 0);
    sem_init(&kymo__sampler_wake, 0, 0);
}

/* OPTIONS as this version of the library knows them; what the caller's older version
   does not have is zero. */
static int read_options(const struct kymo_options *options, struct kymo_options *o)
{
    *o = (struct kymo_options){0};
    if (!options || options->size < sizeof(size_t) + sizeof(char *))
        return -EINVAL;
    memcpy(o, options, options->size < sizeof(*o) ? options->size : sizeof(*o));
    if (!o->path || !*o->path || o->level < 0 || o->level > 19 || o->flight_ns < 0 ||
        o->slow_ns < 0 || (o->slow_ns && !o->flight_bytes && !o->flight_ns) ||
        (o->policy != KYMO_HELP && o->policy != KYMO_DROP) || o->sample_hz > KYMO__SAMPLE_MOST ||
        (o->sample_clock != KYMO_SAMPLED_CPU && o->sample_clock != KYMO_SAMPLED_WALL))
        return -EINVAL;
    return 0;
}

static int start(const struct kymo_options *o)
{
    if (kymo__session)
        return -KYMO_ERUNNING;
    pthread_once(&fork_once, watch_forks);
    struct kymo_session *s;
    int rc = session_new(o, &s);
    if (rc < 0) {
        if (s && s->sink.path)
            unlink(s->sink.path);
        if (s)
            session_free(s, false);
        return rc;
    }
    s->number = ++last_number ? last_number : ++last_number;
    kymo__session = s;
    kymo__switch_set(s->number);
    kymo__source_begin(s);
    kymo__sampler_go(s);
    return 0;
}

int kymo_start(const struct kymo_options *options)
{
    struct kymo_options o;
    int rc = read_options(options, &o);
    if (rc < 0)
        return rc;
    if (kymo__switch_forked())
        forked_child();
    kymo__life_lock();
    rc = start(&o);
    kymo__life_unlock();
    return rc;
}

static int stop(void)
{
    struct kymo_session *s = kymo__session;
    if (!s)
        return -KYMO_EIDLE;
    kymo__signals_restore();
    kymo__source_end(s);
    kymo__sampler_halt(s);
    kymo__switch_set(0);
    kymo__flight_hold(s);
    unsigned stuck = kymo__locals_detach(s->number);
    kymo__flight_release(s);
    kymo__source_finish(s);
    kymo__sampler_finish(s);
    kymo__store_release(&s->finishing, 1u);
    sem_post(&kymo__wake);
    void *failure;
    if (s->writing)
        pthread_join(s->writer, &failure);
    else
        failure = kymo__drain_thread(s);
    int rc = s->sink.error ? s->sink.error : (int)(intptr_t)failure;
    s->live.header->error = rc;
    s->live.header->stopped = 1;
    kymo__session = NULL;
    if (stuck) {
        /* A thread is still inside a recording call and may yet store into its chunk;
           the memory has to stay. */
        kymo__sink_close(&s->sink);
        return rc;
    }
    session_free(s, failure != NULL); /* what is not in the file, and why, stays in the live one */
    return rc;
}

int kymo_stop(void)
{
    if (kymo__switch_forked())
        return -KYMO_EIDLE;
    kymo__life_lock();
    int rc = stop();
    kymo__life_unlock();
    return rc;
}

void kymo__wait_for_end(pid_t id)
{
    for (int i = 0; i < 1000 && id && syscall(SYS_tgkill, getpid(), id, 0) == 0; i++) {
        const struct timespec moment = {.tv_nsec = i < 10 ? 1000 : 20000};
        nanosleep(&moment, NULL);
    }
}

void kymo_writer_rest(void)
{
    if (kymo__switch_forked())
        return;
    kymo__life_lock();
    struct kymo_session *s = kymo__session;
    if (s)
        kymo__sampler_rest(s);
    if (s && s->writing) {
        kymo__store_release(&s->resting, 1u);
        sem_post(&kymo__wake);
        pthread_join(s->writer, NULL);
        s->writing = false;
        kymo__wait_for_end(s->writer_id);
        kymo__store_relaxed(&s->writer_id, 0);
    }
    kymo__life_unlock();
}

int kymo_writer_work(void)
{
    if (kymo__switch_forked())
        return -KYMO_EIDLE;
    kymo__life_lock();
    struct kymo_session *s = kymo__session;
    int rc = s ? 0 : -KYMO_EIDLE;
    if (s && !s->writing) {
        kymo__store_release(&s->resting, 0u);
        rc = writer_start(s);
    }
    if (rc == 0)
        rc = kymo__sampler_work(s);
    kymo__life_unlock();
    return rc;
}

/* What S has done, while the life lock and the file's are held. */
static void count(struct kymo_session *s, struct kymo_stats *stats)
{
    struct kymo_stats now = {
        .size = stats->size,
        .written_bytes = s->sink.end,
        .written_records = kymo__load_relaxed(&s->written_records),
        .dropped_records = kymo__load_relaxed(&s->dropped_records),
        .helped_chunks = kymo__load_relaxed(&s->helped_chunks),
        .threads = kymo__load_relaxed(&s->threads),
        .budget_bytes = (uint64_t)s->live.limit * KYMO__CHUNK_BYTES,
        .pool_bytes = (uint64_t)kymo__load_relaxed(&s->live.header->chunks) * KYMO__CHUNK_BYTES,
        .error = s->sink.error,
        .expired_records = kymo__load_relaxed(&s->flight.expired_records),
    };
    for (uint32_t i = 0; i < KYMO__GAP_SLOTS; i++)
        now.dropped_records += kymo__load_acquire(&s->live.gaps[i].count);
    memcpy(stats, &now, stats->size < sizeof(now) ? stats->size : sizeof(now));
}

static int stats_with(struct kymo_stats *stats, int (*take)(pthread_mutex_t *))
{
    if (stats->size < sizeof(size_t) || kymo__switch_forked())
        return stats->size < sizeof(size_t) ? -EINVAL : -KYMO_EIDLE;
    if (take(&life) != 0)
        return -EBUSY;
    struct kymo_session *s = kymo__session;
    int rc = s ? 0 : -KYMO_EIDLE;
    if (s && take(&s->file_lock) != 0)
        rc = -EBUSY;
    if (rc == 0) {
        count(s, stats);
        pthread_mutex_unlock(&s->file_lock);
    }
    kymo__life_unlock();
    return rc;
}

int kymo_stats(struct kymo_stats *stats)
{
    return stats_with(stats, pthread_mutex_lock);
}

int kymo_stats_at_once(struct kymo_stats *stats)
{
    return stats_with(stats, pthread_mutex_trylock);
}

/* In a child that fork made: there is no writer thread, and chunks and file are the
   parent's. Forget everything; memory stays behind untouched and unread. */
static void forked_child(void)
{
    kymo__switch_set(0);
    pthread_mutex_init(&life, NULL);
    sem_init(&kymo__wake, 0, 0);
    struct kymo_session *s = kymo__session;
    kymo__session = NULL;
    if (s) {
        if (s->sink.fd >= 0)
            close(s->sink.fd);
        if (s->live.fd >= 0)
            close(s->live.fd);
    }
    kymo__locals_forked();
    kymo__source_forked();
    kymo__sampler_forked();
}

/* At exit, and when the library is unloaded. */
__attribute__((destructor)) static void stop_at_exit(void)
{
    if (kymo__session && !kymo__switch_forked())
        kymo_stop();
}
