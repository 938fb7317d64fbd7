/* drain.c — the writer thread: writes full chunks to the file.

   It looks for work ten times a second, so that recording threads need no system call to wake
   it; they do wake it when memory runs short. */
#include "drain.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "busfault.h"
#include "capfile.h"
#include "clockpings.h"
#include "endsignal.h"
#include "flight.h"
#include "follow.h"
#include "lock.h"
#include "names.h"
#include "pen.h"
#include "pool.h"
#include "stackdesk.h"
#include "thread.h"

enum {
    BATCH = 256,                 /* chunks sorted and written at a time */
    PERIOD_NS = 100 * 1000000,   /* between two rounds */
    SNAPSHOT_NS = 500 * 1000000, /* between two clock snapshots */
    FLIGHT_SNAPSHOTS = 10,       /* a flight recorder may run for months: snapshots are rarer */
};

static struct kymo_packer *new_packer(const struct kymo_drain *d)
{
    struct kymo_packer *packer = kymo__packer_new(d->level);
    if (packer)
        kymo__packer_plans(packer, d->plans);
    return packer;
}

int kymo__drain_init(struct kymo_drain *d, int level, bool help, bool later,
                     const struct kymo_plans *plans)
{
    d->level = level;
    d->plans = plans;
    d->packer = new_packer(d);
    if (!d->packer)
        return -ENOMEM;
    if (!help)
        return 0;
    if (later) {
        d->helpers_later = KYMO__HELPERS;
        return 0;
    }
    /* One helper would suffice; the others are for speed. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 0; i < KYMO__HELPERS && i < (cores < 1 ? 1 : cores); i++)
        d->helpers[i] = new_packer(d);
    return d->helpers[0] ? 0 : -ENOMEM;
}

void kymo__drain_fini(struct kymo_drain *d)
{
    kymo__pinger_free(d->pinger);
    kymo__packer_free(d->packer);
    for (int i = 0; i < KYMO__HELPERS; i++)
        kymo__packer_free(d->helpers[i]);
}

/* Is less than a quarter of the memory for records available? Then threads may soon have to wait for
   chunks, and summaries can wait. */
static bool is_short(const struct kymo_pool *pool)
{
    uint32_t made = kymo__load_relaxed(&pool->live.header->chunks);
    uint32_t left = pool->live.limit > made ? pool->live.limit - made : 0;
    return kymo__load_relaxed(&pool->free.count) + left < pool->live.limit / 4;
}

/* Pack CHUNKS, of one thread and with consecutive numbers, with PACKER, append them and free
   them. On failure they are unchanged. */
static int write_chunks(struct kymo_drain *d, struct kymo_packer *packer,
                        struct kymo_chunk **chunks, size_t count)
{
    struct kymo_packed packed;
    uint64_t offset = 0;
    int rc = kymo__pack_chunks(packer, chunks, count, &packed);
    if (rc == 0 && packed.header->records)
        rc = kymo__capfile_place(d->file, &packed, &offset);
    if (rc < 0)
        return rc;
    kymo__add_relaxed(&d->file->written_records, (uint64_t)packed.header->records);
    if (packed.header->records) {
        const struct kymo_block_header header = *packed.header;
        if (packer == d->packer && !is_short(d->pool))
            kymo__follow_chunks(d->follow, packer, &header, offset, chunks, count);
        else
            kymo__follow_later(d->follow, &header, offset);
    }
    kymo__pool_free(d->pool, chunks, count);
    return 0;
}

/* ---- helping ---- */

static struct kymo_packer *helper_take(struct kymo_drain *d)
{
    for (int i = 0; i < KYMO__HELPERS; i++) {
        struct kymo_packer *packer = kymo__exchange(&d->helpers[i], (struct kymo_packer *)NULL);
        if (packer)
            return packer;
    }
    uint32_t later = kymo__load_relaxed(&d->helpers_later);
    while (later && !kymo__swap_if(&d->helpers_later, &later, later - 1))
        continue;
    struct kymo_packer *packer = later ? new_packer(d) : NULL;
    if (later && !packer)
        kymo__add_relaxed(&d->helpers_later, 1u); /* the writer thread may be faster */
    return packer;
}

static void helper_return(struct kymo_drain *d, struct kymo_packer *packer)
{
    for (int i = 0;; i = (i + 1) % KYMO__HELPERS) {
        struct kymo_packer *none = NULL;
        if (kymo__swap_if(&d->helpers[i], &none, packer))
            return;
    }
}

static int write_one_chunk(struct kymo_drain *d, struct kymo_packer *packer)
{
    struct kymo_chunk *chunk = kymo__chunks_pop(&d->pool->full, d->pool->live.chunks);
    if (!chunk)
        return kymo__pens_drain(d->pens, packer, true);
    int rc = write_chunks(d, packer, &chunk, 1);
    if (rc == 0)
        return 1;
    kymo__chunks_push(&d->pool->full, d->pool->live.chunks, chunk);
    return rc;
}

int kymo__drain_help(void *arg)
{
    struct kymo_drain *d = arg;
    struct kymo_packer *packer = helper_take(d);
    if (!packer)
        return 0;
    int rc = kymo__flight_on(d->flight) ? kymo__flight_help(d->flight, packer)
                                        : write_one_chunk(d, packer);
    if (rc > 0)
        kymo__add_relaxed(&d->helped_chunks, 1u);
    helper_return(d, packer);
    return rc;
}

/* ---- writing ---- */

static bool comes_before(const struct kymo_chunk *a, const struct kymo_chunk *b)
{
    return a->thread != b->thread ? a->thread < b->thread : a->number < b->number;
}

/* By thread and number. There are few, and they come almost in reverse order. */
static void sort_chunks(struct kymo_chunk **chunks, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct kymo_chunk *swap = chunks[i];
        chunks[i] = chunks[count - 1 - i];
        chunks[count - 1 - i] = swap;
    }
    for (size_t i = 1; i < count; i++) {
        struct kymo_chunk *one = chunks[i];
        size_t at = i;
        for (; at && comes_before(one, chunks[at - 1]); at--)
            chunks[at] = chunks[at - 1];
        chunks[at] = one;
    }
}

/* How many of CHUNKS, from the first, make one block. */
static size_t block_length(struct kymo_chunk **chunks, size_t count)
{
    size_t n = 1;
    while (n < count && n < KYMO__BLOCK_CHUNKS && chunks[n]->thread == chunks[0]->thread &&
           chunks[n]->number == chunks[0]->number + n)
        n++;
    return n;
}

/* Write one batch. Returns how many chunks, or a negative errno with the rest put back. */
static int write_batch(struct kymo_drain *d)
{
    struct kymo_chunk *chunks[BATCH];
    size_t count = 0, done = 0;
    int rc = 0;
    while (count < BATCH &&
           (chunks[count] = kymo__chunks_pop(&d->pool->full, d->pool->live.chunks)))
        count++;
    sort_chunks(chunks, count);
    while (done < count) {
        size_t n = block_length(chunks + done, count - done);
        rc = write_chunks(d, d->packer, chunks + done, n);
        if (rc < 0)
            break;
        done += n;
    }
    while (done < count && rc < 0)
        kymo__chunks_push(&d->pool->full, d->pool->live.chunks, chunks[done++]);
    return rc < 0 ? rc : (int)count;
}

/* Does something else wait for this thread to end, or to leave its work to another? What is left to
   follow at the end is followed on all cores. */
static bool is_leaving(const struct kymo_drain *d)
{
    return kymo__load_acquire(&d->finishing) || kymo__load_acquire(&d->resting);
}

/* Fill the flight recorder's ring between two blocks that are followed, unless something else
   waits for this thread. */
static bool fill_between(void *arg)
{
    struct kymo_drain *d = arg;
    if (is_leaving(d) || kymo__load_acquire(&d->flight->asked))
        return false;
    kymo__flight_drain(d->flight);
    return true;
}

/* Full chunks come first: a thread that finds no free one has to write one itself. */
static bool is_idle(void *arg)
{
    const struct kymo_drain *d = arg;
    return !is_leaving(d) && !kymo__load_relaxed(&d->pool->full.count);
}

static void follow_written(struct kymo_drain *d)
{
    kymo__follow_up(d->follow, d->packer, kymo__flight_on(d->flight) ? fill_between : is_idle, d);
}

/* Write everything, or, because recording threads may keep this busy forever, what can be written by
   UNTIL. Definitions first, so that the file alone can name what is in its records. */
static int write_all(struct kymo_drain *d, int64_t until)
{
    int rc = kymo__names_flush(d->names);
    if (kymo__flight_on(d->flight))
        return kymo__flight_drain(d->flight); /* needs no file */
    while (rc == 0) {
        rc = write_batch(d);
        follow_written(d);
        if (rc == 0)
            rc = kymo__pens_drain(d->pens, d->packer, kymo__load_acquire(&d->finishing));
        if (rc <= 0)
            return rc;
        if (kymo__load_acquire(&d->resting) && !kymo__load_acquire(&d->finishing))
            return 0;
        if (kymo__clock_ns(CLOCK_MONOTONIC) >= until) {
            kymo__pool_wake(d->pool); /* there may be more */
            return 0;
        }
        rc = kymo__names_flush(d->names);
    }
    return rc;
}

/* Exchange notes with other hosts, and note what is found. Returns when the next one is due. */
static int64_t serve_pings(struct kymo_drain *d, bool ending)
{
    struct kymo_pinger *pinger = kymo__load_acquire(&d->pinger);
    if (!pinger || !kymo__load_acquire(&d->published))
        return INT64_MAX;
    int64_t next = ending ? INT64_MAX : kymo__pinger_serve(pinger);
    char key[32], text[256];
    while (kymo__pinger_take(pinger, ending, text, sizeof(text))) {
        snprintf(key, sizeof(key), "clock_ping.%u", d->pings++);
        kymo__names_meta(d->names, key, text);
    }
    return next;
}

/* Wait until TIME, or for somebody who wakes this thread: then false. */
static bool wait_until(int64_t time)
{
    struct timespec until = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
    while (sem_clockwait(&kymo__wake, CLOCK_MONOTONIC, &until) < 0)
        if (errno != EINTR)
            return true;
    return false;
}

static void wait_for_work(struct kymo_drain *d)
{
    const int64_t end = kymo__clock_ns(CLOCK_MONOTONIC) + PERIOD_NS;
    for (bool over = false; !over;) {
        int64_t due = is_leaving(d) ? INT64_MAX : serve_pings(d, false);
        over = wait_until(due < end ? due : end) ? kymo__clock_ns(CLOCK_MONOTONIC) >= end
                                                 /* While the file cannot be written, waking up
                                                    early does not help. */
                                                 : !kymo__load_relaxed(&d->file->failing) ||
                                                       kymo__flight_on(d->flight) || is_leaving(d);
    }
    kymo__store_release(&d->pool->awake, 0u);
}

/* A live file that somebody cut, or for which there is no space, cannot be written to any more. At
   the end, space does not matter: what found no place in the file is in memory. */
static void check_live(struct kymo_drain *d, bool ends)
{
    struct kymo_live *live = &d->pool->live;
    if (!kymo__live_is_whole(live) || (kymo__busfault_seen() && !live->owed))
        kymo__capfile_halt(d->file, KYMO_ECUT);
    else if (kymo__busfault_seen() && !ends)
        kymo__capfile_halt(d->file, -ENOSPC);
}

/* One round of work; LAST is the latest clock snapshot. True if the process is about to die, and
   nothing is recorded any more. */
static bool work_once(struct kymo_drain *d, struct kymo_snapshot *last)
{
    const bool flight = kymo__flight_on(d->flight);
    if (kymo__load_acquire(&d->finishing) && !flight)
        return false; /* what is left is written at once */
    check_live(d, false);
    kymo__live_settle(&d->pool->live);
    struct kymo_snapshot now = kymo__clock_snapshot();
    if (now.monotonic - last->monotonic >= (int64_t)SNAPSHOT_NS * (flight ? FLIGHT_SNAPSHOTS : 1)) {
        kymo__names_snapshot(d->names, &now);
        kymo__wall_watch(&d->wall);
        *last = now;
    }
    kymo__desk_serve(d->desk);
    kymo__pool_ahead(d->pool);
    if (flight)
        kymo__flight_serve(d->flight);
    write_all(d, now.monotonic + PERIOD_NS);
    kymo__flight_watch(d->flight);
    if (flight)
        follow_written(d);
    return kymo__endsignal_due() && d->conclude();
}

/* Write what is left. 0, or the negative errno that explains why the file is incomplete. Does not
   return if the process DIES. */
static int write_end(struct kymo_drain *d, bool dies)
{
    const bool flight = kymo__flight_on(d->flight);
    check_live(d, true);
    serve_pings(d, true);
    struct kymo_snapshot end = kymo__clock_snapshot();
    if (!d->names->clock_ended) /* another so soon would change how the last ticks are converted */
        kymo__names_snapshot(d->names, &end);
    if (!flight) /* a flight recorder notes it whenever it writes */
        kymo__wall_note(d->names, "wall_clock.stop", &d->wall);
    int rc = flight ? kymo__flight_flush(d->flight, end.ticks) : write_all(d, INT64_MAX);
    if (rc == 0) {
        kymo__follow_finish(d->follow, d->packer, dies);
        rc = kymo__capfile_finish(d->file, d->packer);
    }
    kymo__pinger_free(kymo__exchange(&d->pinger, (struct kymo_pinger *)NULL));
    if (dies) {
        kymo__live_forsake(&d->pool->live, rc < 0);
        kymo__endsignal_die();
    }
    return rc;
}

/* ---- starting and ending the thread ---- */

/* May the caller do the thread's work from now on? Not while another does it. */
static bool take_turn(struct kymo_drain *d)
{
    uint32_t nobody = 0;
    return kymo__swap_if(&d->turn, &nobody, 1u);
}

/* Returns NULL or, as an intptr_t, what write_end does. */
static void *thread_body(void *arg)
{
    struct kymo_drain *d = arg;
    struct kymo_snapshot last = d->started;
    bool dies = false;
    kymo__inside_add(1);
    kymo__store_release(&d->id, (pid_t)syscall(SYS_gettid));
    while (!kymo__load_acquire(&d->finishing)) {
        if (kymo__load_acquire(&d->resting))
            return NULL;
        wait_for_work(d);
        if (!kymo__load_acquire(&d->published))
            continue;
        if (!take_turn(d))
            return NULL;
        dies = work_once(d, &last);
        kymo__store_release(&d->turn, 0u);
    }
    return take_turn(d) ? (void *)(intptr_t)write_end(d, dies) : NULL;
}

int kymo__drain_start(struct kymo_drain *d)
{
    kymo__store_release(&d->resting, 0u);
    int rc = kymo__thread_start(&d->thread, "kymograph", KYMO__SMALL_STACK, thread_body, d);
    d->there = rc == 0;
    return rc;
}

void kymo__drain_rest(struct kymo_drain *d)
{
    if (!d->there)
        return;
    kymo__store_release(&d->resting, 1u);
    sem_post(&kymo__wake);
    pthread_join(d->thread, NULL);
    d->there = false;
    kymo__thread_wait_gone(d->id);
    kymo__store_relaxed(&d->id, 0);
}

int kymo__drain_finish(struct kymo_drain *d)
{
    /* If the thread sleeps, do it here: waking it, and being woken by it, takes longer than writing
       the end of most sessions. But a thread that may have to answer or to exchange notes does it
       itself. */
    const bool here = !d->there || (!kymo__flight_on(d->flight) &&
                                    !kymo__load_acquire(&d->pinger) && take_turn(d));
    kymo__store_release(&d->finishing, 1u);
    sem_post(&kymo__wake);
    int rc = here ? write_end(d, false) : 0;
    void *failure = NULL;
    if (d->there)
        pthread_join(d->thread, &failure);
    return here ? rc : (int)(intptr_t)failure;
}

int kymo__drain_flight(struct kymo_drain *d)
{
    if (!d->there)
        return kymo__flight_flush(d->flight, kymo_ticks()); /* nobody wakes it meanwhile */
    return kymo__flight_ask(d->flight);
}
