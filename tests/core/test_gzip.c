/* A gzip file of parts is one file to who reads it, however its content was cut. */
#include "gzip.h"

#include <kymo/kymo.h>
#include <zlib.h>

#include "check.h"
#include "random.h"

enum { SIZE = 3 << 20 };

static uint8_t content[SIZE], back[SIZE + 1];
static struct kymo_buffer file;

static void add(struct kymo_deflater *deflater, struct kymo_gzip *gzip, const uint8_t *bytes,
                size_t len)
{
    struct kymo_gzip_part part = {0};
    CHECK_OK(kymo__gzip_part(deflater, bytes, len, &part));
    CHECK_EQ(part.length, len);
    kymo__gzip_add(gzip, &part);
    CHECK_OK(kymo__buffer_add(&file, part.deflated.bytes, part.deflated.len));
    kymo__buffer_fini(&part.deflated);
}

/* Cut LEN bytes of the content into parts of at most MOST, deflated by two in turn. */
static void comes_back(size_t len, size_t most, uint64_t seed)
{
    struct kymo_deflater *deflaters[] = {kymo__deflater_new(), kymo__deflater_new()};
    struct kymo_gzip gzip = {0};
    uint8_t tail[KYMO__GZIP_TAIL];
    file.len = 0;
    CHECK_OK(kymo__buffer_add(&file, kymo__gzip_head, sizeof(kymo__gzip_head)));
    unsigned turn = 0;
    for (size_t at = 0; at < len;) {
        size_t part = random_next(&seed) % most + 1;
        part = part < len - at ? part : len - at;
        add(deflaters[turn++ % 2], &gzip, content + at, part);
        at += part;
    }
    kymo__gzip_tail(&gzip, tail);
    CHECK_OK(kymo__buffer_add(&file, tail, sizeof(tail)));
    kymo__deflater_free(deflaters[0]);
    kymo__deflater_free(deflaters[1]);

    /* zlib itself checks the sum and the length at the end. */
    z_stream z = {.next_in = file.bytes,
                  .avail_in = (uInt)file.len,
                  .next_out = back,
                  .avail_out = sizeof(back)};
    CHECK_EQ(inflateInit2(&z, 15 + 16), Z_OK);
    CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
    CHECK_EQ(z.avail_in, 0);
    CHECK_EQ(z.total_out, len);
    CHECK(memcmp(back, content, len) == 0);
    inflateEnd(&z);
}

static void any_split_round_trips(void)
{
    uint64_t state = 3;
    for (size_t i = 0; i < SIZE; i++) /* text in the first half, noise in the second */
        content[i] = i < SIZE / 2 ? (uint8_t)("\"ts\":12345,"[i % 11] + i / 5000 % 3)
                                  : (uint8_t)(random_next(&state) >> 40);
    comes_back(0, 1, 1);
    comes_back(1, 1, 1);
    comes_back(1000, 1, 1);
    comes_back(100000, 1000, 2);
    comes_back(SIZE, 1 << 18, 3);
    comes_back(SIZE, SIZE, 4);
}

static void repetitive_input_compresses_well(void)
{
    memset(content, 'a', SIZE);
    comes_back(SIZE, SIZE, 5);
    CHECK_LE(file.len, SIZE / 100);
    kymo__buffer_fini(&file);
}

static const struct check_case cases[] = {
    CHECK_CASE(any_split_round_trips),
    CHECK_CASE(repetitive_input_compresses_well),
};
CHECK_MAIN(cases)
