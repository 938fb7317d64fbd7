/* drain.c — from full chunks to the file: the writer thread.

   It looks for work ten times a second, so that recording threads need no system
   call to tell it, and earlier when they say that memory is getting short. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

enum {
    BATCH = 256,                 /* chunks sorted and written at a time */
    PERIOD_NS = 100 * 1000000,   /* between two looks */
    SNAPSHOT_NS = 500 * 1000000, /* between two clock snapshots */
    FLIGHT_SNAPSHOTS = 10,       /* so many times more in a recording that may last for months */
    AHEAD = 32,                  /* chunks to make usable when free ones run low */
};

sem_t kymo__wake;

int kymo__drain_append(void *arg, const struct kymo_packed *packed)
{
    struct kymo_session *s = arg;
    pthread_mutex_lock(&s->file_lock);
    int rc = kymo__sink_append(&s->sink, packed->bytes, packed->len);
    if (rc < 0)
        kymo__store_relaxed(&s->live.header->error, s->sink.error);
    kymo__store_relaxed(&s->failing, (uint32_t)(rc < 0));
    pthread_mutex_unlock(&s->file_lock);
    return rc;
}

int kymo__drain_chunks(struct kymo_session *s, struct kymo_packer *packer,
                       struct kymo_chunk **chunks, size_t count)
{
    struct kymo_packed packed;
    int rc = kymo__pack_chunks(packer, chunks, count, &packed);
    if (rc == 0 && packed.header->records)
        rc = kymo__drain_append(s, &packed);
    if (rc < 0)
        return rc;
    kymo__add_relaxed(&s->written_records, (uint64_t)packed.header->records);
    kymo__pool_free(s, chunks, count);
    return 0;
}

static bool before(const struct kymo_chunk *a, const struct kymo_chunk *b)
{
    return a->thread != b->thread ? a->thread < b->thread : a->number < b->number;
}

/* By thread and number. They come nearly sorted backwards and there are few. */
static void sort(struct kymo_chunk **chunks, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct kymo_chunk *swap = chunks[i];
        chunks[i] = chunks[count - 1 - i];
        chunks[count - 1 - i] = swap;
    }
    for (size_t i = 1; i < count; i++) {
        struct kymo_chunk *one = chunks[i];
        size_t at = i;
        for (; at && before(one, chunks[at - 1]); at--)
            chunks[at] = chunks[at - 1];
        chunks[at] = one;
    }
}

/* How many of CHUNKS, from the first on, make one block. */
static size_t together(struct kymo_chunk **chunks, size_t count)
{
    size_t n = 1;
    while (n < count && n < KYMO__BLOCK_CHUNKS && chunks[n]->thread == chunks[0]->thread &&
           chunks[n]->number == chunks[0]->number + n)
        n++;
    return n;
}

/* Write one batch. Returns how many chunks, or negative errno with the rest put back. */
static int write_batch(struct kymo_session *s)
{
    struct kymo_chunk *chunks[BATCH];
    size_t count = 0, done = 0;
    int rc = 0;
    while (count < BATCH && (chunks[count] = kymo__chunks_pop(&s->full, s->live.chunks)))
        count++;
    sort(chunks, count);
    while (done < count) {
        size_t n = together(chunks + done, count - done);
        rc = kymo__drain_chunks(s, s->packer, chunks + done, n);
        if (rc < 0)
            break;
        done += n;
    }
    while (done < count && rc < 0)
        kymo__chunks_push(&s->full, s->live.chunks, chunks[done++]);
    return rc < 0 ? rc : (int)count;
}

/* Write all there is. Definitions first, so that the file alone can name what is in
   its records. */
static int write_all(struct kymo_session *s)
{
    int rc = kymo__names_flush(&s->names);
    if (kymo__flight_on(&s->flight))
        return kymo__flight_drain(s); /* needs no file */
    while (rc == 0) {
        rc = write_batch(s);
        if (rc <= 0)
            return rc;
        rc = kymo__names_flush(&s->names);
    }
    return rc;
}

static void wait(struct kymo_session *s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PERIOD_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    /* While the file cannot be written, haste is of no use. */
    while (sem_clockwait(&kymo__wake, CLOCK_MONOTONIC, &until) < 0
               ? errno == EINTR
               : kymo__load_relaxed(&s->failing) && !kymo__flight_on(&s->flight) &&
                     !kymo__load_acquire(&s->finishing) && !kymo__load_acquire(&s->resting))
        continue;
    kymo__store_release(&s->awake, 0u);
}

void *kymo__drain_thread(void *arg)
{
    struct kymo_session *s = arg;
    struct kymo_snapshot last = s->started;
    const int64_t apart =
        (int64_t)SNAPSHOT_NS * (kymo__flight_on(&s->flight) ? FLIGHT_SNAPSHOTS : 1);
    kymo__store_release(&s->writer_id, (pid_t)syscall(SYS_gettid));
    while (!kymo__load_acquire(&s->finishing)) {
        if (kymo__load_acquire(&s->resting))
            return NULL;
        wait(s);
        struct kymo_snapshot now = kymo__clock_snapshot();
        if (now.monotonic - last.monotonic >= apart) {
            kymo__names_snapshot(&s->names, &now);
            last = now;
        }
        if (kymo__load_relaxed(&s->free.count) < AHEAD / 4)
            kymo__pool_grow(s, AHEAD);
        if (kymo__flight_on(&s->flight))
            kymo__flight_serve(s);
        write_all(s);
        kymo__flight_watch(s);
    }
    struct kymo_snapshot end = kymo__clock_snapshot();
    kymo__names_snapshot(&s->names, &end);
    int rc = kymo__flight_on(&s->flight) ? kymo__flight_flush(s) : write_all(s);
    if (rc == 0)
        rc = kymo__sink_finish(&s->sink, s->packer);
    return (void *)(intptr_t)rc;
}
