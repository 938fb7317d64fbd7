/* proto.c — see proto.h. */
#include "proto.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "utf8.h"
#include "varint.h"

static_assert(KYMO__PROTO_LENGTH == sizeof(uint32_t), "a length is stored as a word");

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, LENGTH = KYMO__PROTO_LENGTH };

/* Return room for a tag, a number and MORE bytes, or NULL. */
static uint8_t *room(struct kymo_proto *p, size_t more)
{
    if (!p->error)
        p->error = kymo__buffer_reserve(p->out, 2 * KYMO__VARINT_MAX + more);
    return p->error ? NULL : p->out->bytes + p->out->len;
}

static void end_message(struct kymo_proto *p, const uint8_t *at)
{
    p->out->len = (size_t)(at - p->out->bytes);
}

static uint8_t *tag(uint8_t *at, unsigned field, unsigned wire)
{
    return kymo__varint_put(at, field << 3 | wire);
}

void kymo__proto_uint(struct kymo_proto *p, unsigned field, uint64_t value)
{
    uint8_t *at = room(p, 0);
    if (at)
        end_message(p, kymo__varint_put(tag(at, field, VARINT), value));
}

void kymo__proto_fixed64(struct kymo_proto *p, unsigned field, uint64_t value)
{
    uint8_t *at = room(p, 0);
    if (!at)
        return;
    at = tag(at, field, FIXED64);
    for (unsigned shift = 0; shift < 64; shift += 8)
        *at++ = (uint8_t)(value >> shift);
    end_message(p, at);
}

void kymo__proto_double(struct kymo_proto *p, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    kymo__proto_fixed64(p, field, bits);
}

void kymo__proto_bytes(struct kymo_proto *p, unsigned field, const void *bytes, size_t len)
{
    uint8_t *at = room(p, len);
    if (!at)
        return;
    at = kymo__varint_put(tag(at, field, BYTES), len);
    if (len)
        memcpy(at, bytes, len);
    end_message(p, at + len);
}

/* The length has four bytes, so all but the last have the continuation bit. */
static inline void length_put(uint8_t *at, size_t len)
{
    uint32_t bytes = (uint32_t)kymo__varint_apart(len) | 0x808080; /* the low byte first */
    memcpy(at, &bytes, sizeof(bytes));
}

void kymo__proto_ascii(struct kymo_proto *p, unsigned field, const char *text, size_t len)
{
    uint8_t *at = room(p, LENGTH + len);
    if (!at)
        return;
    at = tag(at, field, BYTES);
    length_put(at, len);
    memcpy(at + LENGTH, text, len);
    end_message(p, at + LENGTH + len);
}

/* How many bytes of TEXT, up to MOST, come before the first that is not ASCII, or the end. */
static size_t ascii_length(const char *text, size_t most)
{
    size_t len = 0;
    uint64_t word, words[4];
    for (; len + sizeof(words) <= most; len += sizeof(words)) {
        memcpy(words, text + len, sizeof(words));
        if ((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080))
            break;
    }
    for (; len + sizeof(word) <= most; len += sizeof(word)) {
        memcpy(&word, text + len, sizeof(word));
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (len < most && (unsigned char)text[len] < 0x80)
        len++;
    return len;
}

/* Append TEXT as valid UTF-8. */
static void add_utf8(struct kymo_proto *p, const char *text)
{
    for (size_t total = 0; *text && total < KYMO__PROTO_TEXT_MOST;) {
        size_t plain = 0;
        while ((unsigned char)text[plain] - 1u < 0x7f && total + plain < KYMO__PROTO_TEXT_MOST)
            plain++;
        uint8_t *at = room(p, plain);
        if (!at)
            return;
        memcpy(at, text, plain);
        at += plain;
        text += plain;
        total += plain;
        if ((unsigned char)*text >= 0x80) {
            char form[8];
            size_t len = (size_t)kymo__utf8_encode(kymo__utf8_next(&text), form);
            memcpy(at, form, len);
            at += len;
            total += len;
        }
        end_message(p, at);
    }
}

void kymo__proto_text(struct kymo_proto *p, unsigned field, const char *text)
{
    size_t length = strnlen(text, KYMO__PROTO_TEXT_MOST);
    if (ascii_length(text, length) == length) {
        kymo__proto_ascii(p, field, text, length);
        return;
    }
    size_t opened = kymo__proto_open(p, field);
    add_utf8(p, text);
    kymo__proto_close(p, opened);
}

size_t kymo__proto_open(struct kymo_proto *p, unsigned field)
{
    uint8_t *at = room(p, LENGTH);
    if (!at)
        return 0;
    end_message(p, tag(at, field, BYTES) + LENGTH);
    return p->out->len;
}

void kymo__proto_close(struct kymo_proto *p, size_t opened)
{
    if (p->error)
        return;
    size_t len = p->out->len - opened;
    if (len >= (size_t)1 << 7 * LENGTH) {
        p->error = -ENOMEM;
        return;
    }
    length_put(p->out->bytes + opened - LENGTH, len);
}

void kymo__proto_close_text(struct kymo_proto *p, size_t opened)
{
    struct kymo_buffer text = {0};
    if (p->error)
        return;
    size_t length = p->out->len - opened;
    const char *from = (const char *)p->out->bytes + opened;
    if (length > KYMO__PROTO_TEXT_MOST || ascii_length(from, length) != length) {
        p->error = kymo__buffer_add(&text, from, length);
        if (!p->error)
            p->error = kymo__buffer_add(&text, "", 1);
        p->out->len = opened;
        if (!p->error)
            add_utf8(p, (const char *)text.bytes);
        kymo__buffer_fini(&text);
    }
    kymo__proto_close(p, opened);
}
