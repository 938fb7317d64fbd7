/* block.c — see block.h. */
#include "block.h"

#include <errno.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* for contexts with a custom allocator */
#include <zstd.h>

#include "alloc.h"
#include "arena.h"
#include "atomic.h"
#include "crc32c.h"
#include "rawframe.h"

/* Both columns are written without bounds checks, so each has room for the worst possible block.
   Untouched pages cost nothing. */
#define TOKENS_BYTES ((size_t)KYMO__BLOCK_RECORDS_MAX * KYMO__TOKEN_MAX)
#define TIMES_BYTES ((size_t)KYMO__BLOCK_RECORDS_MAX * KYMO__TIME_MAX)
#define VALUES_BYTES ((size_t)KYMO__BLOCK_BYTES_MAX + KYMO__VALUES_SLACK)

/* A payload fits without growing: packing allocates nothing. */
enum { PAYLOAD_ROOM = KYMO_PAYLOAD_MOST + 64 };

struct kymo_packer {
    ZSTD_CCtx *zstd; /* made for the first block that is not tiny */
    int level;
    uint8_t *out; /* allocated together with encoded, times and values, if it has them */
    size_t out_size;
    uint8_t *encoded; /* tokens, then the times once their position is known */
    uint8_t *times;
    uint8_t *values;
    struct kymo_notes notes;
    struct kymo_encoder encoder;
};

/* zstd allocates its tables with the first block, which a recording thread may pack inside
   malloc. */
static void *zstd_take(void *opaque, size_t size)
{
    (void)opaque;
    return kymo__arena_take(size);
}

static void zstd_give(void *opaque, void *piece)
{
    (void)opaque;
    kymo__arena_give(piece);
}

static const ZSTD_customMem own_memory = {zstd_take, zstd_give, NULL};

/* With MORE bytes after `out`. */
static struct kymo_packer *packer_with(int level, size_t more)
{
    struct kymo_packer *p = kymo__alloc_zeroed(sizeof(*p));
    if (!p)
        return NULL;
    p->level = level;
    p->out_size = sizeof(struct kymo_block_header) + ZSTD_compressBound(KYMO__BLOCK_BYTES_MAX) + 8;
    p->out = kymo__alloc(p->out_size + more);
    if (p->out)
        return p;
    kymo__packer_free(p);
    return NULL;
}

struct kymo_packer *kymo__packer_new_bytes(int level)
{
    return packer_with(level, 0);
}

struct kymo_packer *kymo__packer_new(int level)
{
    struct kymo_packer *p =
        packer_with(level, TOKENS_BYTES + 2 * TIMES_BYTES + VALUES_BYTES + KYMO__NOTES_BYTES);
    if (!p)
        return NULL;
    p->encoder.seen = kymo__values_new();
    if (!p->encoder.seen || kymo__buffer_reserve(&p->encoder.payload, PAYLOAD_ROOM) < 0) {
        kymo__packer_free(p);
        return NULL;
    }
    p->encoded = p->out + p->out_size;
    p->times = p->encoded + TOKENS_BYTES + TIMES_BYTES;
    p->values = p->times + TIMES_BYTES;
    kymo__notes_init(&p->notes, p->values + VALUES_BYTES);
    return p;
}

static bool set_zstd(struct kymo_packer *p, ZSTD_cParameter parameter, int value)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, parameter, value));
}

/* 0 or -ENOMEM. */
static int prepare_zstd(struct kymo_packer *p)
{
    if (p->zstd)
        return 0;
    p->zstd = ZSTD_createCCtx_advanced(own_memory);
    bool set = p->zstd && set_zstd(p, ZSTD_c_compressionLevel, p->level) &&
               set_zstd(p, ZSTD_c_checksumFlag, 1);
    /* Records repeat in long runs or hardly at all. Looking for long matches only, in a table that stays
       in the first cache, makes columns of memory events no larger and takes a quarter less time. */
    if (set && p->level == 1 && p->encoded)
        set = set_zstd(p, ZSTD_c_minMatch, 7) && set_zstd(p, ZSTD_c_hashLog, 12);
    if (set)
        return 0;
    ZSTD_freeCCtx(p->zstd);
    p->zstd = NULL;
    return -ENOMEM;
}

void kymo__packer_free(struct kymo_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->zstd);
    kymo__values_free(packer->encoder.seen);
    kymo__buffer_fini(&packer->encoder.payload);
    kymo__free(packer->out);
    kymo__free(packer);
}

void kymo__packer_plans(struct kymo_packer *packer, const struct kymo_plans *plans)
{
    packer->encoder.plans = plans;
}

void kymo__block_seal(struct kymo_block_header *header)
{
    header->crc =
        kymo__crc32c(&header->type, sizeof(*header) - offsetof(struct kymo_block_header, type));
}

static void begin_block(struct kymo_packer *p)
{
    kymo__encode_begin(&p->encoder, p->encoded, p->times, p->values, &p->notes);
}

/* Compress BYTES after HEADER, which is complete except for the stored length. */
static int finish_block(struct kymo_packer *p, struct kymo_block_header header, const void *bytes,
                        struct kymo_packed *packed)
{
    uint8_t *payload = p->out + sizeof(header);
    size_t stored;
    /* Once zstd is set up, it pays for small blocks, too. Summaries may take only a small share of what
       they summarize, which is never tiny. */
    if (!p->zstd && header.type != KYMO__BLOCK_SUMMARY &&
        header.encoded_bytes <= KYMO__RAWFRAME_MOST) {
        stored = kymo__rawframe(payload, bytes, header.encoded_bytes);
    } else {
        int rc = prepare_zstd(p);
        if (rc < 0)
            return rc;
        stored = ZSTD_compress2(p->zstd, payload, p->out_size - sizeof(header) - 8, bytes,
                                header.encoded_bytes);
        if (ZSTD_isError(stored))
            return -EIO;
    }
    header.magic = KYMO__BLOCK_MAGIC;
    header.stored_bytes = (uint32_t)stored;
    kymo__block_seal(&header);
    memcpy(p->out, &header, sizeof(header));
    memset(payload + stored, 0, 8);
    packed->bytes = p->out;
    packed->len = (size_t)kymo__block_bytes(&header);
    packed->header = (const void *)p->out;
    return 0;
}

/* Compress what has been encoded; HEADER says which thread it belongs to. */
static int finish_encoded(struct kymo_packer *p, struct kymo_block_header header,
                          struct kymo_packed *packed)
{
    const struct kymo_encoder *e = &p->encoder;
    size_t tokens = (size_t)(e->tokens - p->encoded), times = (size_t)(e->times - p->times);
    size_t entries = (size_t)(e->values - p->values);
    memcpy(e->tokens, p->times, times);
    uint8_t *columns = e->tokens + times, *end = columns;
    if (e->notes && e->notes->past.forms) {
        end = kymo__notes_end(e->notes, end);
        header.type = KYMO__BLOCK_NOTES;
    }
    memcpy(end, p->values, entries);
    size_t values = (size_t)(end - columns) + entries;
    header.encoded_bytes = (uint32_t)(tokens + times + values);
    header.records = e->records;
    header.first_ticks = e->first_ticks;
    header.last_ticks = e->last_ticks;
    header.token_bytes = (uint32_t)tokens;
    for (unsigned i = 0; i < sizeof(header.value_bytes); i++)
        header.value_bytes[i] = (uint8_t)(values >> 8 * i);
    return finish_block(p, header, p->encoded, packed);
}

/* The same for COUNT chunks from FIRST on, without the first PASSED records. */
static int finish_records(struct kymo_packer *p, const struct kymo_chunk *first, size_t passed,
                          size_t count, struct kymo_packed *packed)
{
    const struct kymo_block_header header = {
        .type = KYMO__BLOCK_RECORDS,
        .thread = first->thread,
        .chunks = (uint32_t)count,
        .first_chunk = first->number,
        .skipped = kymo__count_events(first->records, passed),
    };
    return finish_encoded(p, header, packed);
}

int kymo__pack_track(struct kymo_packer *packer, const struct kymo_track_part *parts, size_t count,
                     struct kymo_packed *packed)
{
    kymo__encode_begin(&packer->encoder, packer->encoded, packer->times, packer->values, NULL);
    for (size_t i = 0; i < count; i++)
        kymo__encode(&packer->encoder, parts[i].records, parts[i].count);
    const struct kymo_block_header header = {
        .type = KYMO__BLOCK_TRACK,
        .thread = parts[0].thread,
        .chunks = 1,
        .first_chunk = parts[0].before >> 32,
        .skipped = (uint32_t)parts[0].before,
    };
    return finish_encoded(packer, header, packed);
}

int kymo__pack_chunks(struct kymo_packer *packer, struct kymo_chunk *const *chunks, size_t count,
                      struct kymo_packed *packed)
{
    struct kymo_encoder *e = &packer->encoder;
    size_t passed = kymo__load_relaxed(&chunks[0]->passed);
    begin_block(packer);
    for (size_t i = 0; i < count; i++) {
        size_t from = i ? 0 : passed;
        kymo__encode(e, chunks[i]->records + from, kymo__chunk_count(chunks[i]) - from);
    }
    return finish_records(packer, chunks[0], passed, count, packed);
}

int kymo__pack_part(struct kymo_packer *packer, const struct kymo_chunk *chunk, size_t end,
                    struct kymo_packed *packed)
{
    size_t passed = kymo__load_relaxed(&chunk->passed);
    begin_block(packer);
    kymo__encode(&packer->encoder, chunk->records + passed, end - passed);
    return finish_records(packer, chunk, passed, 1, packed);
}

int kymo__pack_bytes(struct kymo_packer *packer, int type, uint64_t position, const void *bytes,
                     size_t len, struct kymo_packed *packed)
{
    struct kymo_block_header header = {
        .type = (uint8_t)type,
        .encoded_bytes = (uint32_t)len,
        .thread = KYMO__NO_THREAD,
        .first_chunk = position,
    };
    return finish_block(packer, header, bytes, packed);
}

int kymo__pack_summary(struct kymo_packer *packer, const struct kymo_block_header *about,
                       const void *bytes, size_t len, struct kymo_packed *packed)
{
    struct kymo_block_header header = *about;
    header.type = KYMO__BLOCK_SUMMARY;
    header.encoded_bytes = (uint32_t)len;
    header.token_bytes = 0;
    memset(header.value_bytes, 0, sizeof(header.value_bytes));
    return finish_block(packer, header, bytes, packed);
}

bool kymo__block_valid(const struct kymo_block_header *header)
{
    struct kymo_block_header sealed = *header;
    if (header->magic != KYMO__BLOCK_MAGIC)
        return false;
    kymo__block_seal(&sealed);
    bool bytes = header->type == KYMO__BLOCK_DEFS || header->type == KYMO__BLOCK_COPY ||
                 header->type == KYMO__BLOCK_INDEX || header->type == KYMO__BLOCK_SUMMARY;
    return sealed.crc == header->crc &&
           header->encoded_bytes <= (bytes ? KYMO__PACK_BYTES : KYMO__BLOCK_BYTES_MAX) &&
           (uint64_t)header->token_bytes + kymo__value_bytes(header) <= header->encoded_bytes &&
           header->stored_bytes <= ZSTD_compressBound(KYMO__BLOCK_BYTES_MAX);
}

struct kymo_unpacker {
    ZSTD_DCtx *zstd;
};

struct kymo_unpacker *kymo__unpacker_new(void)
{
    struct kymo_unpacker *u = kymo__alloc(sizeof(*u));
    if (!u)
        return NULL;
    u->zstd = ZSTD_createDCtx();
    if (!u->zstd) {
        kymo__free(u);
        return NULL;
    }
    return u;
}

void kymo__unpacker_free(struct kymo_unpacker *unpacker)
{
    if (!unpacker)
        return;
    ZSTD_freeDCtx(unpacker->zstd);
    kymo__free(unpacker);
}

int kymo__unpack(struct kymo_unpacker *unpacker, const struct kymo_block_header *header,
                 const void *stored, struct kymo_buffer *out)
{
    out->len = 0;
    if (kymo__buffer_reserve(out, (size_t)header->encoded_bytes + 1) < 0)
        return -ENOMEM;
    size_t n = ZSTD_decompressDCtx(unpacker->zstd, out->bytes, header->encoded_bytes, stored,
                                   header->stored_bytes);
    if (ZSTD_isError(n) || n != header->encoded_bytes)
        return KYMO_EBLOCK;
    out->len = n;
    return 0;
}

int kymo__unpack_begin(struct kymo_unpacker *unpacker, const struct kymo_block_header *header,
                       const void *stored, size_t most, struct kymo_buffer *out)
{
    out->len = 0;
    if (kymo__buffer_reserve(out, most + 1) < 0)
        return -ENOMEM;
    ZSTD_inBuffer from = {stored, header->stored_bytes, 0};
    ZSTD_outBuffer to = {out->bytes, most, 0};
    ZSTD_DCtx_reset(unpacker->zstd, ZSTD_reset_session_only);
    while (to.pos < to.size) {
        size_t before = from.pos + to.pos, rc = ZSTD_decompressStream(unpacker->zstd, &to, &from);
        if (ZSTD_isError(rc) || from.pos + to.pos == before)
            return KYMO_EBLOCK;
    }
    ZSTD_DCtx_reset(unpacker->zstd, ZSTD_reset_session_only);
    out->len = to.pos;
    return 0;
}
