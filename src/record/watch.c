/* watch.c — see watch.h. */
#include "watch.h"

#include "alloc.h"
#include "atomic.h"
#include "encode.h"

struct open {
    uint32_t key;
    uint64_t ticks;
};

struct kymo_watched {
    uint32_t thread;
    uint32_t at;     /* the next record to look at, */
    uint64_t number; /* in this chunk */
    size_t depth, capacity;
    uint32_t deeper; /* calls above those in `open` */
    struct open *open;
};

static void enter(struct kymo_watched *w, const struct kymo_record *record)
{
    if (w->depth == KYMO__WATCH_DEPTH ||
        kymo__array_grow(&w->open, &w->capacity, w->depth, sizeof(*w->open)) < 0)
        w->deeper++;
    else
        w->open[w->depth++] = (struct open){kymo__word_key(record->word), record->ticks};
}

/* How long the call took that RECORD leaves, or 0 when that is not known. */
static uint64_t leave(struct kymo_watched *w, const struct kymo_record *record)
{
    if (w->deeper) {
        w->deeper--;
        return 0;
    }
    uint32_t key = kymo__word_key(record->word);
    for (size_t i = w->depth; i-- > 0;) {
        if (w->open[i].key != key)
            continue;
        w->depth = i; /* those above have lost their leaves */
        return record->ticks > w->open[i].ticks ? record->ticks - w->open[i].ticks : 0;
    }
    return 0;
}

static struct kymo_watched *watched(struct kymo_watch *watch, uint32_t thread)
{
    struct kymo_watched **place = &watch->threads[thread % KYMO__WATCH_THREADS];
    if (!*place && !(*place = kymo__alloc_zeroed(sizeof(**place))))
        return NULL;
    struct kymo_watched *w = *place;
    if (w->thread > thread + 1)
        return NULL;
    if (w->thread != thread + 1) {
        w->thread = thread + 1;
        w->number = w->at = 0;
        w->depth = w->deeper = 0;
    }
    return w;
}

void kymo__watch_chunk(struct kymo_watch *watch, const struct kymo_chunk *chunk)
{
    struct kymo_watched *w = watched(watch, chunk->thread);
    if (!w || chunk->number != w->number)
        return;
    size_t end = kymo__chunk_count(chunk);
    for (; w->at < end; w->at++) {
        const struct kymo_record *record = &chunk->records[w->at];
        unsigned kind = kymo__word_kind(record->word);
        if (kind == KYMO_ENTER)
            enter(w, record);
        else if (kind == KYMO_LEAVE && leave(w, record) >= watch->ticks)
            watch->found++;
        else if (kind == KYMO_RESYNC)
            w->depth = w->deeper = 0;
    }
    if (kymo__load_acquire(&chunk->state) == KYMO__CHUNK_FULL &&
        w->at >= kymo__chunk_count(chunk)) {
        w->number++;
        w->at = 0;
    }
}

void kymo__watch_fini(struct kymo_watch *watch)
{
    for (size_t i = 0; i < KYMO__WATCH_THREADS; i++) {
        if (watch->threads[i])
            kymo__free(watch->threads[i]->open);
        kymo__free(watch->threads[i]);
    }
}
