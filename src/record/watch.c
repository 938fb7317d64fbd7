/* watch.c — see watch.h. */
#include "watch.h"

#include "alloc.h"
#include "atomic.h"
#include "encode.h"
#include "names.h"

struct open {
    uint32_t key;
    uint64_t ticks;
    uint64_t waited; /* ticks in calls made from here */
};

struct kymo_watched {
    uint32_t thread;
    uint32_t at;     /* the next record to read, */
    uint64_t number; /* in this chunk */
    size_t depth, capacity;
    uint32_t deeper; /* open calls beyond those in `open` */
    struct open *open;
};

static void watch_enter(struct kymo_watched *w, const struct kymo_record *record)
{
    if (w->depth == KYMO__WATCH_DEPTH ||
        kymo__array_grow(&w->open, &w->capacity, w->depth, sizeof(*w->open)) < 0)
        w->deeper++;
    else
        w->open[w->depth++] = (struct open){kymo__word_key(record->word), record->ticks, 0};
}

static unsigned traits_of(const struct kymo_watch *watch, uint32_t key)
{
    return key < watch->traits.len ? watch->traits.bytes[key] : 0;
}

/* A call of KEY took TOOK ticks that count (watch.h). */
static void judge_call(struct kymo_watch *watch, uint32_t key, uint64_t took)
{
    if (took < watch->ticks)
        return;
    watch->found++;
    if (took > watch->longest) {
        watch->longest = took;
        watch->longest_key = key;
    }
}

/* The call CLOSED has ended at TICKS; CALLER, which may be NULL, continues. */
static void close_call(struct kymo_watch *watch, const struct open *closed, struct open *caller,
                       uint64_t ticks)
{
    uint64_t took = ticks > closed->ticks ? ticks - closed->ticks : 0;
    unsigned traits = traits_of(watch, closed->key);
    uint64_t waited = traits & KYMO__TRAIT_WAITS || closed->waited > took ? took : closed->waited;
    if (caller)
        caller->waited += waited;
    if (!watch->chosen)
        judge_call(watch, closed->key, took - waited);
    else if (traits & KYMO__TRAIT_WATCHED)
        judge_call(watch, closed->key, took);
}

static void watch_leave(struct kymo_watch *watch, struct kymo_watched *w,
                        const struct kymo_record *record)
{
    if (w->deeper) {
        w->deeper--;
        return;
    }
    uint32_t key = kymo__word_key(record->word);
    for (size_t i = w->depth; i-- > 0;) {
        if (w->open[i].key != key)
            continue;
        w->depth = i; /* the leaves of the calls above were lost */
        close_call(watch, &w->open[i], i ? &w->open[i - 1] : NULL, record->ticks);
        return;
    }
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
    if (watch->names && w->at < end)
        kymo__names_traits(watch->names, &watch->traits); /* keys precede their records */
    for (; w->at < end; w->at++) {
        const struct kymo_record *record = &chunk->records[w->at];
        unsigned kind = kymo__word_kind(record->word);
        if (kind == KYMO_ENTER)
            watch_enter(w, record);
        else if (kind == KYMO_LEAVE)
            watch_leave(watch, w, record);
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
    kymo__buffer_fini(&watch->traits);
    for (size_t i = 0; i < KYMO__WATCH_THREADS; i++) {
        if (watch->threads[i])
            kymo__free(watch->threads[i]->open);
        kymo__free(watch->threads[i]);
    }
}
