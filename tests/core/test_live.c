/* The live file: whether somebody truncated it, asked while it grows; handing it on. */
#include "live.h"

#include <fcntl.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "atomic.h"
#include "check.h"
#include "file.h"

enum { CHUNKS = 1500 };

static const uint8_t capture[16] = {1};

static void *grow(void *live)
{
    for (int i = 0; i < CHUNKS; i++)
        CHECK_EQ(kymo__live_grow(live, 1), 1);
    return NULL;
}

static void a_file_that_grows_meanwhile_is_whole(void)
{
    struct kymo_live live;
    pthread_t thread;
    CHECK_OK(kymo__live_create(&live, check_path("grows"), capture, CHUNKS, false));
    CHECK(live.path != NULL);
    CHECK_EQ(pthread_create(&thread, NULL, grow, &live), 0);
    for (bool growing = true; growing;) {
        growing = kymo__load_relaxed(&live.ready) < CHUNKS;
        CHECK(kymo__live_is_whole(&live));
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    kymo__live_close(&live, false);
}

static void a_truncated_file_is_not(void)
{
    struct kymo_live live;
    CHECK_OK(kymo__live_create(&live, check_path("cut"), capture, CHUNKS, false));
    CHECK_EQ(kymo__live_grow(&live, 2), 2);
    CHECK(kymo__live_is_whole(&live));
    CHECK_EQ(truncate(live.path, (off_t)KYMO__CHUNK_BYTES * 2), 0);
    CHECK(!kymo__live_is_whole(&live));
    kymo__live_close(&live, false);
}

/* A live file as a child has it. NAME is in the folder of a family. */
static void begin_child(struct kymo_live *live, const char *name)
{
    CHECK_OK(kymo__live_create(live, check_path(name), capture, CHUNKS, true));
    CHECK_EQ(kymo__live_grow(live, 2), 2);
}

static ino_t inode_of(const struct kymo_live *live)
{
    struct stat st;
    CHECK_EQ(fstat(live->file.fd, &st), 0);
    return st.st_ino;
}

/* What a session leaves in the chunks: definitions, some of which it has written out, and records
   that whoever freed the chunk has cleared. */
static void record_something(struct kymo_live *live)
{
    struct kymo_chunk *records = &live->chunks[0], *definitions = &live->chunks[1];
    *definitions = (struct kymo_chunk){
        .state = KYMO__CHUNK_OPEN, .type = KYMO__BLOCK_DEFS, .number = 5000, .used = 100};
    memset(definitions->records, 0x55, 5100);
    records->type = KYMO__BLOCK_RECORDS;
    records->thread = 1;
    records->number = 3;
    live->gaps[0] = (struct kymo_gap_slot){.thread = 1, .reason = 2, .count = 3};
    live->gaps[live->gap_slots - 1].last_ticks = 4;
}

static void a_child_hands_its_file_on_empty(void)
{
    struct kymo_live live;
    CHECK_EQ(mkdir(check_path("a.kymo.d"), 0700), 0);
    begin_child(&live, "a.kymo.d/1-1.kymo");
    const ino_t first = inode_of(&live);
    record_something(&live);
    kymo__live_close(&live, false);

    begin_child(&live, "a.kymo.d/2-1.kymo");
    CHECK_EQ(inode_of(&live), first);
    CHECK_EQ(live.chunks[0].next, 0);
    for (char *at = (char *)live.gaps; at < (char *)&live.chunks[2]; at++)
        CHECK_EQ(*at, 0);
    CHECK_EQ(access(check_path("a.kymo.d/1-1.kymo.live"), F_OK), -1);
    CHECK_EQ(access(check_path("a.kymo.d/2-1.kymo.live"), F_OK), 0);
    CHECK_EQ(access(check_path("a.kymo.d/0-0.spare"), F_OK), -1);
    kymo__live_close(&live, false);
}

static void one_that_has_recorded_much_removes_its_file(void)
{
    static const struct kymo_chunk much[] = {
        {.state = KYMO__CHUNK_OPEN, .type = KYMO__BLOCK_RECORDS},
        {.state = KYMO__CHUNK_OPEN, .type = KYMO__BLOCK_DEFS, .used = 60000},
        {.state = KYMO__CHUNK_OPEN, .type = KYMO__BLOCK_DEFS, .number = 70000},
    };
    struct kymo_live live;
    CHECK_EQ(mkdir(check_path("f.kymo.d"), 0700), 0);
    for (size_t i = 0; i < sizeof(much) / sizeof(much[0]); i++) {
        begin_child(&live, "f.kymo.d/1-1.kymo");
        live.chunks[1] = much[i];
        kymo__live_close(&live, false);
        CHECK_EQ(rmdir(check_path("f.kymo.d")), 0);
        CHECK_EQ(mkdir(check_path("f.kymo.d"), 0700), 0);
    }
    begin_child(&live, "f.kymo.d/1-1.kymo");
    CHECK_EQ(kymo__live_grow(&live, 1), 1);
    kymo__live_close(&live, false);
    CHECK_EQ(rmdir(check_path("f.kymo.d")), 0);
}

static void one_that_was_killed_keeps_its_file(void)
{
    struct kymo_live live;
    CHECK_EQ(mkdir(check_path("b.kymo.d"), 0700), 0);
    begin_child(&live, "b.kymo.d/1-1.kymo");
    kymo__live_close(&live, true);
    CHECK_EQ(access(check_path("b.kymo.d/1-1.kymo.live"), F_OK), 0);
    CHECK_EQ(access(check_path("b.kymo.d/0-0.spare"), F_OK), -1);
}

static void a_file_that_is_being_read_is_removed_instead(void)
{
    struct kymo_live live;
    struct kymo_live_header header;
    CHECK_EQ(mkdir(check_path("c.kymo.d"), 0700), 0);
    begin_child(&live, "c.kymo.d/1-1.kymo");
    int reader = open(live.path, O_RDONLY | O_CLOEXEC);
    CHECK_OK(kymo__file_lock(reader, false));
    kymo__live_close(&live, false);
    CHECK_EQ(access(check_path("c.kymo.d/1-1.kymo.live"), F_OK), -1);
    CHECK_EQ(access(check_path("c.kymo.d/0-0.spare"), F_OK), -1);
    CHECK_EQ(kymo__file_read(reader, &header, sizeof(header), 0), sizeof(header));
    CHECK_EQ(memcmp(header.capture, capture, sizeof(capture)), 0);
    close(reader);
}

static void only_one_is_spare_at_a_time(void)
{
    struct kymo_live first, second;
    CHECK_EQ(mkdir(check_path("d.kymo.d"), 0700), 0);
    begin_child(&first, "d.kymo.d/1-1.kymo");
    begin_child(&second, "d.kymo.d/2-1.kymo");
    const ino_t kept = inode_of(&first);
    kymo__live_close(&first, false);
    kymo__live_close(&second, false);
    CHECK_EQ(access(check_path("d.kymo.d/2-1.kymo.live"), F_OK), -1);
    begin_child(&first, "d.kymo.d/3-1.kymo");
    CHECK_EQ(inode_of(&first), kept);
    kymo__live_close(&first, false);
}

static void a_file_planted_as_spare_is_not_used(void)
{
    struct kymo_live live;
    struct stat st;
    CHECK_EQ(mkdir(check_path("e.kymo.d"), 0700), 0);
    int victim = open(check_path("victim"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK_EQ(symlink(check_path("victim"), check_path("e.kymo.d/0-0.spare")), 0);
    begin_child(&live, "e.kymo.d/1-1.kymo");
    CHECK(live.path != NULL);
    CHECK_EQ(fstat(victim, &st), 0);
    CHECK(inode_of(&live) != st.st_ino && st.st_size == 0);
    kymo__live_close(&live, false);
    close(victim);
}

static void elsewhere_the_file_is_removed(void)
{
    struct kymo_live live;
    CHECK_EQ(mkdir(check_path("mine"), 0700), 0);
    CHECK_OK(kymo__live_create(&live, check_path("mine/x.kymo"), capture, CHUNKS, true));
    kymo__live_close(&live, false);
    CHECK_EQ(rmdir(check_path("mine")), 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_file_that_grows_meanwhile_is_whole),
    CHECK_CASE(a_truncated_file_is_not),
    CHECK_CASE(a_child_hands_its_file_on_empty),
    CHECK_CASE(one_that_has_recorded_much_removes_its_file),
    CHECK_CASE(one_that_was_killed_keeps_its_file),
    CHECK_CASE(a_file_that_is_being_read_is_removed_instead),
    CHECK_CASE(only_one_is_spare_at_a_time),
    CHECK_CASE(a_file_planted_as_spare_is_not_used),
    CHECK_CASE(elsewhere_the_file_is_removed),
};
CHECK_MAIN(cases)
