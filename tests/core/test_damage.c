/* A damaged capture gives everything that is not damaged, and says what is missing. */
#include <fcntl.h>
#include <pthread.h>

#include "block.h"
#include "fault.h"
#include "live.h"

/* ---- what a capture says ---- */

struct seen {
    uint32_t thread, key;
    uint16_t kind, detail;
    uint64_t ticks, id;
    double value;
    kymo_ns time;
    char name[16];
};

struct list {
    struct seen *events; /* in the order of time; gaps are counted only */
    size_t count, capacity;
    uint64_t gaps;
    struct kymo_info info; /* after kymo_capture_verify */
    int64_t damaged;       /* what that said */
};

static void list_add(struct list *list, const struct kymo_event *event)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 4096;
        list->events = realloc(list->events, list->capacity * sizeof(*list->events));
    }
    struct seen *seen = &list->events[list->count++];
    memset(seen, 0, sizeof(*seen));
    seen->thread = event->thread;
    seen->key = event->key;
    seen->kind = event->kind;
    seen->detail = event->detail;
    seen->ticks = event->ticks;
    seen->id = event->id;
    seen->value = event->value;
    seen->time = event->time;
    size_t len = strlen(event->name);
    memcpy(seen->name, event->name, len < sizeof(seen->name) ? len : sizeof(seen->name) - 1);
}

/* Read all of PATH into LIST, which is emptied first. Returns what kymo_open did. */
static int list_read(struct list *list, const char *path)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    list->count = 0;
    list->gaps = 0;
    int rc = kymo_open(path, &capture);
    if (rc < 0)
        return rc;
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while ((rc = kymo_cursor_next(cursor, &event)) > 0) {
        if (event.kind == KYMO_GAP)
            list->gaps++;
        else
            list_add(list, &event);
    }
    CHECK_OK(rc);
    kymo_cursor_free(cursor);
    list->damaged = kymo_capture_verify(capture);
    CHECK_OK(list->damaged);
    list->info = fault_info(capture);
    CHECK_EQ(list->info.damaged_blocks, list->damaged);
    kymo_close(capture);
    return 0;
}

static bool same_event(const struct seen *a, const struct seen *b)
{
    return a->thread == b->thread && a->kind == b->kind && a->detail == b->detail &&
           a->key == b->key && a->ticks == b->ticks && a->id == b->id && a->value == b->value;
}

/* LIST is WHOLE without the events of THREAD from FIRST to LAST. */
static void check_without(const struct list *list, const struct list *whole, uint32_t thread,
                          uint64_t first, uint64_t last)
{
    size_t at = 0;
    for (size_t i = 0; i < whole->count; i++) {
        const struct seen *expected = &whole->events[i];
        if (expected->thread == thread && expected->ticks >= first && expected->ticks <= last)
            continue;
        CHECK(at < list->count);
        if (memcmp(&list->events[at], expected, sizeof(*expected)) != 0)
            CHECK_FAIL("event %zu of thread %u is %u \"%s\" at %" PRId64
                       ", was %u \"%s\" at %" PRId64,
                       at, expected->thread, list->events[at].kind, list->events[at].name,
                       list->events[at].time, expected->kind, expected->name, expected->time);
        at++;
    }
    CHECK_EQ(at, list->count);
}

static void check_same(const struct list *list, const struct list *whole)
{
    check_without(list, whole, UINT32_MAX, 0, 0);
}

/* The events of every thread in LIST are among those in WHOLE, in the same order. Their
   times and names may be unknown. */
static void check_among(const struct list *list, const struct list *whole)
{
    size_t next[16] = {0};
    for (size_t i = 0; i < list->count; i++) {
        const struct seen *event = &list->events[i];
        CHECK(event->thread < 16);
        size_t *at = &next[event->thread];
        while (*at < whole->count && !same_event(event, &whole->events[*at]))
            ++*at;
        if (*at == whole->count)
            CHECK_FAIL("event %zu was never recorded in this order", i);
        if (strcmp(event->name, whole->events[*at].name) != 0)
            CHECK_STR(event->name, "(unknown)");
        ++*at;
    }
}

/* ---- files as bytes ---- */

struct bytes {
    uint8_t *at;
    size_t len;
};

static struct bytes bytes_of(const char *path)
{
    struct bytes bytes = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    bytes.len = (size_t)st.st_size;
    bytes.at = malloc(bytes.len + 1);
    CHECK_EQ(read(fd, bytes.at, bytes.len), bytes.len);
    close(fd);
    return bytes;
}

static void write_bytes(const char *path, const void *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, bytes, len), len);
    close(fd);
}

static void write_at(const char *path, const void *bytes, size_t len, size_t offset)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(pwrite(fd, bytes, len, (off_t)offset), len);
    close(fd);
}

/* Change a bit of the byte at OFFSET; BYTES has the whole file. */
static void flip(const char *path, const struct bytes *bytes, size_t offset)
{
    uint8_t flipped = bytes->at[offset] ^ (uint8_t)(1u << fault_random(8));
    write_at(path, &flipped, 1, offset);
}

static void unflip(const char *path, const struct bytes *bytes, size_t offset)
{
    write_at(path, &bytes->at[offset], 1, offset);
}

/* ---- the capture to damage ---- */

/* The first thread records more than a chunk holds, which makes two blocks; the second one,
   which ends and begins again, a little. */
enum { FIRST = 2600, SECOND = 160, EVENTS = FIRST + 2 * SECOND };

static void record_kinds(int from, int to)
{
    struct kymo_span span = {0, 0};
    for (int i = from; i < to; i++) {
        uint64_t id = (uint64_t)i / 8;
        switch (i % 8) {
        case 0:
            span = kymo_span_begin(i < FIRST / 2 ? "early" : "late");
            break;
        case 1:
            kymo_instant("instant");
            break;
        case 2:
            kymo_counter("counter", i);
            break;
        case 3:
            kymo_flow_out("flow", id);
            break;
        case 4:
            kymo_flow_in("flow", id);
            break;
        case 5:
            kymo_async_begin("async", id);
            break;
        case 6:
            kymo_async_end("async", id);
            break;
        case 7:
            kymo_span_end(span);
            break;
        }
    }
}

static void wait_until_written(uint64_t records)
{
    for (int i = 0; i < 2000 && fault_stats().written_records < records; i++)
        fault_sleep(1000000);
    CHECK(fault_stats().written_records >= records);
}

static void *record_in_thread(void *arg)
{
    (void)arg;
    kymo_thread_name("second");
    record_kinds(0, SECOND);
    return NULL;
}

static void begin(const char *name)
{
    CHECK_OK(fault_start(check_path(name), SMALL_BUDGET, KYMO_HELP));
    kymo_thread_name("first");
    kymo_metadata("test", "damage");
    record_kinds(0, FIRST);
    wait_until_written(FIRST / 2);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, record_in_thread, NULL), 0);
        pthread_join(thread, NULL);
    }
}

/* Made once; every case works on a copy. */
static struct bytes whole;
static struct list whole_list;

static void make_whole(void)
{
    if (whole.at)
        return;
    begin("whole");
    CHECK_OK(kymo_stop());
    whole = bytes_of(check_path("whole"));
    CHECK_EQ(list_read(&whole_list, check_path("whole")), 0);
    CHECK_EQ(whole_list.count, EVENTS);
    CHECK_EQ(whole_list.damaged, 0);
    CHECK_EQ(whole_list.gaps, 0);
    CHECK_EQ(whole_list.info.indexed, 1);
}

static const char *copy_of_whole(void)
{
    make_whole();
    write_bytes(check_path("copy"), whole.at, whole.len);
    return check_path("copy");
}

/* The block after *OFFSET, which is moved behind it; false at the footer. */
static bool next_block(size_t *offset, struct kymo_block_header *header)
{
    if (*offset + sizeof(struct kymo_footer) >= whole.len)
        return false;
    memcpy(header, whole.at + *offset, sizeof(*header));
    CHECK(kymo__block_valid(header));
    *offset += (size_t)kymo__block_bytes(header);
    return true;
}

/* ---- cases ---- */

static void a_capture_cut_off_anywhere_opens_or_says_why(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    size_t most = whole_list.count, step = FAULT_TIMES(1, 13);
    for (size_t len = whole.len - 1; len < whole.len; len -= step) {
        CHECK_EQ(truncate(path, (off_t)len), 0);
        int rc = list_read(&list, path);
        if (len < sizeof(struct kymo_file_header)) {
            CHECK_EQ(rc, len ? KYMO_EDAMAGED : KYMO_EMPTYFILE);
            continue;
        }
        CHECK_OK(rc);
        CHECK_EQ(list.info.ending, KYMO_ENDED_KILLED);
        CHECK_LE(list.count, most);
        most = list.count;
        if (list.count < whole_list.count || len % 16 == 0)
            check_among(&list, &whole_list);
    }
    free(list.events);
}

static void a_cut_off_capture_has_all_blocks_before_the_cut(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    struct kymo_block_header header;
    size_t offset = sizeof(struct kymo_file_header), records = 0;
    while (next_block(&offset, &header)) {
        records += header.type == KYMO__BLOCK_RECORDS ? header.records : 0;
        write_bytes(path, whole.at, offset);
        CHECK_OK(list_read(&list, path));
        CHECK_EQ(list.count, records);
        CHECK_EQ(list.info.indexed, 0);
        CHECK_EQ(list.damaged, 0);
    }
    CHECK_EQ(records, EVENTS);
    free(list.events);
}

static void a_flipped_bit_costs_only_the_block_it_is_in(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    struct kymo_block_header header;
    size_t begin_at, offset = sizeof(struct kymo_file_header);
    int blocks[8] = {0}, harmless = 0;
    while (begin_at = offset, next_block(&offset, &header)) {
        blocks[header.type]++;
        size_t stored = header.stored_bytes;
        size_t places[40], count = 0;
        for (size_t i = 0; i < sizeof(header); i += FAULT_TIMES(3, 9))
            places[count++] = begin_at + i;
        for (size_t i = 0; i < 10; i++)
            places[count++] = begin_at + sizeof(header) + stored * i / 10;
        places[count++] = begin_at + sizeof(header) + stored - 1;
        for (size_t i = 0; i < count; i++) {
            flip(path, &whole, places[i]);
            CHECK_OK(list_read(&list, path));
            if (!list.damaged && places[i] >= begin_at + sizeof(header)) {
                /* zstd's frames have a few bits that mean nothing. */
                check_same(&list, &whole_list);
                unflip(path, &whole, places[i]);
                harmless++;
                continue;
            }
            if (header.type == KYMO__BLOCK_RECORDS)
                check_without(&list, &whole_list, header.thread, header.first_ticks,
                              header.last_ticks);
            else
                check_same(&list, &whole_list);
            if (list.damaged != 1)
                CHECK_FAIL("byte %zu of a block of type %d: %" PRId64 " damaged",
                           places[i] - begin_at, header.type, list.damaged);
            if (header.type == KYMO__BLOCK_RECORDS) /* and where it is missing is told */
                CHECK_EQ(list.gaps, 1);
            CHECK_EQ(list.info.ending, KYMO_ENDED_CLEAN);
            unflip(path, &whole, places[i]);
        }
    }
    CHECK(blocks[KYMO__BLOCK_RECORDS] >= 4);
    CHECK(blocks[KYMO__BLOCK_DEFS] >= 2);
    CHECK_EQ(blocks[KYMO__BLOCK_COPY], blocks[KYMO__BLOCK_DEFS]);
    CHECK_EQ(blocks[KYMO__BLOCK_INDEX], 1);
    CHECK_EQ(list_read(&list, path), 0);
    CHECK_EQ(list.damaged, 0);
    CHECK_LE(harmless, 5);
    printf("# %zu bytes\n", whole.len);
    free(list.events);
}

/* Without the index, blocks are found by walking. */
static void a_flipped_bit_costs_only_its_block_without_an_index_too(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    struct kymo_block_header header;
    size_t begin_at, offset = sizeof(struct kymo_file_header);
    CHECK_EQ(truncate(path, (off_t)(whole.len - sizeof(struct kymo_footer))), 0);
    while (begin_at = offset, next_block(&offset, &header)) {
        const size_t places[] = {begin_at + 1, begin_at + 20, begin_at + 64,
                                 begin_at + 64 + header.stored_bytes / 2};
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            flip(path, &whole, places[i]);
            CHECK_OK(list_read(&list, path));
            if (header.type == KYMO__BLOCK_RECORDS)
                check_without(&list, &whole_list, header.thread, header.first_ticks,
                              header.last_ticks);
            else
                check_same(&list, &whole_list);
            CHECK_EQ(list.damaged, 1);
            unflip(path, &whole, places[i]);
        }
    }
    free(list.events);
}

static void names_survive_the_loss_of_all_first_definitions(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    struct kymo_block_header header;
    size_t begin_at, offset = sizeof(struct kymo_file_header);
    int lost = 0;
    while (begin_at = offset, next_block(&offset, &header))
        if (header.type == KYMO__BLOCK_DEFS) {
            flip(path, &whole, begin_at + sizeof(header) + 10);
            lost++;
        }
    CHECK_OK(list_read(&list, path));
    check_same(&list, &whole_list);
    CHECK_EQ(list.damaged, lost);
    struct kymo_capture *capture;
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_capture_thread(capture, 0, &thread));
    CHECK_STR(thread.name, "first");
    CHECK_OK(kymo_capture_thread(capture, 1, &thread));
    CHECK_STR(thread.name, "second");
    kymo_close(capture);
    free(list.events);
}

static void events_survive_the_loss_of_all_definitions(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    struct kymo_block_header header;
    size_t begin_at, offset = sizeof(struct kymo_file_header);
    while (begin_at = offset, next_block(&offset, &header))
        if (header.type == KYMO__BLOCK_DEFS || header.type == KYMO__BLOCK_COPY)
            flip(path, &whole, begin_at + sizeof(header) + 10);
    CHECK_OK(list_read(&list, path));
    CHECK_EQ(list.count, whole_list.count);
    check_among(&list, &whole_list);
    CHECK_STR(list.events[0].name, "(unknown)");
    free(list.events);
}

static void a_damaged_footer_costs_nothing(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    for (size_t i = whole.len - sizeof(struct kymo_footer); i < whole.len; i++) {
        flip(path, &whole, i);
        CHECK_OK(list_read(&list, path));
        check_same(&list, &whole_list);
        CHECK_EQ(list.damaged, 1);
        CHECK_EQ(list.info.indexed, 0);
        unflip(path, &whole, i);
    }
    free(list.events);
}

static void a_damaged_file_header_is_reported(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    for (size_t i = 0; i < sizeof(struct kymo_file_header); i++) {
        flip(path, &whole, i);
        int rc = list_read(&list, path);
        CHECK(rc == KYMO_EDAMAGED || rc == KYMO_ENEWER || rc == KYMO_ENOTCAPTURE);
        CHECK_EQ(rc == KYMO_ENOTCAPTURE, i < 8);
        unflip(path, &whole, i);
    }
    uint16_t newer = KYMO__MAJOR + 1;
    write_at(path, &newer, sizeof(newer), offsetof(struct kymo_file_header, major));
    CHECK_EQ(list_read(&list, path), KYMO_ENEWER);
}

static void zeros_over_the_end_cost_only_what_they_cover(void)
{
    static const uint8_t zeros[1 << 16];
    const char *path = copy_of_whole();
    struct list list = {0};
    for (size_t n = 1; n < whole.len - sizeof(struct kymo_file_header) && n < sizeof(zeros);
         n += FAULT_TIMES(61, 397)) {
        write_bytes(path, whole.at, whole.len);
        write_at(path, zeros, n, whole.len - n);
        CHECK_OK(list_read(&list, path));
        check_among(&list, &whole_list);
        size_t records = 0, offset = sizeof(struct kymo_file_header);
        struct kymo_block_header header;
        while (next_block(&offset, &header) && offset <= whole.len - n)
            records += header.type == KYMO__BLOCK_RECORDS ? header.records : 0;
        CHECK_LE(records, list.count);
        CHECK(list.damaged > 0);
    }
    free(list.events);
}

static void garbage_after_the_end_costs_nothing(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    for (size_t n = 1; n < 100000; n = n * 3 + 1) {
        uint8_t *longer = malloc(whole.len + n);
        memcpy(longer, whole.at, whole.len);
        for (size_t i = 0; i < n; i++)
            longer[whole.len + i] = (uint8_t)fault_random(256);
        write_bytes(path, longer, whole.len + n);
        free(longer);
        CHECK_OK(list_read(&list, path));
        check_same(&list, &whole_list);
        CHECK(list.info.damaged_bytes >= n);
    }
    free(list.events);
}

static void garbage_in_the_middle_costs_only_what_it_covers(void)
{
    struct list list = {0};
    for (int round = 0; round < FAULT_TIMES(100, 20); round++) {
        const char *path = copy_of_whole();
        uint8_t garbage[300];
        for (size_t i = 0; i < sizeof(garbage); i++)
            garbage[i] = (uint8_t)fault_random(256);
        size_t from = sizeof(struct kymo_file_header) +
                      fault_random(whole.len - sizeof(struct kymo_file_header) - sizeof(garbage));
        write_at(path, garbage, sizeof(garbage), from);
        CHECK_OK(list_read(&list, path));
        check_among(&list, &whole_list);
        size_t begin_at, offset = sizeof(struct kymo_file_header), records = 0;
        struct kymo_block_header header;
        while (begin_at = offset, next_block(&offset, &header))
            if (header.type == KYMO__BLOCK_RECORDS &&
                (offset <= from || begin_at >= from + sizeof(garbage)))
                records += header.records;
        CHECK_LE(records, list.count);
        CHECK(list.damaged > 0);
    }
    free(list.events);
}

/* ---- the live file ---- */

static struct bytes live;
static struct list live_list; /* what capture and live file give together */

static void record_and_die(void *arg)
{
    (void)arg;
    begin("live");
    _exit(0);
}

static void make_live(void)
{
    if (live.at)
        return;
    CHECK_CHILD(fault_child(record_and_die, NULL));
    live = bytes_of(check_path("live.live"));
    CHECK_EQ(list_read(&live_list, check_path("live")), 0);
    CHECK_EQ(live_list.count, EVENTS);
    CHECK(live_list.info.recovered_records > 0);
}

static void a_live_file_of_another_capture_is_ignored(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    make_live();
    write_bytes(check_path("copy.live"), live.at, live.len);
    CHECK_OK(list_read(&list, path));
    check_same(&list, &whole_list);
    CHECK_EQ(list.info.recovered_records, 0);
    CHECK_EQ(list.info.live_bytes, 0);
    unlink(check_path("copy.live"));
    free(list.events);
}

static void anything_in_place_of_a_live_file_is_ignored(void)
{
    const char *path = copy_of_whole();
    struct list list = {0};
    write_bytes(check_path("copy.live"), "", 0);
    CHECK_OK(list_read(&list, path));
    check_same(&list, &whole_list);
    write_bytes(check_path("copy.live"), "text", 4);
    CHECK_OK(list_read(&list, path));
    check_same(&list, &whole_list);
    unlink(check_path("copy.live"));
    CHECK_EQ(mkdir(check_path("copy.live"), 0777), 0);
    CHECK_OK(list_read(&list, path));
    check_same(&list, &whole_list);
    CHECK_EQ(rmdir(check_path("copy.live")), 0);
    free(list.events);
}

static void a_live_file_cut_off_anywhere_is_used_as_far_as_it_goes(void)
{
    struct list list = {0};
    make_live();
    const char *path = check_path("live"), *live_path = check_path("live.live");
    write_bytes(live_path, live.at, live.len);
    size_t most = live_list.count;
    for (size_t len = live.len; len > 0;) {
        size_t step = len > 100000  ? FAULT_TIMES(4999, 49999)
                      : len > 10000 ? FAULT_TIMES(499, 4999)
                                    : 97;
        len -= len > 300 ? step : 1;
        CHECK_EQ(truncate(live_path, (off_t)len), 0);
        CHECK_OK(list_read(&list, path));
        check_among(&list, &live_list);
        CHECK_LE(list.count, most);
        most = list.count;
    }
    unlink(live_path);
    CHECK_OK(list_read(&list, path));
    CHECK_LE(list.count, most);
    write_bytes(live_path, live.at, live.len);
    free(list.events);
}

static void flipped_bits_in_a_live_file_crash_nothing(void)
{
    struct list list = {0};
    make_live();
    const char *path = check_path("live"), *live_path = check_path("live.live");
    struct kymo_live_header header;
    memcpy(&header, live.at, sizeof(header));
    write_bytes(live_path, live.at, live.len);
    for (size_t i = 0; i < sizeof(header); i++) {
        flip(live_path, &live, i);
        CHECK_OK(list_read(&list, path));
        unflip(live_path, &live, i);
    }
    for (int round = 0; round < FAULT_TIMES(1500, 200); round++) {
        /* The header of a chunk, its first records, or the first gap slots. */
        size_t chunk = (size_t)header.chunk_offset + fault_random(header.chunks) * 65536;
        size_t at = round % 3 == 0   ? chunk + fault_random(32)
                    : round % 3 == 1 ? chunk + 64 + fault_random(4096)
                                     : (size_t)header.gap_offset + fault_random(128);
        if (at >= live.len)
            continue;
        flip(live_path, &live, at);
        CHECK_OK(list_read(&list, path));
        unflip(live_path, &live, at);
    }
    CHECK_OK(list_read(&list, path));
    check_same(&list, &live_list);
    free(list.events);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_capture_cut_off_anywhere_opens_or_says_why),
    CHECK_CASE(a_cut_off_capture_has_all_blocks_before_the_cut),
    CHECK_CASE(a_flipped_bit_costs_only_the_block_it_is_in),
    CHECK_CASE(a_flipped_bit_costs_only_its_block_without_an_index_too),
    CHECK_CASE(names_survive_the_loss_of_all_first_definitions),
    CHECK_CASE(events_survive_the_loss_of_all_definitions),
    CHECK_CASE(a_damaged_footer_costs_nothing),
    CHECK_CASE(a_damaged_file_header_is_reported),
    CHECK_CASE(zeros_over_the_end_cost_only_what_they_cover),
    CHECK_CASE(garbage_after_the_end_costs_nothing),
    CHECK_CASE(garbage_in_the_middle_costs_only_what_it_covers),
    CHECK_CASE(a_live_file_of_another_capture_is_ignored),
    CHECK_CASE(anything_in_place_of_a_live_file_is_ignored),
    CHECK_CASE(a_live_file_cut_off_anywhere_is_used_as_far_as_it_goes),
    CHECK_CASE(flipped_bits_in_a_live_file_crash_nothing),
};
CHECK_MAIN(cases)
