/* Fields of protocol buffers have the bytes that the encoding asks for. */
#include "proto.h"

#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "check.h"

static struct kymo_buffer bytes;

static struct kymo_proto fresh(void)
{
    bytes.len = 0;
    return (struct kymo_proto){.out = &bytes};
}

#define CHECK_BYTES(proto, ...)                                                                    \
    do {                                                                                           \
        static const uint8_t expected[] = {__VA_ARGS__};                                           \
        CHECK_EQ((proto).error, 0);                                                                \
        CHECK_EQ(bytes.len, sizeof(expected));                                                     \
        CHECK_EQ(memcmp(bytes.bytes, expected, sizeof(expected)), 0);                              \
    } while (0)

static void numbers_are_varints_after_their_tag(void)
{
    struct kymo_proto proto = fresh();
    kymo__proto_uint(&proto, 1, 150);
    kymo__proto_uint(&proto, 58, 0);
    CHECK_BYTES(proto, 0x08, 0x96, 0x01, 0xd0, 0x03, 0x00);
}

static void fixed_numbers_have_their_low_byte_first(void)
{
    struct kymo_proto proto = fresh();
    kymo__proto_fixed64(&proto, 47, 0x0102030405060708);
    kymo__proto_double(&proto, 1, 1.0);
    CHECK_BYTES(proto, 0xf9, 0x02, 8, 7, 6, 5, 4, 3, 2, 1, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f);
}

static void messages_nest(void)
{
    struct kymo_proto proto = fresh();
    size_t outer = kymo__proto_open(&proto, 1), inner = kymo__proto_open(&proto, 2);
    kymo__proto_uint(&proto, 3, 4);
    kymo__proto_close(&proto, inner);
    kymo__proto_close(&proto, outer);
    CHECK_BYTES(proto, 0x0a, 0x87, 0x80, 0x80, 0x00, 0x12, 0x82, 0x80, 0x80, 0x00, 0x18, 4);
}

static void text_is_repaired(void)
{
    struct kymo_proto proto = fresh();
    kymo__proto_text(&proto, 2, "a\xff\xc3\xbc");
    CHECK_BYTES(proto, 0x12, 0x86, 0x80, 0x80, 0x00, 'a', 0xef, 0xbf, 0xbd, 0xc3, 0xbc);
}

static void text_in_place_is_repaired_too(void)
{
    static const char *const texts[] = {"", "plain", "a\xff\xc3\xbc",
                                        "thirty-two bytes and more of text, then \xc3\xbc"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint8_t expected[128];
        struct kymo_proto proto = fresh();
        kymo__proto_text(&proto, 2, texts[i]);
        size_t len = bytes.len;
        memcpy(expected, bytes.bytes, len);
        proto = fresh();
        size_t opened = kymo__proto_open(&proto, 2);
        CHECK_EQ(kymo__buffer_add(&bytes, texts[i], strlen(texts[i])), 0);
        kymo__proto_close_text(&proto, opened);
        CHECK_EQ(proto.error, 0);
        CHECK_EQ(bytes.len, len);
        CHECK_EQ(memcmp(bytes.bytes, expected, len), 0);
    }
}

static void endless_text_is_cut(void)
{
    size_t len = 3 << 20;
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = 0;
    struct kymo_proto proto = fresh();
    kymo__proto_text(&proto, 2, text);
    free(text);
    CHECK_EQ(proto.error, 0);
    CHECK_EQ(bytes.len, KYMO__PROTO_TEXT_MOST + 5);
}

static void without_memory_nothing_is_added(void)
{
    struct kymo_buffer none = {0};
    struct kymo_proto proto = {.out = &none};
    kymo__alloc_fail_after(0);
    size_t opened = kymo__proto_open(&proto, 1);
    kymo__proto_uint(&proto, 1, 1);
    kymo__proto_fixed64(&proto, 1, 1);
    kymo__proto_bytes(&proto, 1, "x", 1);
    kymo__proto_text(&proto, 1, "x");
    kymo__proto_close(&proto, opened);
    kymo__alloc_fail_after(-1);
    CHECK_EQ(proto.error, -ENOMEM);
    CHECK_EQ(none.len, 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(numbers_are_varints_after_their_tag),
    CHECK_CASE(fixed_numbers_have_their_low_byte_first),
    CHECK_CASE(messages_nest),
    CHECK_CASE(text_is_repaired),
    CHECK_CASE(text_in_place_is_repaired_too),
    CHECK_CASE(endless_text_is_cut),
    CHECK_CASE(without_memory_nothing_is_added),
};

CHECK_MAIN(cases)
