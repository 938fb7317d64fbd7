/* block.c — see block.h. */
#include "block.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "alloc.h"
#include "atomic.h"
#include "crc32c.h"

/* Both columns are written at full speed without looking at their ends, so each has
   room for the worst block there can be. Pages that are not reached cost nothing. */
#define TOKENS_BYTES ((size_t)KYMO__BLOCK_RECORDS_MAX * KYMO__TOKEN_MAX)
#define TIMES_BYTES ((size_t)KYMO__BLOCK_RECORDS_MAX * KYMO__TIME_MAX)

struct kymo_packer {
    ZSTD_CCtx *zstd;
    uint8_t *encoded; /* tokens, after them the times once they are known */
    uint8_t *times;
    uint8_t *out;
    size_t out_size;
    struct kymo_encoder encoder;
};

struct kymo_packer *kymo__packer_new(int level)
{
    struct kymo_packer *p = kymo__alloc_zeroed(sizeof(*p));
    if (!p)
        return NULL;
    p->out_size = sizeof(struct kymo_block_header) + ZSTD_compressBound(KYMO__BLOCK_BYTES_MAX) + 8;
    p->zstd = ZSTD_createCCtx();
    p->encoded = kymo__alloc(TOKENS_BYTES + TIMES_BYTES);
    p->times = kymo__alloc(TIMES_BYTES);
    p->out = kymo__alloc(p->out_size);
    if (!p->zstd || !p->encoded || !p->times || !p->out ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1))) {
        kymo__packer_free(p);
        return NULL;
    }
    return p;
}

void kymo__packer_free(struct kymo_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->zstd);
    kymo__free(packer->encoded);
    kymo__free(packer->times);
    kymo__free(packer->out);
    kymo__free(packer);
}

void kymo__block_seal(struct kymo_block_header *header)
{
    header->crc =
        kymo__crc32c(&header->type, sizeof(*header) - offsetof(struct kymo_block_header, type));
}

/* Compress BYTES behind HEADER, which has everything but the stored length. */
static int finish(struct kymo_packer *p, struct kymo_block_header header, const void *bytes,
                  struct kymo_packed *packed)
{
    uint8_t *payload = p->out + sizeof(header);
    size_t stored = ZSTD_compress2(p->zstd, payload, p->out_size - sizeof(header) - 8, bytes,
                                   header.encoded_bytes);
    if (ZSTD_isError(stored))
        return -EIO;
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

/* Compress what has been encoded of COUNT chunks from FIRST on, without PASSED records at
   its beginning. */
static int finish_records(struct kymo_packer *p, const struct kymo_chunk *first, size_t passed,
                          size_t count, struct kymo_packed *packed)
{
    const struct kymo_encoder *e = &p->encoder;
    size_t tokens = (size_t)(e->tokens - p->encoded), times = (size_t)(e->times - p->times);
    memcpy(e->tokens, p->times, times);
    struct kymo_block_header header = {
        .type = KYMO__BLOCK_RECORDS,
        .encoded_bytes = (uint32_t)(tokens + times),
        .records = e->records,
        .thread = first->thread,
        .chunks = (uint32_t)count,
        .first_chunk = first->number,
        .first_ticks = e->first_ticks,
        .last_ticks = e->last_ticks,
        .token_bytes = (uint32_t)tokens,
        .skipped = kymo__count_events(first->records, passed),
    };
    return finish(p, header, p->encoded, packed);
}

int kymo__pack_chunks(struct kymo_packer *packer, struct kymo_chunk *const *chunks, size_t count,
                      struct kymo_packed *packed)
{
    struct kymo_encoder *e = &packer->encoder;
    size_t passed = kymo__load_relaxed(&chunks[0]->passed);
    kymo__encode_begin(e, packer->encoded, packer->times);
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
    kymo__encode_begin(&packer->encoder, packer->encoded, packer->times);
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
    return finish(packer, header, bytes, packed);
}

bool kymo__block_valid(const struct kymo_block_header *header)
{
    struct kymo_block_header sealed = *header;
    if (header->magic != KYMO__BLOCK_MAGIC)
        return false;
    kymo__block_seal(&sealed);
    bool bytes = header->type == KYMO__BLOCK_DEFS || header->type == KYMO__BLOCK_COPY ||
                 header->type == KYMO__BLOCK_INDEX;
    return sealed.crc == header->crc &&
           header->encoded_bytes <= (bytes ? KYMO__PACK_BYTES : KYMO__BLOCK_BYTES_MAX) &&
           header->token_bytes <= header->encoded_bytes &&
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
        return -KYMO_EBLOCK;
    out->len = n;
    return 0;
}
