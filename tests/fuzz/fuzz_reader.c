/* Any bytes can be opened, verified and read to the end without harm.

   The first four bytes of an input are the length of the capture in it; the rest is the
   live file. Checksums would stop nearly every mutation at the door, so the harness puts
   right ones in.

   With the top bit of the length set it goes further: payloads stand in the input as
   they are before compression, and the live file without the zeros that fill its chunks,
   so that mutations reach the decoder and the definitions. Then the capture part is
       file header, (block header, payload of encoded_bytes)*
   and the live part
       live header, number of gap slots (1 byte), slots,
       (chunk header, length of its content (2 bytes), content)* */
#include <fcntl.h>
#include <kymo/kymo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "block.h"
#include "crc32c.h"
#include "procid.h"

enum { PARTS_MOST = 64 }; /* blocks and chunks of one input */
#define LIVE_HEADER 4096u
#define CHUNK_HEADER offsetof(struct kymo_chunk, records)

static char dir[64], path[80], live_path[90];

static void tidy_up(void)
{
    unlink(path);
    unlink(live_path);
    rmdir(dir);
}

static void set_up(void)
{
    if (dir[0])
        return;
    strcpy(dir, "/dev/shm/kymograph-fuzz-XXXXXX");
    if (!mkdtemp(dir)) {
        strcpy(dir, "/tmp/kymograph-fuzz-XXXXXX");
        if (!mkdtemp(dir))
            abort();
    }
    snprintf(path, sizeof(path), "%s/capture", dir);
    snprintf(live_path, sizeof(live_path), "%s.live", path);
    atexit(tidy_up);
}

/* What is left of an input. */
struct input {
    const uint8_t *at, *end;
};

static size_t left(const struct input *in)
{
    return (size_t)(in->end - in->at);
}

/* LEN bytes into TO, zeros where the input has ended; false when it had none at all. */
static bool take(struct input *in, void *to, size_t len)
{
    size_t n = left(in) < len ? left(in) : len;
    memset(to, 0, len);
    memcpy(to, in->at, n);
    in->at += n;
    return n > 0;
}

/* If the fuzzer sets that bit, the capture is one that this process is recording. */
static void pretend_to_record(struct kymo_file_header *header)
{
    static uint64_t start;
    static uint8_t boot[16];
    if (!start) {
        start = kymo__process_start((uint32_t)getpid());
        kymo__boot_id(boot);
    }
    header->pid = (uint32_t)getpid();
    header->process_start = start;
    memcpy(header->boot, boot, sizeof(boot));
}

static void fix_file_header(struct kymo_file_header *header)
{
    memcpy(header->magic, KYMO__FILE_MAGIC, sizeof(header->magic));
    header->major = KYMO__MAJOR;
    if (header->reserved[0] & 1)
        pretend_to_record(header);
    header->crc = kymo__crc32c(header, offsetof(struct kymo_file_header, crc));
}

static void fix_footer(struct kymo_footer *footer)
{
    memcpy(footer->magic, KYMO__FOOTER_MAGIC, sizeof(footer->magic));
    footer->crc = kymo__crc32c(footer, offsetof(struct kymo_footer, crc));
}

/* ---- bytes as they are, with right checksums ---- */

static void seal_in_place(uint8_t *bytes, size_t len)
{
    struct kymo_file_header file;
    struct kymo_block_header block;
    struct kymo_footer footer;
    if (len >= sizeof(file)) {
        memcpy(&file, bytes, sizeof(file));
        fix_file_header(&file);
        memcpy(bytes, &file, sizeof(file));
    }
    for (size_t at = sizeof(file); at + sizeof(block) <= len; at += 8) {
        memcpy(&block, bytes + at, sizeof(block));
        if (block.magic != KYMO__BLOCK_MAGIC)
            continue;
        kymo__block_seal(&block);
        memcpy(bytes + at, &block, sizeof(block));
    }
    if (len >= sizeof(file) + sizeof(footer)) {
        memcpy(&footer, bytes + len - sizeof(footer), sizeof(footer));
        if (memcmp(footer.magic, KYMO__FOOTER_MAGIC, sizeof(footer.magic)) == 0)
            fix_footer(&footer);
        memcpy(bytes + len - sizeof(footer), &footer, sizeof(footer));
    }
}

static void write_plain(int fd, const uint8_t *bytes, size_t len, bool capture,
                        const uint8_t id[16])
{
    uint8_t *copy = malloc(len + 1);
    memcpy(copy, bytes, len);
    if (capture) {
        seal_in_place(copy, len);
    } else if (len >= sizeof(struct kymo_live_header)) {
        memcpy(copy, KYMO__LIVE_MAGIC, 8);
        memcpy(copy + offsetof(struct kymo_live_header, capture), id, 16);
    }
    if (pwrite(fd, copy, len, 0) != (ssize_t)len)
        abort();
    free(copy);
}

/* ---- built of parts ---- */

static void seal_entries(uint8_t *payload, size_t len)
{
    struct kymo_index_entry entry;
    for (size_t at = 0; at + sizeof(entry) <= len; at += sizeof(entry)) {
        memcpy(&entry, payload + at, sizeof(entry));
        entry.header.magic = KYMO__BLOCK_MAGIC;
        kymo__block_seal(&entry.header);
        memcpy(payload + at, &entry, sizeof(entry));
    }
}

/* Write the block that HEADER and the bytes after it stand for. Returns where it ends. */
static uint64_t write_block(int fd, uint64_t offset, struct kymo_block_header header,
                            struct input *in)
{
    static uint8_t stored[1 << 20];
    size_t len = header.encoded_bytes < left(in) ? header.encoded_bytes : left(in);
    uint8_t *payload = malloc(len + 1);
    take(in, payload, len);
    if (header.type == KYMO__BLOCK_INDEX)
        seal_entries(payload, len);
    static ZSTD_CCtx *zstd;
    if (!zstd) {
        zstd = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    }
    size_t n = ZSTD_compress2(zstd, stored, sizeof(stored), payload, len);
    free(payload);
    if (ZSTD_isError(n))
        return offset;
    header.magic = KYMO__BLOCK_MAGIC;
    header.stored_bytes = (uint32_t)n;
    if (!(header.value_bytes[2] & 0x80)) /* else the fuzzer wants it wrong */
        header.encoded_bytes = (uint32_t)len;
    kymo__block_seal(&header);
    if (pwrite(fd, &header, sizeof(header), (off_t)offset) != (ssize_t)sizeof(header) ||
        pwrite(fd, stored, n, (off_t)(offset + sizeof(header))) != (ssize_t)n)
        abort();
    return offset + kymo__block_bytes(&header);
}

static void build_capture(int fd, struct input *in, struct kymo_file_header *file)
{
    struct kymo_block_header header;
    uint64_t offset = sizeof(*file), index = 0;
    uint32_t index_blocks = 0;
    take(in, file, sizeof(*file));
    fix_file_header(file);
    if (pwrite(fd, file, sizeof(*file), 0) != (ssize_t)sizeof(*file))
        abort();
    for (int i = 0; i < PARTS_MOST && take(in, &header, sizeof(header)); i++) {
        if (header.type == KYMO__BLOCK_INDEX && !index_blocks++)
            index = offset;
        offset = write_block(fd, offset, header, in);
    }
    if (index_blocks) {
        struct kymo_footer footer = {.index_offset = index, .index_blocks = index_blocks};
        fix_footer(&footer);
        if (pwrite(fd, &footer, sizeof(footer), (off_t)offset) != (ssize_t)sizeof(footer))
            abort();
    }
}

static void build_live(int fd, struct input *in, const struct kymo_file_header *file)
{
    static uint8_t scratch[KYMO__CHUNK_BYTES];
    struct kymo_live_header header;
    uint8_t slots = 0;
    uint64_t offset = LIVE_HEADER + 256 * sizeof(struct kymo_gap_slot);
    uint32_t chunks = 0;
    if (!take(in, &header, sizeof(header)))
        return;
    take(in, &slots, 1);
    take(in, scratch, slots * sizeof(struct kymo_gap_slot));
    if (pwrite(fd, scratch, slots * sizeof(struct kymo_gap_slot), LIVE_HEADER) < 0)
        abort();
    for (; chunks < PARTS_MOST && left(in); chunks++, offset += KYMO__CHUNK_BYTES) {
        uint16_t len;
        take(in, scratch, CHUNK_HEADER);
        take(in, &len, sizeof(len));
        size_t n = len < left(in) ? len : left(in);
        n = n < sizeof(scratch) - CHUNK_HEADER ? n : sizeof(scratch) - CHUNK_HEADER;
        take(in, scratch + CHUNK_HEADER, n);
        if (pwrite(fd, scratch, CHUNK_HEADER + n, (off_t)offset) < 0)
            abort();
    }
    memcpy(header.magic, KYMO__LIVE_MAGIC, sizeof(header.magic));
    memcpy(header.capture, file->capture, sizeof(header.capture));
    header.major = KYMO__MAJOR;
    header.chunk_bytes = KYMO__CHUNK_BYTES;
    header.chunks = chunks;
    header.gap_slots = slots;
    header.gap_offset = LIVE_HEADER;
    header.chunk_offset = LIVE_HEADER + 256 * sizeof(struct kymo_gap_slot);
    if (pwrite(fd, &header, sizeof(header), 0) < 0 || ftruncate(fd, (off_t)offset) < 0)
        abort();
}

/* ---- reading ---- */

static size_t text_bytes; /* so that every string is read to its end */

static int64_t read_events(struct kymo_capture *capture, const struct kymo_window *window)
{
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    int64_t count = 0;
    if (kymo_cursor_new(capture, window, &cursor) < 0)
        return 0;
    while (kymo_cursor_next(cursor, &event) > 0) {
        text_bytes += strlen(event.name) + strlen(event.file);
        count++;
    }
    kymo_cursor_free(cursor);
    return count;
}

static inline void read_stacks(struct kymo_capture *capture)
{
    enum { FRAMES = 64 };
    struct kymo_stack_frame frames[FRAMES];
    struct kymo_capture_module module = {.size = sizeof(module)};
    uint32_t stack;
    for (uint64_t i = 0; i < 1000 && kymo_capture_stack_at(capture, i, &stack) == 0; i++) {
        size_t count = kymo_capture_stack(capture, stack, frames, FRAMES);
        for (size_t j = 0; j < count && j < FRAMES; j++)
            text_bytes += strlen(frames[j].name) + strlen(frames[j].file) + strlen(frames[j].path) +
                          strlen(frames[j].build_id);
    }
    for (uint32_t i = 1; i < 1000 && kymo_capture_module_at(capture, i, &module) == 0; i++)
        text_bytes += strlen(module.path) + strlen(module.build_id);
}

static inline void read_everything(struct kymo_capture *capture)
{
    struct kymo_info info = {.size = sizeof(info)};
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    const char *key, *value;
    kymo_capture_info(capture, &info);
    for (uint32_t i = 0; i < 1000 && kymo_capture_thread(capture, i, &thread) == 0; i++)
        text_bytes += strlen(thread.name);
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        text_bytes += strlen(key) + strlen(value);
    read_stacks(capture);
    int64_t all = read_events(capture, NULL);
    struct kymo_window window = {sizeof(window), info.start, info.end, -1};
    if (read_events(capture, &window) > all)
        abort();
    window = (struct kymo_window){sizeof(window), 0, INT64_MAX, 0};
    if (read_events(capture, &window) > all)
        abort();
    kymo_capture_verify(capture);
    kymo_capture_info(capture, &info);
}

#ifndef FUZZ_READ /* fuzz_calls.c reads the same inputs in another way */
#define FUZZ_READ read_everything
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint32_t word;
    if (size < sizeof(word))
        return 0;
    set_up();
    memcpy(&word, bytes, sizeof(word));
    size_t len = word & 0x7fffffffu;
    len = len < size - sizeof(word) ? len : size - sizeof(word);
    struct input capture = {bytes + sizeof(word), bytes + sizeof(word) + len};
    struct input live = {capture.end, bytes + size};
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    int live_fd = left(&live) ? open(live_path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0 || (left(&live) && live_fd < 0))
        abort();
    if (!left(&live))
        unlink(live_path);
    struct kymo_file_header file = {.pid = 0};
    if (word >> 31) {
        build_capture(fd, &capture, &file);
        if (live_fd >= 0)
            build_live(live_fd, &live, &file);
    } else {
        if (len >= sizeof(file))
            memcpy(&file, capture.at, sizeof(file));
        write_plain(fd, capture.at, len, true, file.capture);
        if (live_fd >= 0)
            write_plain(live_fd, live.at, left(&live), false, file.capture);
    }
    close(fd);
    if (live_fd >= 0)
        close(live_fd);
    struct kymo_capture *opened;
    if (kymo_open(path, &opened) == 0) {
        FUZZ_READ(opened);
        kymo_close(opened);
    }
    return 0;
}
