/* heapview.h — everything a memory report needs, from one replay; the inside of kymo/heap.h. */
#ifndef KYMO_HEAPVIEW_H
#define KYMO_HEAPVIEW_H

#include "heapfigures.h"
#include "heaptimes.h"
#include "ranges.h"
#include "replay.h"

enum { KYMO__HEAP_CLASSES = 49 }; /* 0, 1, 2 to 3, 4 to 7, … bytes */

/* Metadata of a capture with memory events. */
#define KYMO__HEAP_MODE "memory.mode"
#define KYMO__HEAP_RATE "memory.rate"
#define KYMO__HEAP_DOMAINS "memory.domains"
#define KYMO__HEAP_STACKS "memory.stacks"
#define KYMO__HEAP_MISSED "memory.missed"
#define KYMO__HEAP_LOST "memory.lost"

/* A row of a live set that the recorder wrote as a whole. */
struct kymo_heap_held_row {
    uint64_t bytes, count;
    uint32_t site;
};

struct kymo_heap_shot {
    uint64_t number, ticks;
    char *reason;
    size_t row, rows;
    uint64_t bytes, count;
    double variance; /* of bytes, in a sampled capture */
};

struct kymo_heap_survivor {
    uint64_t snapshot, count, bytes, owned;
    uint32_t stack, type;
    char *path;
};

struct kymo_heap {
    struct kymo_capture *capture;
    struct kymo_replay replay;
    struct kymo_heap_options options;
    int mode;
    uint64_t rate;
    bool arenas_count; /* arenas are part of the sums: the objects in them were not recorded */

    struct kymo_heap_figure *sites; /* by site; in `site_memory`, aligned */
    struct kymo_heap_extra *extras; /* by site */
    void *site_memory;
    size_t site_capacity;
    struct kymo_heap_figure classes[KYMO__HEAP_CLASSES];
    struct kymo_heap_extra class_extras[KYMO__HEAP_CLASSES];
    uint64_t total, peak; /* bytes of everything that counts, now and at the peak */
    uint64_t bytes[KYMO_HEAP_CATEGORIES], peak_bytes[KYMO_HEAP_CATEGORIES];
    uint64_t left_bytes[KYMO_HEAP_CATEGORIES]; /* in processes that have ended */
    struct kymo_mapped_ranges arenas;          /* those mapped now */
    size_t arena;                              /* the one that was found last */
    uint64_t in_arenas, peak_in_arenas;        /* bytes of blocks in them, now and at the peak */
    uint64_t mark, peak_ticks, end_ticks;
    uint64_t mapped_most, mapped_most_ticks; /* in live mode */
    struct kymo_heap_amount *at;             /* by site; NULL: not needed */
    uint64_t at_ticks;
    size_t at_count; /* sites known then */
    bool at_taken;
    struct kymo_heap_times times;

    uint64_t resident, resident_start, resident_most, resident_at_peak;
    uint64_t resident_most_ticks;
    uint64_t resident_left; /* in processes that have ended */
    uint64_t *resident_of;  /* by process, the last value; 0 when it has ended */

    struct kymo_heap_held_row *held;
    size_t held_count, held_capacity;
    struct kymo_heap_shot *shots;
    size_t shot_count, shot_capacity;
    struct kymo_heap_survivor *survivors;
    size_t survivor_count, survivor_capacity;

    uint32_t *order[KYMO_HEAP_SETS]; /* sites of each set, largest first */
    size_t order_count[KYMO_HEAP_SETS];
};

/* The value of metadata KEY of CAPTURE, or "". Of a merged capture in which it differs, the first
   one; kymo__heap_metadata_next returns one after the other from *AT on, at first 0, then NULL. */
const char *kymo__heap_metadata(const struct kymo_capture *capture, const char *key);
const char *kymo__heap_metadata_next(const struct kymo_capture *capture, const char *key,
                                     uint32_t *at);

/* Was CAPTURE merged from several that recorded memory in different modes or at different rates? */
bool kymo__heap_mixed(const struct kymo_capture *capture);

/* How CAPTURE was recorded, as enum kymo_heap_mode, a word for programs, and a phrase. */
int kymo__heap_mode(const struct kymo_capture *capture);
const char *kymo__heap_mode_word(const struct kymo_capture *capture);

/* Was only the live set to be recorded, and did the process end before it was written? What was held
   at the peak and at the end is then unknown. */
bool kymo__heap_is_cut_off(const struct kymo_heap *heap);
const char *kymo__heap_mode_phrase(const struct kymo_capture *capture);

/* The mean bytes between samples of CAPTURE; 0 if it is not sampled. */
uint64_t kymo__heap_rate(const struct kymo_capture *capture);

/* Are arenas part of the sums? They are if the objects in them were not recorded. */
bool kymo__heap_arenas_count(const struct kymo_capture *capture);

/* How BLOCK counts in a capture of RATE. A mapping is always recorded. Of one that is unmapped in parts,
   the last part counts as the mapping. */
static inline struct kymo_heap_amount kymo__heap_block_amount(const struct kymo_heap_block *block,
                                                              uint64_t rate)
{
    if (__builtin_expect(rate && !block->mapping, 0))
        return kymo__heap_weigh(block->bytes, rate);
    return (struct kymo_heap_amount){block->bytes, block->whole ? KYMO__HEAP_UNIT : 0, 0};
}

/* Is SITE part of the sums? */
static inline bool kymo__heap_counts(const struct kymo_heap *heap, uint32_t site)
{
    return heap->arenas_count || heap->replay.sites.all[site].category != KYMO_HEAP_ARENAS;
}

/* The amount of SITE in SET. */
struct kymo_heap_amount kymo__heap_amount(const struct kymo_heap *heap, unsigned set,
                                          uint32_t site);

/* heapheld.c: keep the events that are not about a block. */
int kymo__heap_keep(struct kymo_heap *heap, const struct kymo_heap_other *event);
void kymo__heap_kept_free(struct kymo_heap *heap);

/* The variance of the bytes of ROW: 0 unless the capture is sampled. */
double kymo__heap_row_variance(const struct kymo_heap *heap, const struct kymo_heap_held_row *row);

/* In live mode: take the sums by site from what was held at the end, at the peak, and at the last
   snapshot before the time that is asked for. Returns 0 or -ENOMEM. */
int kymo__heap_take_held(struct kymo_heap *heap);

/* The last snapshot on request by the time of KYMO_HEAP_AT_TIME, or NULL. */
const struct kymo_heap_shot *kymo__heap_shot_at(const struct kymo_heap *heap);

/* heaprows.c: sort the rows of all sets. Returns 0 or -ENOMEM. */
int kymo__heap_sort(struct kymo_heap *heap);

/* Make room for the figures of all sites. Returns 0 or -ENOMEM. */
int kymo__heap_reach(struct kymo_heap *heap);

#endif
