/* A capture of a newer minor version, with parts that this one does not know: the rest is read, and
   every command says that something is missing. */
#include <fcntl.h>

#include "block.h"
#include "crc32c.h"
#include "defs.h"
#include "fault.h"
#include "shell.h"
#include "varint.h"

enum { NEWER = KYMO__MINOR + 4, NEW_BLOCK = 99, NEW_DEF = 98, MOST = 64 };

/* ---- making one ---- */

/* What a recorder of that version wrote: blocks, and their index. */
struct made {
    FILE *file;
    struct kymo_packer *packer;
    struct kymo_index_entry entries[MOST];
    size_t count;
    uint64_t stream; /* where its definitions end */
};

static void add_block(struct made *made, const void *bytes, size_t len)
{
    struct kymo_index_entry *entry = &made->entries[made->count++];
    CHECK(made->count < MOST);
    entry->offset = (uint64_t)ftell(made->file);
    memcpy(&entry->header, bytes, sizeof(entry->header));
    if (entry->header.type == KYMO__BLOCK_DEFS)
        made->stream = entry->header.first_chunk + entry->header.encoded_bytes;
    CHECK_EQ(fwrite(bytes, 1, len, made->file), len);
}

static void add_bytes(struct made *made, int type, uint64_t position, const void *bytes, size_t len)
{
    struct kymo_packed packed;
    CHECK_OK(kymo__pack_bytes(made->packer, type, position, bytes, len, &packed));
    add_block(made, packed.bytes, packed.len);
}

static void add_end(struct made *made)
{
    struct kymo_footer footer = {.index_offset = (uint64_t)ftell(made->file), .index_blocks = 1};
    struct kymo_packed packed;
    CHECK_OK(kymo__pack_bytes(made->packer, KYMO__BLOCK_INDEX, 0, made->entries,
                              made->count * sizeof(made->entries[0]), &packed));
    CHECK_EQ(fwrite(packed.bytes, 1, packed.len, made->file), packed.len);
    memcpy(footer.magic, KYMO__FOOTER_MAGIC, sizeof(footer.magic));
    footer.crc = kymo__crc32c(&footer, offsetof(struct kymo_footer, crc));
    CHECK_EQ(fwrite(&footer, 1, sizeof(footer), made->file), sizeof(footer));
}

static void set_version(uint8_t *bytes, uint16_t minor)
{
    struct kymo_file_header header;
    memcpy(&header, bytes, sizeof(header));
    header.minor = minor;
    header.crc = kymo__crc32c(&header, offsetof(struct kymo_file_header, crc));
    memcpy(bytes, &header, sizeof(header));
}

/* Make the capture at PATH one of a newer version, with BLOCKS blocks and DEFS definitions that are
   new in it; without its INDEX, as if its process had been killed. */
static void make_newer(const char *path, unsigned blocks, unsigned defs, bool index)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t len = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    struct made made = {.file = fopen(path, "wb"), .packer = kymo__packer_new_bytes(1)};
    CHECK(made.file && made.packer && len < sizeof(bytes));
    set_version(bytes, NEWER);
    CHECK_EQ(fwrite(bytes, 1, sizeof(struct kymo_file_header), made.file),
             sizeof(struct kymo_file_header));
    for (size_t at = sizeof(struct kymo_file_header); at < len;) {
        struct kymo_block_header header;
        memcpy(&header, bytes + at, sizeof(header));
        if (!kymo__block_valid(&header) || header.type == KYMO__BLOCK_INDEX ||
            header.type == KYMO__BLOCK_COPY)
            break;
        add_block(&made, bytes + at, (size_t)kymo__block_bytes(&header));
        at += (size_t)kymo__block_bytes(&header);
    }
    for (unsigned i = 0; i < blocks; i++)
        add_bytes(&made, NEW_BLOCK, i, "something new", 13);
    const uint8_t def[] = {NEW_DEF, 3, 1, 2, 3};
    for (unsigned i = 0; i < defs; i++)
        add_bytes(&made, KYMO__BLOCK_DEFS, made.stream, def, sizeof(def));
    if (index)
        add_end(&made);
    CHECK_EQ(fclose(made.file), 0);
    kymo__packer_free(made.packer);
}

static const char *record_one(const char *name, const char *parent)
{
    const char *path = check_path(name);
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options), .path = path}));
    kymo_metadata("family", "f1");
    if (parent)
        kymo_metadata("process.parent", parent);
    kymo_instant("known");
    CHECK_OK(kymo_stop());
    return path;
}

/* ---- the library ---- */

/* The capture has one event, and UNKNOWN parts that cannot be read. */
static void check_unknown(const char *path, uint64_t unknown, int minor)
{
    struct kymo_event event = {.size = sizeof(event)};
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    CHECK_OK(kymo_open(path, &capture));
    for (int i = 0; i < 2; i++) { /* before everything was read, and after */
        struct kymo_info info = fault_info(capture);
        CHECK_EQ(info.version_minor, minor);
        CHECK_EQ(info.unknown_parts, unknown);
        CHECK_EQ(info.records, 1);
        CHECK_EQ(info.damaged_blocks, 0);
        CHECK_EQ(kymo_capture_verify(capture), 0);
    }
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
    CHECK_STR(event.name, "known");
    CHECK_EQ(kymo_cursor_next(cursor, &event), 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void parts_of_a_newer_version_are_counted(void)
{
    const char *path = record_one("newer.kymo", NULL);
    check_unknown(path, 0, KYMO__MINOR);
    make_newer(path, 2, 1, true);
    check_unknown(path, 3, NEWER);
    make_newer(path, 0, 0, false); /* it is found by walking; the parts are still there */
    check_unknown(path, 3, NEWER);
}

static void a_newer_version_without_new_parts_is_complete(void)
{
    const char *path = record_one("plain.kymo", NULL);
    make_newer(path, 0, 0, true);
    check_unknown(path, 0, NEWER);
}

static void parts_of_one_process_count_for_its_family(void)
{
    struct kymo_capture *capture;
    const char *path = record_one("family.kymo", NULL);
    mkdir(check_path("family.kymo.d"), 0777);
    make_newer(record_one("family.kymo.d/9-1.kymo", "1"), 2, 0, true);
    CHECK_OK(kymo_open_family(path, NULL, &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.processes, 2);
    CHECK_EQ(info.unknown_parts, 2);
    CHECK_EQ(info.version_minor, NEWER);
    kymo_close(capture);
}

static void record_and_end(void *arg)
{
    (void)arg;
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("live.kymo")}));
    kymo_instant("known");
    _exit(0);
}

static void a_chunk_of_a_newer_type_is_not_taken_for_records(void)
{
    struct kymo_capture *capture;
    struct kymo_live_header header;
    struct kymo_chunk *chunk = malloc(sizeof(*chunk));
    CHECK_EQ(fault_wait(fault_child(record_and_end, NULL)), 0);
    int fd = open(check_path("live.kymo.live"), O_RDWR | O_CLOEXEC);
    CHECK_EQ(pread(fd, &header, sizeof(header), 0), sizeof(header));
    for (uint32_t i = 0; i < header.chunks; i++) {
        off_t at = (off_t)(header.chunk_offset + (uint64_t)i * header.chunk_bytes);
        if (pread(fd, chunk, 64, at) == 64 && chunk->state && chunk->type == KYMO__BLOCK_RECORDS) {
            chunk->type = NEW_BLOCK;
            CHECK_EQ(pwrite(fd, chunk, 64, at), 64);
        }
    }
    close(fd);
    free(chunk);
    CHECK_OK(kymo_open(check_path("live.kymo"), &capture));
    CHECK_EQ(fault_info(capture).records, 0);
    CHECK_EQ(fault_info(capture).unknown_parts, 1);
    kymo_close(capture);
}

/* ---- the command ---- */

/* `kymograph WORDS` ends with STATUS, and says once, in one line, that the file is of a newer version. */
static void check_said(const char *words, const char *path, int status)
{
    int rc = shell("'%s' %s '%s' >'%s.out' 2>'%s.said'", getenv("KYMO_PROGRAM"), words, path, path,
                   path);
    if (!WIFEXITED(rc) || WEXITSTATUS(rc) != status)
        CHECK_FAIL("%s ended with %d", words, WEXITSTATUS(rc));
    if (shell("test $(grep -c 'incomplete: a newer kymograph wrote it (format 1.%d;.*3 parts of it "
              "are not shown; update kymograph' '%s.said') = 1",
              NEWER, path) != 0)
        CHECK_FAIL("%s does not say it", words);
}

static void every_verb_says_that_parts_are_missing(void)
{
    if (!getenv("KYMO_PROGRAM"))
        CHECK_SKIP("no KYMO_PROGRAM");
    const char *path = record_one("said.kymo", NULL);
    make_newer(path, 2, 1, true);
    check_said("info", path, 0);
    check_said("info --json", path, 0);
    CHECK_EQ(shell("grep -q '\"unknown_parts\": *3' '%s.out'", path), 0);
    check_said("info --verify", path, 1);
    check_said("dump", path, 0);
    check_said("report", path, 0);
    check_said("export --to chrome -o /dev/null", path, 0);
    char cut[600];
    snprintf(cut, sizeof(cut), "cut -o '%s'", check_path("cut.kymo"));
    check_said(cut, path, 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(parts_of_a_newer_version_are_counted),
    CHECK_CASE(a_newer_version_without_new_parts_is_complete),
    CHECK_CASE(parts_of_one_process_count_for_its_family),
    CHECK_CASE(a_chunk_of_a_newer_type_is_not_taken_for_records),
    CHECK_CASE(every_verb_says_that_parts_are_missing),
};

CHECK_MAIN(cases)
