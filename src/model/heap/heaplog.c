/* heaplog.c — see heaplog.h: making the log.

   A change is two varints: nanoseconds since the one before it in its chunk, the first since the
   chunk's first; and the difference of bytes, zigzag, times eight plus the category, 6 for resident
   memory. */
#include "heaplog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "calls.h"
#include "heapchange.h"
#include "heapview.h"
#include "processends.h"
#include "varint.h"

struct making {
    struct kymo_heaplog *log;
    struct kymo_capture *capture;
    struct kymo_replay replay;
    uint64_t rate;
    size_t hint;
    kymo_ns now;
    uint64_t value[KYMO__HEAPLOG_SERIES];
    uint64_t *resident_of; /* by process, the last value */
    struct kymo_heaplog_chunk *chunk;
    unsigned in_chunk;
    uint8_t bytes[KYMO__HEAPLOG_CHUNK * 2 * KYMO__VARINT_MAX], *at;
    int (*stop)(void *arg);
    void *stop_arg;
};

const char *kymo__heaplog_word(unsigned series)
{
    return series == KYMO__HEAPLOG_TOTAL      ? "total"
           : series == KYMO__HEAPLOG_RESIDENT ? "resident"
                                              : kymo_heap_category_word(series - 1);
}

static int end_chunk(struct making *m)
{
    int rc =
        m->in_chunk ? kymo__spool_add(&m->log->spool, m->bytes, (size_t)(m->at - m->bytes)) : 0;
    m->in_chunk = 0;
    m->at = m->bytes;
    return rc;
}

static int begin_chunk(struct making *m, kymo_ns time)
{
    struct kymo_heaplog *log = m->log;
    int rc = kymo__array_grow(&log->chunks, &log->capacity, log->count, sizeof(*log->chunks));
    if (rc < 0)
        return rc;
    m->chunk = &log->chunks[log->count++];
    m->chunk->first = m->chunk->last = time;
    m->chunk->offset = kymo__spool_length(&log->spool);
    memcpy(m->chunk->before, m->value, sizeof(m->value));
    for (int i = 0; i < KYMO__HEAPLOG_SERIES; i++) {
        m->chunk->least[i] = UINT64_MAX;
        m->chunk->most[i] = 0;
        m->chunk->most_at[i] = time;
    }
    return 0;
}

/* The values have lasted: count them for the least. */
static void settle_changes(struct making *m)
{
    for (int i = 0; i < KYMO__HEAPLOG_SERIES; i++)
        if (m->value[i] < m->chunk->least[i])
            m->chunk->least[i] = m->value[i];
}

static void raise_most(struct making *m, unsigned series)
{
    if (m->value[series] <= m->chunk->most[series])
        return;
    m->chunk->most[series] = m->value[series];
    m->chunk->most_at[series] = m->now;
    m->log->used[series] = true;
}

static int add_change(struct making *m, uint64_t ticks, unsigned category, int64_t by)
{
    kymo_ns time =
        kymo__ns_between(m->log->origin, kymo__timebase_ns(&m->capture->base, ticks, &m->hint));
    time = time > m->now ? time : m->now;
    if (m->in_chunk == KYMO__HEAPLOG_CHUNK) {
        int rc = end_chunk(m);
        if (rc < 0)
            return rc;
    }
    if (m->in_chunk == 0) {
        int rc = begin_chunk(m, time);
        if (rc < 0)
            return rc;
    } else if (time > m->now) {
        settle_changes(m);
    }
    m->at = kymo__varint_put(m->at, (uint64_t)(time - m->chunk->last));
    m->at = kymo__varint_put(m->at, kymo__heapchange_code(category, by));
    m->in_chunk++;
    m->log->changes++;
    m->now = m->chunk->last = time;
    kymo__heapchange_apply(m->value, m->log->arenas_count, category, by);
    raise_most(m, KYMO__HEAPLOG_CATEGORY + category);
    raise_most(m, KYMO__HEAPLOG_TOTAL);
    return 0;
}

static int64_t amount_of(const struct making *m, const struct kymo_heap_block *block)
{
    return (int64_t)kymo__heap_block_amount(block, m->rate).bytes;
}

static int take_born(void *arg, uint64_t ticks, const struct kymo_heap_block *block)
{
    struct making *m = arg;
    return add_change(m, ticks, m->replay.sites.all[block->site].category, amount_of(m, block));
}

static int take_died(void *arg, uint64_t ticks, const struct kymo_heap_block *block)
{
    struct making *m = arg;
    return add_change(m, ticks, m->replay.sites.all[block->site].category, -amount_of(m, block));
}

/* Like live blocks, the resident memory of several processes is added up. */
static int take_other(void *arg, const struct kymo_heap_other *event)
{
    struct making *m = arg;
    if (event->kind != KYMO__HEAP_RESIDENT)
        return 0;
    uint64_t *of = &m->resident_of[kymo__process_of(m->capture->reader, event->thread)];
    uint64_t bytes = event->bytes < KYMO__HEAP_BYTES_MOST ? event->bytes : KYMO__HEAP_BYTES_MOST;
    int64_t by = (int64_t)(bytes - *of);
    *of = bytes;
    return add_change(m, event->ticks, KYMO_HEAP_CATEGORIES, by);
}

static int take_ended(void *arg, uint64_t ticks, uint32_t process)
{
    struct making *m = arg;
    int64_t by = -(int64_t)m->resident_of[process];
    m->resident_of[process] = 0;
    return by ? add_change(m, ticks, KYMO_HEAP_CATEGORIES, by) : 0;
}

static int stop_if_asked(void *arg, uint64_t done, uint64_t all)
{
    const struct making *m = arg;
    (void)done, (void)all;
    return m->stop ? m->stop(m->stop_arg) : 0;
}

static int make_log(struct making *m)
{
    const struct kymo_replay_visitor visitor = {
        .arg = m,
        .born = take_born,
        .died = take_died,
        .other = take_other,
        .left = take_died,
        .ended = take_ended,
        .progress = stop_if_asked,
        .progress_arg = m,
    };
    m->resident_of =
        kymo__alloc_zeroed(kymo__process_count(m->capture->reader) * sizeof(*m->resident_of));
    int rc = m->resident_of ? kymo__replay(&m->replay, m->capture, &visitor) : -ENOMEM;
    rc = rc < 0 ? rc : end_chunk(m);
    memcpy(m->log->end, m->value, sizeof(m->value));
    if (kymo__heap_mode(m->capture) == KYMO_HEAP_LIVE)
        m->log->used[KYMO__HEAPLOG_TOTAL] = false; /* only mappings have events */
    kymo__replay_fini(&m->replay);
    kymo__free(m->resident_of);
    return rc;
}

int kymo__heaplog_new(struct kymo_capture *capture, kymo_ns origin, int (*stop)(void *arg),
                      void *arg, struct kymo_heaplog **out)
{
    struct kymo_heaplog *log = kymo__alloc_zeroed(sizeof(*log));
    struct making *m = kymo__alloc_zeroed(sizeof(*m));
    int rc = log && m ? 0 : -ENOMEM;
    if (log)
        kymo__spool_init(&log->spool);
    if (rc == 0) {
        log->origin = origin;
        log->arenas_count = kymo__heap_arenas_count(capture);
        m->log = log;
        m->capture = capture;
        m->rate = kymo__heap_rate(capture);
        m->at = m->bytes;
        m->now = INT64_MIN;
        m->stop = stop;
        m->stop_arg = arg;
        rc = kymo__heap_mode(capture) == KYMO_HEAP_NONE ? 0 : make_log(m);
    }
    kymo__free(m);
    if (rc < 0)
        kymo__heaplog_free(log);
    else
        *out = log;
    return rc;
}

void kymo__heaplog_free(struct kymo_heaplog *log)
{
    if (!log)
        return;
    kymo__spool_fini(&log->spool);
    kymo__free(log->chunks);
    kymo__free(log);
}
