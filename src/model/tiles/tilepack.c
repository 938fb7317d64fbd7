/* tilepack.c — see tilepack.h. */
#include "tilepack.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

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

/* A tile, while its level is being tried. */
struct entry {
    unsigned capture, level;
    uint32_t thread;
    uint64_t index;
    size_t length;
    bool full;
};

struct packing {
    struct kymo_tile_pack *packed;
    const struct kymo_shown_capture *captures;
    unsigned count; /* of them */
    z_stream stream;
    struct kymo_buffer tile;
    struct kymo_buffer entries; /* of struct entry */
};

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

static int pack_tile(struct packing *p, const struct entry *place)
{
    const struct kymo_shown_capture *shown = &p->captures[place->capture];
    const struct kymo_tile_place at = {
        .thread = place->thread,
        .level = place->level,
        .index = place->index,
        .origin = shown->origin,
        .events = KYMO__TILE_EVENTS,
        .full = place->full,
    };
    struct entry entry = *place;
    p->tile.len = 0;
    int rc = kymo__tile_make(shown->capture, shown->callables, &at, &p->tile);
    if (rc < 0)
        return rc;
    entry.length = p->tile.len;
    rc = deflate_bytes(p, p->tile.bytes, p->tile.len, Z_NO_FLUSH);
    return rc < 0 ? rc : kymo__buffer_add(&p->entries, &entry, sizeof entry);
}

/* Store thread T and the time of it to pack: all, or what is in the part. False if there is none. */
static bool find_time(const struct kymo_shown_capture *shown, uint32_t t, bool whole, kymo_ns *from,
                      kymo_ns *to)
{
    struct kymo_thread_info info = {.size = sizeof(info)};
    if (shown->chosen && !shown->chosen[t])
        return false;
    kymo_capture_thread(shown->capture, t, &info);
    *from = info.first - shown->origin;
    *to = info.last - shown->origin;
    *from = !whole && shown->from > *from ? shown->from : *from;
    *to = !whole && shown->to < *to ? shown->to : *to;
    return info.records && *to >= *from && *from >= 0;
}

static uint32_t count_threads(const struct kymo_shown_capture *shown)
{
    uint64_t all = shown->info->threads;
    return (uint32_t)(all < KYMO__SHOWN_THREADS ? all : KYMO__SHOWN_THREADS);
}

/* How many tiles LEVEL has, of everything or of the part. */
static uint64_t count_tiles(const struct packing *p, unsigned level, bool whole)
{
    const unsigned bits = level + KYMO__TILE_BITS;
    uint64_t count = 0;
    for (unsigned c = 0; c < p->count; c++)
        for (uint32_t t = 0; t < count_threads(&p->captures[c]); t++) {
            kymo_ns from, to;
            if (find_time(&p->captures[c], t, whole, &from, &to))
                count += ((uint64_t)to >> bits) - ((uint64_t)from >> bits) + 1;
        }
    return count;
}

/* Pack LEVEL of all threads, of everything or of the part; FULL with every call. Stops early with
   -EFBIG. */
static int pack_level(struct packing *p, unsigned level, bool whole, bool full, size_t most)
{
    const unsigned bits = level + KYMO__TILE_BITS;
    int rc = 0;
    for (unsigned c = 0; rc == 0 && c < p->count; c++) {
        const struct kymo_shown_capture *shown = &p->captures[c];
        for (uint32_t t = 0; rc == 0 && t < count_threads(shown); t++) {
            kymo_ns from, to;
            if (!find_time(shown, t, whole, &from, &to))
                continue;
            for (uint64_t i = (uint64_t)from >> bits; rc == 0 && i <= (uint64_t)to >> bits; i++) {
                const struct entry place = {
                    .capture = c, .level = level, .thread = t, .index = i, .full = full};
                rc = shown->stop ? shown->stop(shown->stop_arg) : 0;
                rc = rc < 0 ? rc : pack_tile(p, &place);
                if (rc == 0 && p->packed->stream.len > most)
                    rc = -EFBIG;
            }
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

static void put_entries(const struct packing *p, struct kymo_jsonout *json)
{
    const struct entry *entries = (const struct entry *)(const void *)p->entries.bytes;
    kymo__jsonout_array(json, "tiles");
    for (size_t i = 0; i < p->entries.len / sizeof *entries; i++) {
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, entries[i].capture);
        kymo__jsonout_uint(json, NULL, entries[i].thread);
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
    for (unsigned c = 0; c < p->count; c++) {
        const struct kymo_shown_capture *shown = &p->captures[c];
        for (uint32_t t = 0; t < count_threads(shown); t++) {
            struct kymo_thread_info info = {.size = sizeof(info)};
            if (shown->chosen && !shown->chosen[t])
                continue;
            kymo_capture_thread(shown->capture, t, &info);
            double length = (double)(info.last - info.first) + 1;
            while (level > 0 && (double)info.records * (double)(1ull << (level + KYMO__TILE_BITS)) >
                                    FULL_EVENTS * length)
                level--;
        }
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
    int rc = pack_levels(&p, most);
    rc = rc < 0 ? rc : deflate_bytes(&p, "", 0, Z_FINISH);
    if (rc == 0)
        put_entries(&p, json);
    deflateEnd(&p.stream);
    kymo__buffer_fini(&p.tile);
    kymo__buffer_fini(&p.entries);
    return rc;
}

void kymo__tile_pack_fini(struct kymo_tile_pack *packed)
{
    kymo__buffer_fini(&packed->stream);
}
