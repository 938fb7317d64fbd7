/* heapmerge.c — see heapmerge.h. */
#include "heapmerge.h"

#include <errno.h>
#include <unistd.h>

#include "alloc.h"
#include "heapties.h"
#include "thread.h"

/* States of a lane's back batch. */
enum { IDLE, QUEUED, FILLING, READY };

/* ---- filling batches ---- */

static void queue_add(struct kymo_merge *m, struct kymo_merge_lane *lane)
{
    lane->state = QUEUED;
    lane->after = NULL;
    *m->last = lane;
    m->last = &lane->after;
}

static void queue_remove(struct kymo_merge *m, struct kymo_merge_lane *lane)
{
    struct kymo_merge_lane **at = &m->first;
    while (*at != lane)
        at = &(*at)->after;
    *at = lane->after;
    if (m->last == &lane->after)
        m->last = at;
}

/* Fill the back batch of LANE, which is in the queue. Called with the lock held. */
static void fill_batch(struct kymo_merge *m, struct kymo_merge_lane *lane,
                       struct kymo_capture *capture)
{
    queue_remove(m, lane);
    lane->state = FILLING;
    pthread_mutex_unlock(&m->lock);
    int rc = lane->back.events ? 0 : kymo__heap_batch_init(&lane->back);
    if (rc == 0)
        rc = kymo__heap_lane_fill(&lane->lane, capture->reader, &lane->back);
    pthread_mutex_lock(&m->lock);
    lane->result = rc;
    lane->state = READY;
    pthread_cond_signal(&m->done);
}

static void *help_decode(void *arg)
{
    struct kymo_merge_helper *helper = arg;
    struct kymo_merge *m = helper->merge;
    pthread_mutex_lock(&m->lock);
    while (!m->stop) {
        if (m->first)
            fill_batch(m, m->first, helper->capture);
        else
            pthread_cond_wait(&m->work, &m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- the order of lanes ---- */

/* A lane that is not open has a bound instead of a time, so it comes before equal ones. */
static bool earlier(const struct kymo_merge_lane *a, const struct kymo_merge_lane *b)
{
    if (a->next != b->next)
        return a->next < b->next;
    return !a->opened && b->opened;
}

static void sink(struct kymo_merge *m, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < m->count && earlier(m->heap[left], m->heap[least]))
            least = left;
        if (right < m->count && earlier(m->heap[right], m->heap[least]))
            least = right;
        if (least == i)
            return;
        struct kymo_merge_lane *swap = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = swap;
        i = least;
    }
}

/* Get the next batch of LANE, whose front is used up. Returns 1, 0 at its end, or a negative
   code. */
static int next_batch(struct kymo_merge *m, struct kymo_merge_lane *lane)
{
    pthread_mutex_lock(&m->lock);
    if (lane->state == IDLE)
        queue_add(m, lane);
    if (lane->state == QUEUED)
        fill_batch(m, lane, m->own);
    while (lane->state != READY)
        pthread_cond_wait(&m->done, &m->lock);
    int rc = lane->result;
    struct kymo_heap_batch used = lane->front;
    lane->front = lane->back;
    lane->front.reordered += used.reordered;
    used.reordered = 0;
    lane->back = used;
    lane->at = 0;
    bool more = rc == 0 && lane->front.count;
    lane->state = IDLE;
    if (more) {
        queue_add(m, lane);
        pthread_cond_signal(&m->work);
    }
    pthread_mutex_unlock(&m->lock);
    return rc < 0 ? rc : more;
}

/* Update `next` of the first lane. Returns 0 or a negative code. */
static int advance_merge(struct kymo_merge *m)
{
    struct kymo_merge_lane *lane = m->heap[0];
    if (lane->at >= lane->front.count) {
        int rc = next_batch(m, lane);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            uint64_t reordered = lane->front.reordered;
            kymo__heap_batch_fini(&lane->front);
            kymo__heap_batch_fini(&lane->back);
            lane->front.reordered = reordered;
            kymo__heap_lane_fini(&lane->lane);
            m->heap[0] = m->heap[--m->count];
            return 0;
        }
        lane->opened = true;
    }
    lane->next = lane->front.events[lane->at].ticks;
    return 0;
}

/* Several lanes have an event at the time of the first: put the one that comes first there. Equal lanes
   may change places in the heap. */
static void settle_tie(struct kymo_merge *m)
{
    struct kymo_merge_lane *tied[KYMO__TIES_MOST], *first = m->heap[0];
    size_t at[KYMO__TIES_MOST], count = 0, i;
    at[count] = 0;
    tied[count++] = first;
    /* A lane below a later one is later. */
    for (i = 0; i < count && count + 2 <= KYMO__TIES_MOST; i++)
        for (size_t child = 2 * at[i] + 1; child <= 2 * at[i] + 2 && child < m->count; child++)
            if (m->heap[child]->next == first->next) {
                at[count] = child;
                tied[count++] = m->heap[child];
            }
    struct kymo_merge_lane *chosen = kymo__ties_first(m, tied, count);
    for (i = 0; m->heap[i] != chosen; i++)
        ;
    m->heap[i] = first;
    m->heap[0] = chosen;
}

int kymo__merge_turn(struct kymo_merge *m)
{
    while (m->count) {
        int rc = advance_merge(m);
        if (rc < 0)
            return rc;
        sink(m, 0);
        if (!m->count || !m->heap[0]->opened || m->heap[0]->at >= m->heap[0]->front.count)
            continue;
        m->limit = UINT64_MAX;
        for (size_t i = 1; i < m->count && i < 3; i++)
            if (m->heap[i]->next < m->limit)
                m->limit = m->heap[i]->next;
        if (m->limit == m->heap[0]->next)
            settle_tie(m);
        return 1;
    }
    return 0;
}

/* ---- life ---- */

static int add_lanes(struct kymo_merge *m)
{
    const struct kymo_reader *r = m->capture->reader;
    m->lanes = kymo__alloc_zeroed((r->thread_count + 1) * sizeof(*m->lanes));
    m->heap = kymo__alloc_zeroed((r->thread_count + 1) * sizeof(*m->heap));
    if (!m->lanes || !m->heap)
        return -ENOMEM;
    for (uint32_t i = 0; i < r->thread_count && m->schemas.count; i++) {
        struct kymo_merge_lane *lane = &m->lanes[m->lane_count];
        kymo__heap_lane_init(&lane->lane, r, &m->schemas, i);
        lane->next =
            kymo__thread_more(r, i)->track ? UINT64_MAX : kymo__heap_lane_start(&lane->lane, r);
        if (lane->next == UINT64_MAX)
            continue;
        m->lane_count++;
        m->heap[m->count++] = lane;
    }
    for (size_t i = m->count; i-- > 0;)
        sink(m, i);
    return 0;
}

/* Helpers are optional: the caller can do everything. */
static void start_helpers(struct kymo_merge *m)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < KYMO__MERGE_HELPERS && (i == 0 || i < cores - 1) && m->lane_count; i++) {
        struct kymo_merge_helper *helper = &m->helpers[i];
        helper->merge = m;
        if (kymo__capture_share(m->capture, &helper->capture) < 0)
            return;
        helper->started =
            kymo__thread_start(&helper->thread, "kymo-memory", 0, help_decode, helper) == 0;
    }
}

int kymo__merge_init(struct kymo_merge *m, struct kymo_capture *capture)
{
    m->capture = capture;
    m->last = &m->first;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->work, NULL);
    pthread_cond_init(&m->done, NULL);
    m->begun = true;
    int rc = kymo__heap_schemas_init(&m->schemas, capture->reader);
    if (rc == 0)
        rc = kymo__capture_share(capture, &m->own);
    if (rc == 0)
        rc = add_lanes(m);
    if (rc == 0)
        start_helpers(m);
    return rc;
}

void kymo__merge_fini(struct kymo_merge *m)
{
    if (!m->begun)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_broadcast(&m->work);
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < KYMO__MERGE_HELPERS; i++) {
        if (m->helpers[i].started)
            pthread_join(m->helpers[i].thread, NULL);
        kymo__capture_unshare(m->capture, m->helpers[i].capture);
    }
    kymo__capture_unshare(m->capture, m->own);
    for (size_t i = 0; i < m->lane_count; i++) {
        kymo__heap_batch_fini(&m->lanes[i].front);
        kymo__heap_batch_fini(&m->lanes[i].back);
        kymo__heap_lane_fini(&m->lanes[i].lane);
    }
    kymo__free(m->lanes);
    kymo__free(m->heap);
    kymo__heap_schemas_fini(&m->schemas);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->work);
    pthread_cond_destroy(&m->done);
    m->begun = false;
}

uint64_t kymo__merge_reordered(const struct kymo_merge *m)
{
    uint64_t all = 0;
    for (size_t i = 0; i < m->lane_count; i++)
        all += m->lanes[i].front.reordered;
    return all;
}
