/* sampletile.c — see sampletile.h. */
#include "sampletile.h"

#include <errno.h>

#include "alloc.h"
#include "stacks.h"
#include "tilerows.h"

/* ---- names ---- */

struct stopping {
    int (*stop)(void *arg);
    void *arg;
};

/* Keeping samples as they are read. */
struct keeping {
    struct kymo_samplebook *book;
    size_t *next; /* by thread: where its samples end so far */
    bool many;
};

static int keep_sample(void *arg, const struct kymo_event *event)
{
    struct keeping *k = arg;
    struct kymo_samplebook *book = k->book;
    if (k->many || book->kept_count == KYMO__SAMPLES_KEPT ||
        kymo__array_grow(&book->kept, &book->kept_capacity, book->kept_count, sizeof(*book->kept)) <
            0) {
        k->many = true;
        return 0;
    }
    book->kept[book->kept_count++] = (struct kymo_kept_sample){event->time, event->id};
    k->next[event->thread + 1] = book->kept_count;
    return 0;
}

/* All of THREADS have been read, one after the other: where do the samples of each begin? */
static void end_keeping(struct keeping *k, size_t threads)
{
    struct kymo_samplebook *book = k->book;
    if (k->many) {
        kymo__free(book->kept);
        book->kept = NULL;
        book->kept_count = book->kept_capacity = 0;
        return;
    }
    for (size_t i = 1; i <= threads; i++)
        k->next[i] = k->next[i] ? k->next[i] : k->next[i - 1];
    book->kept_of = k->next;
    k->next = NULL;
}

static int stop_if_asked(void *arg, uint64_t done, uint64_t all)
{
    const struct stopping *s = arg;
    (void)done, (void)all;
    return s->stop ? s->stop(s->arg) : 0;
}

int kymo__samplebook_init(struct kymo_samplebook *book, struct kymo_capture *capture,
                          int (*stop)(void *arg), void *arg)
{
    struct stopping stopping = {stop, arg};
    const size_t threads = capture->reader->thread_count;
    struct keeping keeping = {
        .book = book,
        .next = kymo__alloc_zeroed((threads + 1) * sizeof(*keeping.next)),
    };
    const struct kymo_samples_options options = {
        .tally = {.from = INT64_MIN,
                  .to = INT64_MAX,
                  .progress = stop_if_asked,
                  .progress_arg = &stopping,
                  .quick = true,
                  .each = keep_sample,
                  .each_arg = &keeping},
        .nodes = 1,
    };
    *book = (struct kymo_samplebook){0};
    int rc = keeping.next ? kymo__samples(capture, &options, &book->samples) : -ENOMEM;
    if (rc == 0)
        end_keeping(&keeping, threads);
    kymo__free(keeping.next);
    if (rc < 0)
        return rc;
    book->nodes = capture->reader->stacks.node_count;
    book->name_of = kymo__alloc_zeroed((book->nodes + 1) * sizeof(*book->name_of));
    struct kymo_shown *shown = kymo__alloc((KYMO__SHOWN_MOST + 1) * sizeof(*shown));
    const struct kymo_tallies *tallies = &book->samples->tallies;
    for (size_t i = 0; book->name_of && shown && i < tallies->count; i++) {
        uint32_t node = tallies->all[i].node;
        if (book->name_of[node])
            continue; /* on another thread, too */
        kymo__samples_shown(book->samples, node, shown);
        book->name_of[node] = book->samples->callable_of[shown[0].named];
    }
    rc = book->name_of && shown ? 0 : -ENOMEM;
    kymo__free(shown);
    return rc;
}

void kymo__samplebook_fini(struct kymo_samplebook *book)
{
    kymo__samples_free(book->samples);
    kymo__free(book->name_of);
    kymo__free(book->kept);
    kymo__free(book->kept_of);
    *book = (struct kymo_samplebook){0};
}

uint32_t kymo__samplebook_name(const struct kymo_samplebook *book, uint64_t id)
{
    const struct kymo_reader_stacks *stacks = &book->samples->names.capture->reader->stacks;
    uint32_t node = kymo__stackdefs_find(stacks, kymo__sample_stack(id));
    return node < book->nodes ? book->name_of[node] : 0;
}

/* ---- tiles ---- */

struct making {
    const struct kymo_samplebook *book;
    struct kymo_tile_rows rows;
};

static int add_sample(struct making *m, kymo_ns time, uint64_t id)
{
    return kymo__tile_rows_sample(
        &m->rows, time, kymo__samplebook_name(m->book, id),
        kymo__tally_time(&m->book->samples->tallies, kymo__sample_periods(id)));
}

static int take_sample(void *arg, const struct kymo_event *event)
{
    return add_sample(arg, event->time, event->id);
}

static int add_kept(struct making *m, uint32_t thread)
{
    const struct kymo_samplebook *book = m->book;
    int rc = 0;
    for (size_t i = book->kept_of[thread]; rc == 0 && i < book->kept_of[thread + 1]; i++)
        if (book->kept[i].time >= m->rows.from && book->kept[i].time < m->rows.to)
            rc = add_sample(m, book->kept[i].time, book->kept[i].id);
    return rc;
}

int kymo__sample_tile_make(struct kymo_capture *capture, const struct kymo_samplebook *book,
                           const struct kymo_tile_place *place, struct kymo_buffer *out)
{
    kymo_ns from, to;
    int rc = kymo__tile_span(place, &from, &to);
    if (rc < 0 || place->thread >= capture->reader->thread_count)
        return -EINVAL;
    struct making *m = kymo__alloc_zeroed(sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->book = book;
    m->rows.from = from;
    m->rows.to = to;
    m->rows.origin = place->origin;
    m->rows.level = place->level;
    rc = book->kept_of ? add_kept(m, place->thread)
                       : kymo__each_sample_quick(capture, place->thread, from, to, take_sample, m,
                                                 place->stop, place->stop_arg);
    rc = rc < 0 ? rc : kymo__tile_rows_flush(&m->rows);
    rc = rc < 0 ? rc : kymo__tile_write(&m->rows, place, 0, out);
    kymo__tile_rows_fini(&m->rows);
    kymo__free(m);
    return rc;
}

/* ---- one sample ---- */

struct finding {
    struct kymo_event *found;
    bool any, last;
};

enum { ENOUGH = -1 };

static int take_found(void *arg, const struct kymo_event *event)
{
    struct finding *f = arg;
    *f->found = *event;
    f->any = true;
    return f->last ? 0 : ENOUGH;
}

int kymo__sample_find(struct kymo_capture *capture, uint32_t thread, kymo_ns time, bool backwards,
                      struct kymo_event *found)
{
    struct finding f = {.found = found, .last = backwards};
    if (thread >= capture->reader->thread_count)
        return -EINVAL;
    if (!backwards) {
        int rc =
            kymo__each_sample_quick(capture, thread, time, INT64_MAX, take_found, &f, NULL, NULL);
        return f.any ? 1 : rc;
    }
    /* Pieces that double in length: most are near. */
    struct kymo_thread_info info = {.size = sizeof(info)};
    kymo_capture_thread(capture, thread, &info);
    kymo_ns to = time, piece = (kymo_ns)1 << 20;
    while (info.records && to > info.first) {
        kymo_ns from = to - info.first > piece ? to - piece : INT64_MIN;
        int rc = kymo__each_sample_quick(capture, thread, from, to, take_found, &f, NULL, NULL);
        if (rc < 0 || f.any)
            return rc < 0 ? rc : 1;
        if (from == INT64_MIN)
            break;
        to = from;
        piece = piece < (kymo_ns)1 << 60 ? 2 * piece : piece;
    }
    return 0;
}
