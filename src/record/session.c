/* session.c — start, stop, exit and fork of a session. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "busfault.h"
#include "clockpings.h"
#include "crashnote.h"
#include "endsignal.h"
#include "local.h"
#include "lock.h"
#include "procid.h"
#include "sources.h"

const struct kymo_running *kymo__running; /* under the life lock; read inside claims */
static bool forked; /* is this a forked child of a process that used the library? */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_number; /* under the life lock */

int kymo__life_take(int (*take)(pthread_mutex_t *))
{
    return take(&life);
}

void kymo__life_return(void)
{
    pthread_mutex_unlock(&life);
}

static int cancel_before; /* of the thread that holds the life lock */

/* TAKE is pthread_mutex_lock or pthread_mutex_trylock. False if another thread has the lock. */
static bool life_enter(int (*take)(pthread_mutex_t *))
{
    if (take(&life) != 0)
        return false;
    cancel_before = kymo__cancel_off();
    return true;
}

void kymo__life_lock(void)
{
    life_enter(pthread_mutex_lock);
}

void kymo__life_unlock(void)
{
    int cancel = cancel_before;
    pthread_mutex_unlock(&life);
    kymo__cancel_restore(cancel);
}

/* Sessions that could not be freed, so that leak checkers find them. Under the life lock. */
static struct kymo_session *left;

/* Undo a start that failed: the writer thread may already run. */
static void abandon_session(struct kymo_session *s)
{
    kymo__drain_rest(&s->drain);
    kymo__busfault_end();
    kymo__session_free(s, false);
}

static void forked_child(void);
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    kymo__sources_before_fork();
    kymo__desk_before_fork();
    kymo__process_before_fork();
}

static void after_fork(void)
{
    kymo__desk_after_fork();
    kymo__sources_after_fork();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, forked_child);
    sem_init(&kymo__wake, 0, 0);
    sem_init(&kymo__desk_wake, 0, 0);
}

/* Read OPTIONS in this library's version; fields that an older caller does not know are zero. */
static int read_options(const struct kymo_options *options, struct kymo_options *o)
{
    *o = (struct kymo_options){0};
    if (!options || options->size < sizeof(size_t) + sizeof(char *))
        return -EINVAL;
    memcpy(o, options, options->size < sizeof(*o) ? options->size : sizeof(*o));
    if (!o->path || !*o->path || o->level < 0 || o->level > 19 || o->flight_ns < 0 ||
        o->slow_ns < 0 || (o->slow_ns && !o->flight_bytes && !o->flight_ns) ||
        (o->slow_calls && !o->slow_ns) || (o->policy != KYMO_HELP && o->policy != KYMO_DROP) ||
        o->sample_hz > KYMO__SAMPLE_MOST ||
        (o->sample_clock != KYMO_SAMPLED_CPU && o->sample_clock != KYMO_SAMPLED_WALL))
        return -EINVAL;
    if (forked) /* every page that it is the first to touch is copied */
        o->brief = 1;
    return 0;
}

static int start_session(const struct kymo_options *o)
{
    if (kymo__running)
        return KYMO_ERUNNING;
    pthread_once(&fork_once, watch_forks);
    kymo__switch_prepare();
    int rc = kymo__sources_choose(o);
    if (rc < 0)
        return rc;
    struct kymo_session *s;
    rc = kymo__session_new(o, &s);
    if (rc < 0) {
        if (s)
            abandon_session(s);
        return rc;
    }
    s->parts.number = s->lanes.number = ++last_number ? last_number : ++last_number;
    kymo__store_release(&kymo__running, (const struct kymo_running *)&s->parts);
    kymo__switch_set(s->parts.number);
    const struct kymo_source_session session = {
        .size = sizeof(session),
        .number = s->parts.number,
        .budget_bytes = (uint64_t)s->pool.live.limit * KYMO__CHUNK_BYTES,
        .path = o->path,
    };
    kymo__sources_begin(&s->names, &session);
    kymo__sampler_go(s->parts.sampler);
    return 0;
}

static int start_with(const struct kymo_options *options, int (*take)(pthread_mutex_t *))
{
    if (kymo__switch_forked()) {
        kymo__arena_forked(); /* the fork handlers did not run */
        forked_child();
    }
    struct kymo_options o;
    int rc = read_options(options, &o);
    if (rc < 0)
        return rc;
    if (!life_enter(take))
        return -EBUSY;
    rc = start_session(&o);
    kymo__life_unlock();
    return rc;
}

int kymo_start(const struct kymo_options *options)
{
    return start_with(options, pthread_mutex_lock);
}

int kymo_start_at_once(const struct kymo_options *options)
{
    return start_with(options, pthread_mutex_trylock);
}

/* Take everything that threads have recorded and sources still know. Returns how many threads
   did not leave a recording call. */
static unsigned collect_last(struct kymo_session *s)
{
    kymo__sources_stop();
    kymo__desk_halt(s->parts.desk);
    kymo__sampler_halt(s->parts.sampler);
    kymo__switch_set(0);
    kymo__flight_hold(&s->flight, true);
    unsigned stuck = kymo__locals_detach(&s->lanes);
    if (kymo__flight_on(&s->flight))
        kymo__drain_flight(&s->drain); /* if it fails, the end tries again */
    kymo__flight_hold(&s->flight, false);
    kymo__sources_end();
    kymo__desk_finish(s->parts.desk, true);
    kymo__sampler_finish(s->parts.sampler);
    return stuck;
}

/* EXITS: the process is about to end, and the system frees its memory in less time than we would. */
static int stop_session(bool exits)
{
    struct kymo_session *s = kymo__session();
    if (!s)
        return KYMO_EIDLE;
    kymo__flight_end(&s->flight);
    kymo__endsignal_restore();
    kymo__crashnote_end();
    kymo__signals_restore();
    unsigned stuck = collect_last(s);
    int halted = kymo__load_acquire(&s->file.halted);
    if (halted)
        kymo__names_meta(&s->names, "recording.ended", kymo_strerror(halted));
    int failure = kymo__drain_finish(&s->drain);
    int rc = s->file.sink.error ? s->file.sink.error : failure;
    halted = kymo__load_acquire(&s->file.halted);
    if (halted)
        rc = halted;
    else if (rc == 0 && kymo__sink_deleted(&s->file.sink))
        rc = KYMO_EDELETED;
    kymo__busfault_end();
    if (kymo__busfault_seen())
        s->pool.live.brief =
            false; /* some of its memory is not the file's: no other process may have it */
    s->pool.live.header->error = rc;
    s->pool.live.header->stopped = 1;
    kymo__store_release(&kymo__running, (const struct kymo_running *)NULL);
    if (stuck || exits) {
        /* If a thread is still inside a recording call, it may store into its chunk, take another
           one or try to write: the memory must stay. */
        (stuck ? kymo__live_forsake : kymo__live_leave)(&s->pool.live, failure != 0);
        kymo__lock(&s->file.lock);
        kymo__sink_close(&s->file.sink);
        kymo__unlock(&s->file.lock);
        s->left_before = left;
        left = s;
        return rc;
    }
    kymo__session_free(s, failure != 0); /* the rest, and why it is not in the file, stays in the
                                            live file */
    return rc;
}

static int stop_with(int (*take)(pthread_mutex_t *), bool exits)
{
    if (kymo__switch_forked())
        return KYMO_EIDLE;
    if (!life_enter(take))
        return -EBUSY;
    int rc = stop_session(exits);
    kymo__life_unlock();
    return rc;
}

int kymo_stop(void)
{
    return stop_with(pthread_mutex_lock, false);
}

int kymo_stop_before_exit(void)
{
    return stop_with(pthread_mutex_lock, true);
}

int kymo_stop_at_once(void)
{
    return stop_with(pthread_mutex_trylock, false);
}

bool kymo__session_conclude(void)
{
    if (kymo__life_take(pthread_mutex_trylock) != 0)
        return false;
    struct kymo_session *s = kymo__session();
    kymo__flight_end(&s->flight);
    kymo__desk_halt(s->parts.desk);
    kymo__sampler_halt(s->parts.sampler);
    kymo__switch_set(0);
    kymo__locals_detach(&s->lanes);
    kymo__desk_finish(s->parts.desk, false);
    kymo__sampler_finish(s->parts.sampler);
    char text[64];
    snprintf(text, sizeof(text), "signal %d ended the program", kymo__endsignal_number());
    kymo__names_meta(&s->names, "recording.ended", text);
    kymo__store_release(&s->drain.finishing, 1u);
    return true;
}

void kymo_writer_rest(void)
{
    if (kymo__switch_forked())
        return;
    kymo__life_lock();
    struct kymo_session *s = kymo__session();
    if (s) {
        kymo__sources_rest();
        kymo__desk_rest(s->parts.desk);
        kymo__drain_rest(&s->drain);
    }
    kymo__life_unlock();
}

static int work_with(int (*take)(pthread_mutex_t *))
{
    if (kymo__switch_forked())
        return KYMO_EIDLE;
    if (!life_enter(take))
        return -EBUSY;
    struct kymo_session *s = kymo__session();
    int rc = s ? 0 : KYMO_EIDLE;
    if (s && !s->drain.there)
        rc = kymo__drain_start(&s->drain);
    if (rc == 0)
        rc = kymo__desk_work(s->parts.desk);
    if (s)
        kymo__sources_work();
    kymo__life_unlock();
    return rc;
}

int kymo_writer_work(void)
{
    return work_with(pthread_mutex_lock);
}

int kymo_writer_work_at_once(void)
{
    return work_with(pthread_mutex_trylock);
}

/* In a forked child: there is no writer thread, and chunks and file belong to the parent. Forget
   everything; the memory is neither read nor written. */
static void forked_child(void)
{
    forked = true;
    kymo__process_forked();
    kymo__switch_set(0);
    pthread_mutex_init(&life, NULL);
    sem_init(&kymo__wake, 0, 0);
    struct kymo_session *s = kymo__session();
    kymo__running = NULL;
    if (s) {
        kymo__owned_close(&s->file.sink.file);
        kymo__owned_close(&s->pool.live.file);
    }
    kymo__endsignal_forget();
    kymo__locals_forked();
    kymo__sources_forked();
    kymo__desk_forked();
    kymo__sampler_forked();
}

/* At exit, and when the library is unloaded. */
__attribute__((destructor)) static void stop_at_exit(void)
{
    if (kymo__running && !kymo__switch_forked())
        kymo_stop_before_exit();
}

int kymo_compare_clocks(const char *folder)
{
    if (kymo__switch_forked())
        return KYMO_EIDLE;
    if (!folder || !*folder)
        return -EINVAL;
    kymo__life_lock();
    struct kymo_session *s = kymo__session();
    int rc = s ? 0 : KYMO_EIDLE;
    if (s && !s->drain.pinger) {
        uint8_t boot[16];
        kymo__boot_id(boot);
        kymo__store_release(&s->drain.pinger, kymo__pinger_new(folder, boot, NULL));
        rc = s->drain.pinger ? 0 : -ENOTSUP;
    }
    kymo__life_unlock();
    return rc;
}
