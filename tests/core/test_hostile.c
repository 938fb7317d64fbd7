/* Small files that claim great things cost a reader little memory and time, and what is
   right in them is still read. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>

#include "block.h"
#include "check.h"
#include "crc32c.h"
#include "defs.h"

/* ---- building a file ---- */

static struct kymo_packer *packer;
static int fd;
static uint64_t end, stream; /* of the file, of the definitions */
static const char *path;
static const uint8_t id[16] = "hostile capture";

static void append(const void *bytes, size_t len)
{
    CHECK_EQ(pwrite(fd, bytes, len, (off_t)end), (ssize_t)len);
    end += len;
}

static void begin(const char *name)
{
    struct kymo_file_header header = {.major = KYMO__MAJOR, .header_bytes = sizeof(header)};
    memcpy(header.magic, KYMO__FILE_MAGIC, sizeof(header.magic));
    memcpy(header.capture, id, sizeof(header.capture));
    header.crc = kymo__crc32c(&header, offsetof(struct kymo_file_header, crc));
    path = check_path(name);
    packer = packer ? packer : kymo__packer_new(1);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0);
    end = stream = 0;
    append(&header, sizeof(header));
}

static void append_bytes(int type, uint64_t position, const void *bytes, size_t len)
{
    struct kymo_packed packed;
    CHECK_OK(kymo__pack_bytes(packer, type, position, bytes, len, &packed));
    append(packed.bytes, packed.len);
}

static void append_footer(uint64_t index_offset, uint32_t index_blocks)
{
    struct kymo_footer footer = {.index_offset = index_offset, .index_blocks = index_blocks};
    memcpy(footer.magic, KYMO__FOOTER_MAGIC, sizeof(footer.magic));
    footer.crc = kymo__crc32c(&footer, offsetof(struct kymo_footer, crc));
    append(&footer, sizeof(footer));
}

/* Definitions of TYPE whose numbers are all N, COUNT times, each time STEP greater. */
static void append_defs(int type, uint64_t n, uint64_t step, unsigned count)
{
    uint8_t *bytes = malloc((size_t)count * 80), *at = bytes;
    for (unsigned i = 0; i < count; i++, n += step) {
        struct kymo_def def = {.type = type, .number = {n, n, n, n, n, n}};
        at = kymo__def_put(at, &def);
    }
    append_bytes(KYMO__BLOCK_DEFS, stream, bytes, (size_t)(at - bytes));
    stream += (uint64_t)(at - bytes);
    free(bytes);
}

/* One instant of thread 0, in a block: its chunk NUMBER. */
static void append_chunk(uint64_t number)
{
    struct kymo_chunk *chunk = calloc(1, sizeof(*chunk));
    struct kymo_packed packed;
    chunk->number = number;
    chunk->records[0] = (struct kymo_record){5, kymo_word(KYMO_INSTANT, 0, 1)};
    CHECK_OK(kymo__pack_chunks(packer, &chunk, 1, &packed));
    append(packed.bytes, packed.len);
    free(chunk);
}

static void append_instant(void)
{
    append_chunk(0);
}

/* ---- reading it ---- */

static size_t heap(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* Open, read everything, close; EVENTS there are, or at least one if that is negative.
   At no time is more than 32 MiB used. */
static struct kymo_info reads(int64_t events)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_info info = {.size = sizeof(info)};
    struct kymo_event event = {.size = sizeof(event)};
    close(fd);
    size_t before = heap();
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    CHECK_LE(heap() - before, 32 << 20);
    int64_t count = 0;
    while (kymo_cursor_next(cursor, &event) > 0)
        count += event.kind != KYMO_GAP;
    CHECK_LE(1, count);
    if (events >= 0)
        CHECK_EQ(count, events);
    kymo_cursor_free(cursor);
    CHECK_OK(kymo_capture_verify(capture));
    CHECK_OK(kymo_capture_info(capture, &info));
    CHECK_LE(heap() - before, 32 << 20);
    kymo_close(capture);
    return info;
}

static void ids_that_no_recorder_gives_cost_nothing(void)
{
    const int types[] = {KYMO__DEF_STRING, KYMO__DEF_MORE,        KYMO__DEF_KEY,
                         KYMO__DEF_THREAD, KYMO__DEF_THREAD_NAME, KYMO__DEF_THREAD_END,
                         KYMO__DEF_GAP};
    begin("ids");
    append_instant();
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        append_defs(types[i], 1000000, 1000000, 200);
        append_defs(types[i], UINT32_MAX - 1, 1, 4);
        append_defs(types[i], UINT64_MAX - 3, 1, 4);
    }
    struct kymo_info info = reads(1);
    CHECK_EQ(info.threads, 1);
    CHECK_EQ(info.gaps, 0);
}

static void a_flood_of_small_definitions_costs_in_proportion(void)
{
    enum { EACH = KYMO__PACK_BYTES / 80 };
    begin("flood");
    append_instant();
    for (int i = 0; i < 4; i++) {
        append_defs(KYMO__DEF_META, 1, 0, EACH);
        append_defs(KYMO__DEF_STRING, 1, 0, EACH);
        append_defs(KYMO__DEF_MORE, 2, 0, EACH);
        append_defs(KYMO__DEF_CLOCK, 3, 0, EACH);
        append_defs(KYMO__DEF_GAP, 0, 0, EACH);
    }
    CHECK_EQ(reads(1).gaps, 4 * EACH);
}

static void a_block_of_an_impossible_thread_is_damaged(void)
{
    struct kymo_chunk *chunk = calloc(1, sizeof(*chunk));
    begin("thread");
    append_instant();
    chunk->records[0] = (struct kymo_record){5, kymo_word(KYMO_INSTANT, 0, 1)};
    for (uint32_t i = 1; i < 100; i++) {
        struct kymo_packed packed;
        chunk->thread = i * 1000000;
        CHECK_OK(kymo__pack_chunks(packer, &chunk, 1, &packed));
        append(packed.bytes, packed.len);
    }
    free(chunk);
    struct kymo_info info = reads(1);
    CHECK_EQ(info.threads, 1);
    CHECK_EQ(info.damaged_blocks, 99);
}

static void a_header_that_claims_the_greatest_payload_is_damaged(void)
{
    struct kymo_block_header header = {.magic = KYMO__BLOCK_MAGIC,
                                       .type = KYMO__BLOCK_RECORDS,
                                       .stored_bytes = 64,
                                       .encoded_bytes = KYMO__BLOCK_BYTES_MAX,
                                       .records = UINT32_MAX,
                                       .chunks = UINT32_MAX,
                                       .token_bytes = KYMO__BLOCK_BYTES_MAX};
    const uint8_t payload[64] = {0};
    begin("payload");
    append_instant();
    for (int i = 0; i < 10; i++) {
        header.first_chunk = 10 + (uint64_t)i * UINT32_MAX;
        kymo__block_seal(&header);
        append(&header, sizeof(header));
        append(payload, sizeof(payload));
    }
    CHECK_EQ(reads(1).damaged_blocks, 10);
}

static void an_index_longer_than_its_file_is_not_believed(void)
{
    struct kymo_index_entry *entries = calloc(KYMO__INDEX_ENTRIES, sizeof(*entries));
    begin("index");
    append_instant();
    uint64_t index = end;
    for (unsigned i = 0; i < KYMO__INDEX_ENTRIES; i++)
        entries[i].offset = sizeof(struct kymo_file_header);
    for (int i = 0; i < 100; i++)
        append_bytes(KYMO__BLOCK_INDEX, (uint64_t)i, entries, KYMO__PACK_BYTES);
    append_footer(index, 100);
    free(entries);
    CHECK_EQ(reads(1).indexed, 0);
}

static void a_footer_that_points_anywhere_is_survived(void)
{
    const uint64_t offsets[] = {0, 64, 128, 1000, 1 << 20, INT64_MAX, UINT64_MAX, UINT64_MAX - 31};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        begin("footer");
        append_instant();
        append_footer(offsets[i], i & 1 ? UINT32_MAX : 1);
        struct kymo_info info = reads(1);
        CHECK_EQ(info.indexed, 0);
        CHECK_EQ(info.ending, KYMO_ENDED_CLEAN); /* the footer says so */
    }
}

static void a_block_is_found_after_any_amount_of_garbage(void)
{
    const size_t lengths[] = {8, 64, 65472, 65480, 65528, 65536, 65544, 131008, 131072, 200000};
    uint8_t *rubbish = malloc(200000);
    for (size_t i = 0; i < 200000; i++)
        rubbish[i] = "KYBK"[i % 4]; /* the magic, over and over */
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        begin("rubbish");
        append_instant();
        append(rubbish, lengths[i]);
        append_chunk(1);
        struct kymo_info info = reads(2);
        CHECK_EQ(info.damaged_bytes, lengths[i]);
        CHECK_EQ(info.damaged_blocks, 1);
    }
    free(rubbish);
}

static void the_end_of_an_unfinished_file_is_not_taken_for_a_footer(void)
{
    begin("unfinished");
    append_instant();
    uint8_t rest[32];
    memset(rest, 0x11, sizeof(rest));
    append(rest, sizeof(rest));
    struct kymo_info info = reads(1);
    CHECK_EQ(info.ending, KYMO_ENDED_KILLED);
    CHECK_EQ(info.error, 0);
}

static void clock_readings_of_all_sizes_are_survived(void)
{
    begin("clock");
    append_instant();
    for (unsigned shift = 0; shift < 64; shift++)
        append_defs(KYMO__DEF_CLOCK, UINT64_C(1) << shift, UINT64_C(1) << (63 - shift), 3);
    append_defs(KYMO__DEF_CLOCK, UINT64_MAX, 1, 2);
    reads(1);
}

static void a_live_file_that_claims_anything_is_survived(void)
{
    const uint64_t offsets[] = {0, 1, 64, 4096, INT64_MAX, UINT64_MAX, UINT64_MAX - 65535};
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
        for (int small = 0; small < 2; small++) {
            struct kymo_live_header live = {.major = KYMO__MAJOR,
                                            .chunk_bytes = KYMO__CHUNK_BYTES,
                                            .chunks = UINT32_MAX,
                                            .gap_slots = UINT32_MAX,
                                            .gap_offset = offsets[i],
                                            .chunk_offset = offsets[i]};
            char live_path[600];
            begin("live");
            append_instant();
            memcpy(live.magic, KYMO__LIVE_MAGIC, sizeof(live.magic));
            memcpy(live.capture, id, sizeof(live.capture));
            snprintf(live_path, sizeof(live_path), "%s.live", path);
            FILE *f = fopen(live_path, "wb");
            CHECK(f != NULL);
            fwrite(&live, 1, sizeof(live), f);
            for (int k = 0; !small && k < 4 * (int)KYMO__CHUNK_BYTES / 32; k++)
                fwrite(&live, 1, 32, f);
            fclose(f);
            reads(small ? 1 : -1);
            unlink(live_path);
        }
}

static void something_else_in_the_live_files_place_is_ignored(void)
{
    char live_path[600];
    begin("else");
    append_instant();
    snprintf(live_path, sizeof(live_path), "%s.live", path);
    CHECK_EQ(mkdir(live_path, 0777), 0);
    CHECK_EQ(reads(1).live_bytes, 0);
    CHECK_EQ(rmdir(live_path), 0);
    fd = -1;
    CHECK_EQ(mkfifo(live_path, 0666), 0);
    CHECK_EQ(reads(1).live_bytes, 0);
}

static void a_path_that_leaves_no_room_for_the_live_files_name_is_read(void)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    begin(name);
    append_instant();
    reads(1);
}

/* Ten million definitions that compress to a few kilobytes. */
static void endlessly_expanding_definitions_are_refused(void)
{
    const int types[] = {KYMO__DEF_CLOCK, KYMO__DEF_GAP, KYMO__DEF_FRAME};
    for (int type = 0; type < 3; type++) {
        struct kymo_capture *capture;
        begin("bomb.kymo");
        for (int i = 0; i < 2000; i++)
            append_defs(types[type], 1, 0, 5000);
        struct mallinfo2 before = mallinfo2();
        CHECK_EQ(kymo_open(path, &capture), KYMO_EEXPANDS);
        CHECK_LE(mallinfo2().uordblks, before.uordblks + 4096);
        close(fd);
    }
}

/* Nodes that take a byte each, before they are compressed. */
static void endlessly_many_nodes_in_one_definition_are_refused(void)
{
    enum { EACH = 15000, DEFINITIONS = 16, BLOCKS = 14 };
    static uint8_t frames[EACH], bytes[DEFINITIONS * (EACH + 100)];
    struct kymo_capture *capture;
    memset(frames, 1, sizeof(frames));
    begin("nodes.kymo");
    for (int block = 0; block < BLOCKS; block++) {
        uint8_t *at = bytes;
        for (uint64_t i = 0; i < DEFINITIONS; i++)
            at = kymo__def_put(at, &(struct kymo_def){.type = KYMO__DEF_NODE,
                                                      .number = {i * EACH + 1, 0, 1},
                                                      .text = frames,
                                                      .text_len = EACH});
        append_bytes(KYMO__BLOCK_DEFS, stream, bytes, (size_t)(at - bytes));
        stream += (uint64_t)(at - bytes);
    }
    CHECK_LE(stream, 4 << 20); /* half of what is allowed for bytes */
    CHECK_EQ(kymo_open(path, &capture), KYMO_EEXPANDS);
    close(fd);
}

/* Calls in calls in calls: a byte of the file for thousands. */
static void endlessly_nested_calls_are_refused(void)
{
    struct kymo_capture *capture;
    struct kymo_chunk *chunk = calloc(1, sizeof(*chunk)), *chunks[KYMO__BLOCK_CHUNKS];
    begin("nested.kymo");
    chunk->type = KYMO__BLOCK_RECORDS;
    for (size_t i = 0; i < KYMO__CHUNK_RECORDS; i++)
        chunk->records[i] = (struct kymo_record){i + 1, kymo_word(KYMO_ENTER, 0, 1)};
    for (size_t i = 0; i < KYMO__BLOCK_CHUNKS; i++)
        chunks[i] = chunk;
    for (int i = 0; i < 40; i++) {
        struct kymo_packed packed;
        CHECK_OK(kymo__pack_chunks(packer, chunks, KYMO__BLOCK_CHUNKS, &packed));
        append(packed.bytes, packed.len);
        chunk->number += KYMO__BLOCK_CHUNKS;
    }
    free(chunk);
    CHECK_OK(kymo_open(path, &capture));
    CHECK_EQ(kymo_export(capture, check_path("nested.json"),
                         &(struct kymo_export_options){.size = sizeof(struct kymo_export_options),
                                                       .format = "chrome",
                                                       .to = INT64_MAX,
                                                       .thread = -1}),
             KYMO_EEXPANDS);
    kymo_close(capture);
    close(fd);
}

static const struct check_case cases[] = {
    CHECK_CASE(endlessly_expanding_definitions_are_refused),
    CHECK_CASE(endlessly_many_nodes_in_one_definition_are_refused),
    CHECK_CASE(endlessly_nested_calls_are_refused),
    CHECK_CASE(ids_that_no_recorder_gives_cost_nothing),
    CHECK_CASE(a_flood_of_small_definitions_costs_in_proportion),
    CHECK_CASE(a_block_of_an_impossible_thread_is_damaged),
    CHECK_CASE(a_header_that_claims_the_greatest_payload_is_damaged),
    CHECK_CASE(an_index_longer_than_its_file_is_not_believed),
    CHECK_CASE(a_footer_that_points_anywhere_is_survived),
    CHECK_CASE(a_block_is_found_after_any_amount_of_garbage),
    CHECK_CASE(the_end_of_an_unfinished_file_is_not_taken_for_a_footer),
    CHECK_CASE(clock_readings_of_all_sizes_are_survived),
    CHECK_CASE(a_live_file_that_claims_anything_is_survived),
    CHECK_CASE(something_else_in_the_live_files_place_is_ignored),
    CHECK_CASE(a_path_that_leaves_no_room_for_the_live_files_name_is_read),
};
CHECK_MAIN(cases)
