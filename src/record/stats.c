/* stats.c — what the running session has recorded so far. */
#include "session.h"

#include <errno.h>
#include <string.h>

#include "lock.h"

/* Count what S has done; the life lock and the file lock are held. */
static void count_work(struct kymo_session *s, struct kymo_stats *stats)
{
    struct kymo_stats now = {
        .size = stats->size,
        .written_bytes = s->file.sink.end,
        .written_records = kymo__load_relaxed(&s->file.written_records),
        .dropped_records = kymo__load_relaxed(&s->lanes.dropped_records),
        .helped_chunks = kymo__load_relaxed(&s->drain.helped_chunks),
        .threads = kymo__load_relaxed(&s->lanes.threads),
        .budget_bytes = (uint64_t)s->pool.live.limit * KYMO__CHUNK_BYTES,
        .pool_bytes =
            (uint64_t)kymo__load_relaxed(&s->pool.live.header->chunks) * KYMO__CHUNK_BYTES,
        .error = s->file.sink.error,
        .expired_records = kymo__load_relaxed(&s->flight.expired_records),
    };
    for (uint32_t i = 0; i < s->pool.live.gap_slots; i++)
        now.dropped_records += kymo__load_acquire(&s->pool.live.gaps[i].count);
    memcpy(stats, &now, stats->size < sizeof(now) ? stats->size : sizeof(now));
}

static int stats_with(struct kymo_stats *stats, int (*take)(pthread_mutex_t *))
{
    if (stats->size < sizeof(size_t) || kymo__switch_forked())
        return stats->size < sizeof(size_t) ? -EINVAL : KYMO_EIDLE;
    if (kymo__life_take(take) != 0)
        return -EBUSY;
    struct kymo_session *s = kymo__session();
    int rc = s ? 0 : KYMO_EIDLE;
    kymo__inside_add(1);
    if (s && take(&s->file.lock) != 0)
        rc = -EBUSY;
    if (rc == 0) {
        count_work(s, stats);
        pthread_mutex_unlock(&s->file.lock);
    }
    kymo__inside_add((uint32_t)-1);
    kymo__life_return();
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
