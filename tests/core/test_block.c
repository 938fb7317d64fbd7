/* A block gives back what was packed, and notices every bit that is not as it was. */
#include "block.h"

#include "alloc.h"
#include "check.h"
#include "decode.h"
#include "random.h"

static struct kymo_chunk *chunk_new(uint64_t number, size_t records, uint64_t *state)
{
    struct kymo_chunk *chunk = calloc(1, sizeof(*chunk));
    static uint64_t ticks = 1000000;
    chunk->thread = 7;
    chunk->number = number;
    for (size_t i = 0; i < records; i++) {
        ticks += random_next(state) % 1000;
        chunk->records[i] =
            (struct kymo_record){ticks, kymo_word(KYMO_ENTER + (unsigned)(i & 1), 0,
                                                  (uint32_t)(random_next(state) % 50))};
    }
    return chunk;
}

/* Pack COUNT chunks, unpack and decode them, and compare. */
static void comes_back(struct kymo_packer *packer, struct kymo_chunk **chunks, size_t count)
{
    static struct kymo_decoder decoder;
    struct kymo_unpacker *unpacker = kymo__unpacker_new();
    struct kymo_buffer out = {0};
    struct kymo_packed packed;
    CHECK_EQ(kymo__pack_chunks(packer, chunks, count, &packed), 0);
    const struct kymo_block_header *h = packed.header;
    CHECK(kymo__block_valid(h));
    CHECK_EQ(h->type, KYMO__BLOCK_RECORDS);
    CHECK_EQ(h->thread, 7);
    CHECK_EQ(h->chunks, count);
    CHECK_EQ(h->first_chunk, chunks[0]->number);
    CHECK_EQ(packed.len, kymo__block_bytes(h));
    CHECK_EQ(packed.len % 8, 0);
    for (size_t i = sizeof(*h) + h->stored_bytes; i < packed.len; i++)
        CHECK_EQ(packed.bytes[i], 0);
    CHECK_EQ(kymo__unpack(unpacker, h, h + 1, &out), 0);
    CHECK_EQ(out.len, h->encoded_bytes);
    kymo__decode_block(&decoder, h, out.bytes, out.len);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < kymo__chunk_count(chunks[c]); i++) {
            struct kymo_record record;
            CHECK_EQ(kymo__decode(&decoder, &record, 1), 1);
            CHECK_EQ(record.ticks, chunks[c]->records[i].ticks);
            CHECK_EQ(record.word, chunks[c]->records[i].word);
            CHECK(kymo__word_kind(record.word) == KYMO__VALUE ||
                  (h->first_ticks <= record.ticks && record.ticks <= h->last_ticks));
        }
    struct kymo_record none;
    CHECK_EQ(kymo__decode(&decoder, &none, 1), 0);
    kymo__buffer_fini(&out);
    kymo__unpacker_free(unpacker);
}

static void chunks_round_trip(void)
{
    uint64_t state = 1;
    struct kymo_packer *packer = kymo__packer_new(1);
    struct kymo_chunk *chunks[KYMO__BLOCK_CHUNKS];
    for (size_t i = 0; i < KYMO__BLOCK_CHUNKS; i++)
        chunks[i] = chunk_new(40 + i, i % 5 ? KYMO__CHUNK_RECORDS : 3 * i, &state);
    for (size_t count = 1; count <= KYMO__BLOCK_CHUNKS; count++)
        comes_back(packer, chunks, count);
    for (size_t i = 0; i < KYMO__BLOCK_CHUNKS; i++)
        free(chunks[i]);
    kymo__packer_free(packer);
}

static void every_level_of_compression_can_be_read(void)
{
    uint64_t state = 2;
    struct kymo_chunk *chunk = chunk_new(0, 500, &state);
    for (int level = 1; level <= 19; level++) {
        struct kymo_packer *packer = kymo__packer_new(level);
        comes_back(packer, &chunk, 1);
        kymo__packer_free(packer);
    }
    free(chunk);
}

static void the_worst_block_there_can_be_fits(void)
{
    uint64_t state = 3;
    struct kymo_packer *packer = kymo__packer_new(1);
    struct kymo_chunk *chunks[KYMO__BLOCK_CHUNKS];
    for (size_t c = 0; c < KYMO__BLOCK_CHUNKS; c++) {
        chunks[c] = calloc(1, sizeof(*chunks[c]));
        chunks[c]->thread = 7;
        chunks[c]->number = c;
        for (size_t i = 0; i < KYMO__CHUNK_RECORDS; i++) {
            /* Every other one goes back by nearly all there is. */
            uint64_t ticks = i & 1 ? random_next(&state) >> 8 : ~(random_next(&state) >> 8);
            unsigned kind = i % 3 ? 255 : KYMO__VALUE;
            chunks[c]->records[i] = (struct kymo_record){
                ticks, kind == KYMO__VALUE ? KYMO_VALUE_WORD
                                           : kymo_word(kind, 255, ~(uint32_t)(i & 0xff))};
        }
    }
    comes_back(packer, chunks, KYMO__BLOCK_CHUNKS);
    for (size_t c = 0; c < KYMO__BLOCK_CHUNKS; c++)
        free(chunks[c]);
    kymo__packer_free(packer);
}

static void bytes_of_any_length_come_back(void)
{
    /* Those up to a kilobyte are stored as they are, in a frame that has to be right. */
    enum { SMALL = 1100 };
    const size_t large[] = {4096, 65472, KYMO__PACK_BYTES};
    uint64_t state = 4;
    struct kymo_packer *packer = kymo__packer_new(1);
    struct kymo_unpacker *unpacker = kymo__unpacker_new();
    struct kymo_buffer out = {0};
    uint8_t *bytes = malloc(KYMO__PACK_BYTES);
    for (size_t i = 0; i < KYMO__PACK_BYTES; i++)
        bytes[i] = (uint8_t)random_next(&state);
    for (size_t i = 0; i < SMALL + sizeof(large) / sizeof(large[0]); i++) {
        size_t length = i < SMALL ? i : large[i - SMALL];
        struct kymo_packed packed;
        CHECK_EQ(kymo__pack_bytes(packer, KYMO__BLOCK_DEFS, 12345, bytes, length, &packed), 0);
        CHECK(kymo__block_valid(packed.header));
        CHECK_EQ(packed.header->type, KYMO__BLOCK_DEFS);
        CHECK_EQ(packed.header->first_chunk, 12345);
        CHECK_EQ(packed.header->thread, KYMO__NO_THREAD);
        CHECK_EQ(kymo__unpack(unpacker, packed.header, packed.header + 1, &out), 0);
        CHECK_EQ(out.len, length);
        CHECK(memcmp(out.bytes, bytes, out.len) == 0);
    }
    free(bytes);
    kymo__buffer_fini(&out);
    kymo__unpacker_free(unpacker);
    kymo__packer_free(packer);
}

static void every_flipped_bit_of_a_header_is_noticed(void)
{
    uint64_t state = 5;
    struct kymo_packer *packer = kymo__packer_new(1);
    struct kymo_chunk *chunk = chunk_new(0, 100, &state);
    struct kymo_packed packed;
    CHECK_EQ(kymo__pack_chunks(packer, &chunk, 1, &packed), 0);
    struct kymo_block_header header = *packed.header;
    uint8_t *bytes = (uint8_t *)&header;
    for (unsigned bit = 0; bit < 8 * sizeof(header); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (kymo__block_valid(&header))
            CHECK_FAIL("bit %u of byte %u may be flipped", bit % 8, bit / 8);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(kymo__block_valid(&header));
    free(chunk);
    kymo__packer_free(packer);
}

static void flip_bits(size_t records)
{
    uint64_t state = 6;
    struct kymo_packer *packer = kymo__packer_new(1);
    struct kymo_unpacker *unpacker = kymo__unpacker_new();
    struct kymo_chunk *chunk = chunk_new(0, records, &state);
    struct kymo_buffer right = {0}, out = {0};
    struct kymo_packed packed;
    CHECK_EQ(kymo__pack_chunks(packer, &chunk, 1, &packed), 0);
    size_t len = packed.header->stored_bytes;
    uint8_t *stored = malloc(len);
    memcpy(stored, packed.header + 1, len);
    CHECK_EQ(kymo__unpack(unpacker, packed.header, stored, &right), 0);
    unsigned harmless = 0;
    for (size_t bit = 0; bit < 8 * len; bit++) {
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int rc = kymo__unpack(unpacker, packed.header, stored, &out);
        if (rc == 0) {
            /* A few bits mean nothing: one of a frame's header, padding of its tables. */
            CHECK_EQ(out.len, right.len);
            CHECK(memcmp(out.bytes, right.bytes, out.len) == 0);
            harmless++;
        } else {
            CHECK_EQ(rc, KYMO_EBLOCK);
        }
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_LE(harmless, 16);
    free(stored);
    free(chunk);
    kymo__buffer_fini(&right);
    kymo__buffer_fini(&out);
    kymo__unpacker_free(unpacker);
    kymo__packer_free(packer);
}

static void every_flipped_bit_of_a_payload_is_noticed_or_changes_nothing(void)
{
    flip_bits(400); /* compressed */
    flip_bits(40);  /* stored as it is */
}

static void a_header_with_sizes_no_writer_writes_is_not_valid(void)
{
    struct kymo_block_header good = {.magic = KYMO__BLOCK_MAGIC,
                                     .type = KYMO__BLOCK_RECORDS,
                                     .stored_bytes = 100,
                                     .encoded_bytes = KYMO__BLOCK_BYTES_MAX,
                                     .token_bytes = KYMO__BLOCK_BYTES_MAX};
    kymo__block_seal(&good);
    CHECK(kymo__block_valid(&good));
    struct kymo_block_header bad = good;
    bad.encoded_bytes++;
    kymo__block_seal(&bad);
    CHECK(!kymo__block_valid(&bad));
    bad = good;
    bad.encoded_bytes--;
    kymo__block_seal(&bad);
    CHECK(!kymo__block_valid(&bad)); /* more tokens than there are bytes */
    bad = good;
    bad.stored_bytes = UINT32_MAX;
    kymo__block_seal(&bad);
    CHECK(!kymo__block_valid(&bad));
    bad = good;
    bad.type = KYMO__BLOCK_DEFS;
    kymo__block_seal(&bad);
    CHECK(!kymo__block_valid(&bad)); /* definitions and indexes are shorter */
    bad.type = 200;
    kymo__block_seal(&bad);
    CHECK(kymo__block_valid(&bad)); /* a reader skips what it does not know */
}

static void a_payload_of_another_length_is_damaged(void)
{
    struct kymo_packer *packer = kymo__packer_new(1);
    struct kymo_unpacker *unpacker = kymo__unpacker_new();
    struct kymo_buffer out = {0};
    struct kymo_packed packed;
    CHECK_EQ(kymo__pack_bytes(packer, KYMO__BLOCK_DEFS, 0, "some definitions", 16, &packed), 0);
    const struct kymo_block_header right = *packed.header;
    struct kymo_block_header header = right;
    for (int delta = -1; delta <= 1; delta += 2) {
        header.encoded_bytes = right.encoded_bytes + (unsigned)delta;
        CHECK_EQ(kymo__unpack(unpacker, &header, packed.header + 1, &out), KYMO_EBLOCK);
    }
    header = right;
    for (header.stored_bytes = 0; header.stored_bytes < right.stored_bytes; header.stored_bytes++) {
        uint8_t *stored = malloc(header.stored_bytes + !header.stored_bytes);
        memcpy(stored, packed.header + 1, header.stored_bytes);
        CHECK_EQ(kymo__unpack(unpacker, &header, stored, &out), KYMO_EBLOCK);
        free(stored);
    }
    kymo__buffer_fini(&out);
    kymo__unpacker_free(unpacker);
    kymo__packer_free(packer);
}

static void without_memory_there_is_no_packer(void)
{
    for (long n = 0; n < 4; n++) {
        kymo__alloc_fail_after(n);
        struct kymo_packer *packer = kymo__packer_new(1);
        kymo__alloc_fail_after(-1);
        CHECK(packer == NULL);
    }
    kymo__packer_free(NULL);
    kymo__alloc_fail_after(0);
    struct kymo_unpacker *unpacker = kymo__unpacker_new();
    kymo__alloc_fail_after(-1);
    CHECK(unpacker == NULL);
    kymo__unpacker_free(NULL);
}

static const struct check_case cases[] = {
    CHECK_CASE(chunks_round_trip),
    CHECK_CASE(every_level_of_compression_can_be_read),
    CHECK_CASE(the_worst_block_there_can_be_fits),
    CHECK_CASE(bytes_of_any_length_come_back),
    CHECK_CASE(every_flipped_bit_of_a_header_is_noticed),
    CHECK_CASE(every_flipped_bit_of_a_payload_is_noticed_or_changes_nothing),
    CHECK_CASE(a_header_with_sizes_no_writer_writes_is_not_valid),
    CHECK_CASE(a_payload_of_another_length_is_damaged),
    CHECK_CASE(without_memory_there_is_no_packer),
};
CHECK_MAIN(cases)
