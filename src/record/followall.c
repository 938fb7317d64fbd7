/* followall.c — follows the blocks that are left when recording stops, on all cores.

   A worker takes the next block, decodes it, and waits until the lane's blocks before it have been
   tracked. Decoding takes longer than tracking, so that even one long lane keeps a few cores busy. */
#include <unistd.h>

#include "capfile.h"
#include "follow.h"
#include "lock.h"
#include "thread.h"

enum {
    WORKERS_MOST = 8,  /* more only wait for each other */
    WORKER_LEAST = 32, /* blocks that are worth another thread */
};

struct finishing {
    struct kymo_follow *follow;
    struct kymo_packer *packer; /* under `writing` */
    pthread_mutex_t writing;
    pthread_mutex_t lock; /* guards `lane`, and `at` and `followed` of lanes */
    pthread_cond_t tracked;
    size_t lane; /* those before it have no block that nobody has taken */
};

/* How many blocks are left; lanes that are no longer followed have none. */
static size_t count_blocks(struct kymo_follow *f)
{
    size_t blocks = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->lanes[i].gone)
            f->lanes[i].at = f->lanes[i].count;
        blocks += f->lanes[i].count - f->lanes[i].at;
    }
    return blocks;
}

/* Take the next block, in the order of lanes and places. Returns its lane, or NULL at the end. */
static struct kymo_follow_lane *take_block(struct finishing *work, size_t *at)
{
    struct kymo_follow *f = work->follow;
    struct kymo_follow_lane *lane = NULL;
    pthread_mutex_lock(&work->lock);
    while (work->lane < f->count && f->lanes[work->lane].at == f->lanes[work->lane].count)
        work->lane++;
    if (work->lane < f->count) {
        lane = &f->lanes[work->lane];
        *at = lane->at++;
    }
    pthread_mutex_unlock(&work->lock);
    return lane;
}

static void wait_for_turn(struct finishing *work, const struct kymo_follow_lane *lane, size_t at)
{
    pthread_mutex_lock(&work->lock);
    while (lane->followed != at)
        pthread_cond_wait(&work->tracked, &work->lock);
    pthread_mutex_unlock(&work->lock);
}

static void end_turn(struct finishing *work, struct kymo_follow_lane *lane)
{
    pthread_mutex_lock(&work->lock);
    lane->followed++;
    pthread_cond_broadcast(&work->tracked);
    pthread_mutex_unlock(&work->lock);
}

static void write_due(struct finishing *work, struct kymo_follow_lane *lane, bool last)
{
    pthread_mutex_lock(&work->writing);
    kymo__follow_summary(work->follow, work->packer, lane, last);
    pthread_mutex_unlock(&work->writing);
}

static void *follow_body(void *arg)
{
    struct finishing *work = arg;
    struct kymo_follow *f = work->follow;
    struct kymo_readback back = {0};
    struct kymo_follow_lane *lane;
    size_t at;
    kymo__inside_add(1);
    while ((lane = take_block(work, &at))) {
        const struct kymo_noted *noted = &lane->queue[at];
        int rc = kymo__readback_block(&back, f->file->sink.file.fd, &noted->header, noted->offset);
        wait_for_turn(work, lane, at);
        kymo__follow_block(lane, noted, &back, rc);
        write_due(work, lane, false);
        end_turn(work, lane);
    }
    kymo__readback_fini(&back);
    kymo__inside_add((uint32_t)-1);
    return NULL;
}

static unsigned worker_count(size_t blocks)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = cores > 1 ? (size_t)cores : 1, worth = 1 + blocks / WORKER_LEAST;
    wanted = wanted < worth ? wanted : worth;
    return wanted < WORKERS_MOST ? (unsigned)wanted : WORKERS_MOST;
}

void kymo__follow_finish(struct kymo_follow *f, struct kymo_packer *packer, bool hurried)
{
    struct finishing work = {.follow = f, .packer = packer};
    pthread_t others[WORKERS_MOST];
    unsigned started = 0;
    bool whole = kymo__follow_collect(f);
    pthread_mutex_init(&work.writing, NULL);
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.tracked, NULL);
    const size_t blocks = whole ? count_blocks(f) : 0;
    whole = whole && !(hurried && blocks > WORKER_LEAST);
    const unsigned workers = whole && blocks ? worker_count(blocks) : 0;
    while (started + 1 < workers && kymo__thread_start(&others[started], "kymo summaries",
                                                       KYMO__SMALL_STACK, follow_body, &work) == 0)
        started++;
    if (workers)
        follow_body(&work);
    while (started)
        pthread_join(others[--started], NULL);
    for (size_t i = 0; i < f->count; i++)
        write_due(&work, &f->lanes[i], true);
    pthread_cond_destroy(&work.tracked);
    pthread_mutex_destroy(&work.lock);
    pthread_mutex_destroy(&work.writing);
}
