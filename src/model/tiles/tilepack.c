/* tilepack.c — see tilepack.h. */
#include "tilepack.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#include "alloc.h"
#include "capture.h"
#include "tile.h"

enum {
    WHOLE_LEVELS = 4,    /* the coarsest levels are of everything, not only of the part */
    STEP = 2,            /* from level to level */
    FULL_EVENTS = 20000, /* in a tile that has every call */
    TILES_MOST = 4096,   /* of a level: where one thread is busy and another one lives long, fine
                            levels would have millions of empty ones */
    CHUNK = 1 << 16,
};

enum kind { CALLS, SAMPLES, MEMORY };

struct track {
    unsigned capture;
    enum kind kind;
    uint32_t thread; /* memory: of no meaning */
    kymo_ns from, to;
    bool left_out; /* of finer levels: it has no calls */
};

/* A tile, while its level is being tried. */
struct entry {
    const struct track *track;
    unsigned level;
    uint64_t index;
    size_t length;
    bool full;
};

struct packing {
    struct kymo_tile_pack *packed;
    const struct kymo_shown_capture *captures;
    unsigned count; /* of them */
    struct track *tracks;
    size_t track_count, track_capacity;
    z_stream stream;
    struct kymo_buffer tile;
    struct kymo_buffer entries; /* of struct entry */
};

/* ---- tracks ---- */

static int add_track(struct packing *p, const struct track *track)
{
    int rc = kymo__array_grow(&p->tracks, &p->track_capacity, p->track_count, sizeof(*p->tracks));
    if (rc == 0 && track->from >= 0 && track->to >= track->from)
        p->tracks[p->track_count++] = *track;
    return rc;
}

static bool has_samples(const struct kymo_shown_capture *shown, uint32_t thread)
{
    const struct kymo_survey *survey = shown->book ? shown->book->samples->survey : NULL;
    return survey && thread < survey->thread_count && survey->threads[thread].calls;
}

static int add_thread(struct packing *p, unsigned capture, uint32_t thread)
{
    const struct kymo_shown_capture *shown = &p->captures[capture];
    struct kymo_thread_info info = {.size = sizeof(info)};
    kymo_capture_thread(shown->capture, thread, &info);
    if ((shown->chosen && !shown->chosen[thread]) || !info.records)
        return 0;
    struct track track = {
        .capture = capture,
        .thread = thread,
        .from = info.first - shown->origin,
        .to = info.last - shown->origin,
    };
    int rc = add_track(p, &track);
    track.kind = SAMPLES;
    return rc == 0 && has_samples(shown, thread) ? add_track(p, &track) : rc;
}

static int find_tracks(struct packing *p)
{
    int rc = 0;
    for (unsigned c = 0; rc == 0 && c < p->count; c++) {
        const struct kymo_shown_capture *shown = &p->captures[c];
        const struct track memory = {
            .capture = c, .kind = MEMORY, .to = shown->info->end - shown->origin};
        for (uint32_t t = 0; rc == 0 && t < shown->info->threads && t < KYMO__SHOWN_THREADS; t++)
            rc = add_thread(p, c, t);
        rc = rc == 0 && shown->memory_tile ? add_track(p, &memory) : rc;
    }
    return rc;
}

/* ---- tiles ---- */

/* Compress LENGTH BYTES; FLUSH as in zlib. */
static int deflate_bytes(struct packing *p, const void *bytes, size_t length, int flush)
{
    struct kymo_buffer *out = &p->packed->stream;
    p->stream.next_in = (Bytef *)(uintptr_t)bytes;
    p->stream.avail_in = (uInt)length;
    do {
        int rc = kymo__buffer_reserve(out, CHUNK);
        if (rc < 0)
            return rc;
        p->stream.next_out = out->bytes + out->len;
        p->stream.avail_out = CHUNK;
        if (deflate(&p->stream, flush) == Z_STREAM_ERROR)
            return -EIO;
        out->len += CHUNK - p->stream.avail_out;
    } while (p->stream.avail_out == 0);
    return 0;
}

static int make_tile(struct packing *p, const struct entry *entry)
{
    const struct track *track = entry->track;
    const struct kymo_shown_capture *shown = &p->captures[track->capture];
    const struct kymo_tile_place at = {
        .thread = track->thread,
        .level = entry->level,
        .index = entry->index,
        .origin = shown->origin,
        .events = KYMO__TILE_EVENTS,
        .full = entry->full,
    };
    switch (track->kind) {
    case SAMPLES:
        return kymo__sample_tile_make(shown->capture, shown->book, &at, &p->tile);
    case MEMORY:
        return shown->memory_tile(shown->memory_arg, entry->level, entry->index, &p->tile);
    default:
        return kymo__tile_make(shown->capture, shown->callables, &at, &p->tile);
    }
}

static int pack_tile(struct packing *p, const struct entry *place)
{
    struct entry entry = *place;
    p->tile.len = 0;
    int rc = make_tile(p, place);
    if (rc < 0)
        return rc;
    entry.length = p->tile.len;
    rc = deflate_bytes(p, p->tile.bytes, p->tile.len, Z_NO_FLUSH);
    return rc < 0 ? rc : kymo__buffer_add(&p->entries, &entry, sizeof entry);
}

/* Store the numbers of the first and last tile of TRACK at LEVEL: of all of it, or of the part. False
   if there is none. */
static bool find_tiles(const struct packing *p, const struct track *track, unsigned level,
                       bool whole, uint64_t *first, uint64_t *last)
{
    const struct kymo_shown_capture *shown = &p->captures[track->capture];
    const unsigned bits = level + KYMO__TILE_BITS;
    kymo_ns from = !whole && shown->from > track->from ? shown->from : track->from;
    kymo_ns to = !whole && shown->to < track->to ? shown->to : track->to;
    *first = (uint64_t)from >> bits;
    *last = (uint64_t)to >> bits;
    return to >= from;
}

/* How many tiles LEVEL has, of everything or of the part. */
static uint64_t count_tiles(const struct packing *p, unsigned level, bool whole)
{
    uint64_t count = 0, first, last;
    for (size_t i = 0; i < p->track_count; i++)
        if (!p->tracks[i].left_out && find_tiles(p, &p->tracks[i], level, whole, &first, &last))
            count += last - first + 1;
    return count;
}

/* Pack LEVEL of all tracks, of everything or of the part; FULL with every call. Stops early with
   -EFBIG. */
static int pack_level(struct packing *p, unsigned level, bool whole, bool full, size_t most)
{
    int rc = 0;
    for (size_t t = 0; rc == 0 && t < p->track_count; t++) {
        const struct track *track = &p->tracks[t];
        const struct kymo_shown_capture *shown = &p->captures[track->capture];
        uint64_t i, last;
        if (track->left_out || !find_tiles(p, track, level, whole, &i, &last))
            continue;
        for (; rc == 0 && i <= last; i++) {
            const struct entry place = {.track = track, .level = level, .index = i, .full = full};
            rc = shown->stop ? shown->stop(shown->stop_arg) : 0;
            rc = rc < 0 ? rc : pack_tile(p, &place);
            if (rc == 0 && p->packed->stream.len > most)
                rc = -EFBIG;
        }
    }
    return rc < 0 ? rc : deflate_bytes(p, "", 0, Z_SYNC_FLUSH);
}

/* The level at which everything fits one tile. */
static unsigned coarsest_level(const struct packing *p)
{
    kymo_ns longest = 1;
    for (unsigned c = 0; c < p->count; c++) {
        kymo_ns length = p->captures[c].info->end - p->captures[c].origin;
        longest = length > longest ? length : longest;
    }
    unsigned level = 0;
    while (level + 1 < KYMO__TILE_LEVELS && longest >> (level + KYMO__TILE_BITS))
        level++;
    return level;
}

static uint64_t track_number(const struct track *track)
{
    return track->kind == MEMORY    ? KYMO__PACKED_MEMORY
           : track->kind == SAMPLES ? KYMO__PACKED_SAMPLES + track->thread
                                    : track->thread;
}

static void put_entries(const struct packing *p, struct kymo_jsonout *json)
{
    const struct entry *entries = (const struct entry *)(const void *)p->entries.bytes;
    kymo__jsonout_array(json, "tiles");
    for (size_t i = 0; i < p->entries.len / sizeof *entries; i++) {
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, entries[i].track->capture);
        kymo__jsonout_uint(json, NULL, track_number(entries[i].track));
        kymo__jsonout_uint(json, NULL, entries[i].level);
        kymo__jsonout_uint(json, NULL, entries[i].index);
        kymo__jsonout_uint(json, NULL, entries[i].length);
        kymo__jsonout_uint(json, NULL, entries[i].full);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

/* The coarsest level at which a tile of the busiest thread has few enough events to hold every
   call. */
static unsigned full_level(const struct packing *p, unsigned coarsest)
{
    unsigned level = coarsest;
    for (size_t i = 0; i < p->track_count; i++) {
        const struct track *track = &p->tracks[i];
        struct kymo_thread_info info = {.size = sizeof(info)};
        if (track->kind != CALLS)
            continue;
        kymo_capture_thread(p->captures[track->capture].capture, track->thread, &info);
        double length = (double)(track->to - track->from) + 1;
        while (level > 0 && (double)info.records * (double)(1ull << (level + KYMO__TILE_BITS)) >
                                FULL_EVENTS * length)
            level--;
    }
    return level;
}

/* Pack a level, or take it back if it does not fit. Returns 1, 0 if it does not, or a negative
   code. */
static int try_level(struct packing *p, unsigned level, bool whole, bool full, size_t most)
{
    z_stream before;
    size_t length = p->packed->stream.len, entries = p->entries.len;
    if (most < SIZE_MAX && count_tiles(p, level, whole) > TILES_MOST)
        return 0;
    if (deflateCopy(&before, &p->stream) != Z_OK)
        return -ENOMEM;
    int rc = pack_level(p, level, whole, full, most);
    if (rc == -EFBIG) {
        deflateEnd(&p->stream);
        /* zlib keeps a pointer back to its stream: a copy is the way to move it. */
        rc = deflateCopy(&p->stream, &before) == Z_OK ? 0 : -ENOMEM;
        p->packed->stream.len = length;
        p->entries.len = entries;
    } else if (rc == 0) {
        p->packed->finest = level;
        rc = 1;
    }
    deflateEnd(&before);
    return rc;
}

/* Leave threads without calls out of finer levels, now that there is the coarsest: their tiles take
   no room, so every level would have them, and each would be a pass over all their events. A thread
   that only allocates may have millions. */
static void leave_out_empty(struct packing *p)
{
    const struct entry *entries = (const struct entry *)(const void *)p->entries.bytes;
    for (size_t i = 0; i < p->track_count; i++)
        p->tracks[i].left_out = p->tracks[i].kind == CALLS;
    for (size_t i = 0; i < p->entries.len / sizeof *entries; i++)
        if (entries[i].length > KYMO__TILE_HEADER)
            p->tracks[entries[i].track - p->tracks].left_out = false;
}

/* Add level after level until one does not fit, or until there is every call. */
static int pack_levels(struct packing *p, size_t most)
{
    unsigned coarsest = coarsest_level(p), full = full_level(p, coarsest);
    int rc = 1;
    for (unsigned level = coarsest; rc > 0; level -= STEP) {
        if (level <= full && level + STEP > full) {
            rc = try_level(p, full, false, true, most);
            if (rc != 0) {
                p->packed->all = rc > 0;
                break;
            }
        }
        bool whole = level + WHOLE_LEVELS > coarsest;
        rc = try_level(p, level, whole, false, level == coarsest ? SIZE_MAX : most);
        if (rc > 0 && level == coarsest)
            leave_out_empty(p);
        if (level < STEP)
            break;
    }
    return rc < 0 ? rc : 0;
}

int kymo__tile_pack_fill(struct kymo_tile_pack *packed, const struct kymo_shown_capture *captures,
                         unsigned count, size_t most, struct kymo_jsonout *json)
{
    struct packing p = {.packed = packed, .captures = captures, .count = count};
    if (deflateInit2(&p.stream, 6, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    int rc = find_tracks(&p);
    rc = rc < 0 ? rc : pack_levels(&p, most);
    rc = rc < 0 ? rc : deflate_bytes(&p, "", 0, Z_FINISH);
    if (rc == 0)
        put_entries(&p, json);
    deflateEnd(&p.stream);
    kymo__free(p.tracks);
    kymo__buffer_fini(&p.tile);
    kymo__buffer_fini(&p.entries);
    return rc;
}

void kymo__tile_pack_fini(struct kymo_tile_pack *packed)
{
    kymo__buffer_fini(&packed->stream);
}
