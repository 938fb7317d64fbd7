/* The bytes are where docs/internals/trace-format.md says. A number here that has to be
   changed is a new version of the format. */
#include "format.h"

#include "check.h"
#include "defs.h"
#include "live.h"

#define AT(type, field, offset, size)                                                              \
    do {                                                                                           \
        CHECK_EQ(offsetof(struct type, field), offset);                                            \
        CHECK_EQ(sizeof(((struct type *)0)->field), size);                                         \
    } while (0)

static void the_file_header_is_as_documented(void)
{
    CHECK_EQ(sizeof(struct kymo_file_header), 128);
    AT(kymo_file_header, magic, 0, 8);
    AT(kymo_file_header, major, 8, 2);
    AT(kymo_file_header, minor, 10, 2);
    AT(kymo_file_header, header_bytes, 12, 4);
    AT(kymo_file_header, capture, 16, 16);
    AT(kymo_file_header, pid, 32, 4);
    AT(kymo_file_header, clock, 36, 4);
    AT(kymo_file_header, process_start, 40, 8);
    AT(kymo_file_header, boot, 48, 16);
    AT(kymo_file_header, ticks_rate, 64, 8);
    AT(kymo_file_header, ticks, 72, 8);
    AT(kymo_file_header, monotonic, 80, 8);
    AT(kymo_file_header, wall, 88, 8);
    AT(kymo_file_header, reserved, 96, 28);
    AT(kymo_file_header, crc, 124, 4);
    CHECK(memcmp(KYMO__FILE_MAGIC, "\x89\x4b\x59\x4d\x4f\x0d\x0a\x1a", 8) == 0);
    CHECK_EQ(KYMO__MAJOR, 1);
    CHECK_EQ(KYMO__MINOR, 6);
}

static void a_block_header_is_as_documented(void)
{
    const uint32_t magic = KYMO__BLOCK_MAGIC;
    CHECK(memcmp(&magic, "KYBK", 4) == 0);
    CHECK_EQ(sizeof(struct kymo_block_header), 64);
    AT(kymo_block_header, magic, 0, 4);
    AT(kymo_block_header, crc, 4, 4);
    AT(kymo_block_header, type, 8, 1);
    AT(kymo_block_header, value_bytes, 9, 3);
    AT(kymo_block_header, stored_bytes, 12, 4);
    AT(kymo_block_header, encoded_bytes, 16, 4);
    AT(kymo_block_header, records, 20, 4);
    AT(kymo_block_header, thread, 24, 4);
    AT(kymo_block_header, chunks, 28, 4);
    AT(kymo_block_header, first_chunk, 32, 8);
    AT(kymo_block_header, first_ticks, 40, 8);
    AT(kymo_block_header, last_ticks, 48, 8);
    AT(kymo_block_header, token_bytes, 56, 4);
    AT(kymo_block_header, skipped, 60, 4);
    CHECK_EQ(KYMO__BLOCK_RECORDS, 1);
    CHECK_EQ(KYMO__BLOCK_DEFS, 2);
    CHECK_EQ(KYMO__BLOCK_INDEX, 3);
    CHECK_EQ(KYMO__BLOCK_COPY, 4);
    CHECK_EQ(KYMO__BLOCK_TRACK, 6);
    CHECK_EQ(KYMO__BLOCK_NOTES, 7);
    CHECK_EQ(KYMO__BLOCK_CHUNKS, 16);
    CHECK_EQ(KYMO__BLOCK_BYTES_MAX, 2880768);
}

static void index_and_footer_are_as_documented(void)
{
    CHECK_EQ(sizeof(struct kymo_index_entry), 72);
    AT(kymo_index_entry, offset, 0, 8);
    AT(kymo_index_entry, header, 8, 64);
    CHECK_EQ(KYMO__INDEX_ENTRIES, 4096);
    CHECK_EQ(sizeof(struct kymo_footer), 32);
    AT(kymo_footer, magic, 0, 8);
    AT(kymo_footer, index_offset, 8, 8);
    AT(kymo_footer, index_blocks, 16, 4);
    AT(kymo_footer, error, 20, 4);
    AT(kymo_footer, crc, 28, 4);
    CHECK(memcmp(KYMO__FOOTER_MAGIC, "KYMOEND\n", 8) == 0);
}

static void records_and_tokens_are_as_documented(void)
{
    AT(kymo_record, ticks, 0, 8);
    AT(kymo_record, word, 8, 8);
    CHECK_EQ(kymo_word(0xab, 0xcd, 0x12345678), 0xabcd000012345678);
    CHECK_EQ(KYMO_VALUE_WORD, kymo_word(KYMO__VALUE, 0, 0));
    const int kinds[] = {
        KYMO_ENTER,       KYMO_LEAVE,     KYMO_INSTANT,  KYMO_COUNTER,  KYMO_FLOW_OUT, KYMO_FLOW_IN,
        KYMO_ASYNC_BEGIN, KYMO_ASYNC_END, KYMO_GAP,      KYMO_COMPLETE, KYMO_ARG,      KYMO_OFF,
        KYMO_RESYNC,      KYMO_SAMPLE,    KYMO_ARG_TEXT, KYMO_PAYLOAD,  KYMO__NOTE};
    for (int i = 0; i < 17; i++)
        CHECK_EQ(kinds[i], i + 1);
    CHECK_EQ(KYMO__VALUE, 64);
    CHECK_EQ(KYMO__BYTES, 65);
    CHECK_EQ(KYMO__MORE, 66);
    CHECK_EQ(KYMO__TRACK, 67);
    CHECK_EQ(KYMO_HAS_ID, 128);
    const int tokens[] = {KYMO__T_ENTER, KYMO__T_LEAVE, KYMO__T_ENTER_DETAIL, KYMO__T_LEAVE_KEY,
                          KYMO__T_OTHER, KYMO__T_VALUE, KYMO__T_DOUBLE,       KYMO__T_BACK};
    for (int i = 0; i < 8; i++)
        CHECK_EQ(tokens[i], i);
    CHECK_EQ(KYMO__TOKEN_MAX, 24);
    CHECK_EQ(KYMO__TIME_MAX, 20);
    const int types[] = {KYMO__DEF_STRING, KYMO__DEF_MORE,        KYMO__DEF_KEY,
                         KYMO__DEF_THREAD, KYMO__DEF_THREAD_NAME, KYMO__DEF_THREAD_END,
                         KYMO__DEF_META,   KYMO__DEF_CLOCK,       KYMO__DEF_GAP};
    for (int i = 0; i < 9; i++)
        CHECK_EQ(types[i], i + 1);
    CHECK_EQ(KYMO__DEF_TEXT, 16384);
}

static void the_live_file_is_as_documented(void)
{
    AT(kymo_live_header, magic, 0, 8);
    AT(kymo_live_header, major, 8, 2);
    AT(kymo_live_header, minor, 10, 2);
    AT(kymo_live_header, header_bytes, 12, 4);
    AT(kymo_live_header, capture, 16, 16);
    AT(kymo_live_header, chunk_bytes, 32, 4);
    AT(kymo_live_header, chunks, 36, 4);
    AT(kymo_live_header, gap_slots, 40, 4);
    AT(kymo_live_header, error, 44, 4);
    AT(kymo_live_header, gap_offset, 48, 8);
    AT(kymo_live_header, chunk_offset, 56, 8);
    AT(kymo_live_header, stopped, 64, 4);
    AT(kymo_live_header, flight, 68, 4);
    AT(kymo_live_header, ring_records, 72, 8);
    CHECK(memcmp(KYMO__LIVE_MAGIC, "\x89\x4b\x59\x4c\x56\x0d\x0a\x1a", 8) == 0);
    CHECK_EQ(sizeof(struct kymo_gap_slot), 32);
    AT(kymo_gap_slot, thread, 0, 4);
    AT(kymo_gap_slot, reason, 4, 4);
    AT(kymo_gap_slot, count, 8, 8);
    AT(kymo_gap_slot, first_ticks, 16, 8);
    AT(kymo_gap_slot, last_ticks, 24, 8);
    CHECK_EQ(KYMO__GAP_SLOTS, 2048);
    CHECK_EQ(KYMO__EXPIRED_SLOTS, 512);
    CHECK_EQ(KYMO__GAP_SLOTS_BRIEF, 240);
    CHECK_EQ(KYMO__EXPIRED_SLOTS_BRIEF, 16);
    CHECK_EQ(sizeof(struct kymo_chunk), 65536);
    AT(kymo_chunk, state, 0, 4);
    AT(kymo_chunk, type, 4, 4);
    AT(kymo_chunk, thread, 8, 4);
    AT(kymo_chunk, used, 12, 4);
    AT(kymo_chunk, number, 16, 8);
    AT(kymo_chunk, next, 24, 4);
    AT(kymo_chunk, passed, 28, 4);
    AT(kymo_chunk, records, 64, 65472);
    CHECK_EQ(KYMO__CHUNK_RECORDS, 4092);
}

static const struct check_case cases[] = {
    CHECK_CASE(the_file_header_is_as_documented),
    CHECK_CASE(a_block_header_is_as_documented),
    CHECK_CASE(index_and_footer_are_as_documented),
    CHECK_CASE(records_and_tokens_are_as_documented),
    CHECK_CASE(the_live_file_is_as_documented),
};
CHECK_MAIN(cases)
