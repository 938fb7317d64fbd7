/* rusttext.h — read a mangled Rust name and collect its text; only for rustname.c. Input that is
   invalid or too long sets bad, after which nothing is printed. */
#ifndef KYMO_RUSTTEXT_H
#define KYMO_RUSTTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "buffer.h"

enum { DEPTH_MOST = 100, STEPS_MOST = 20000, TEXT_MOST = 16384 };

struct kymo_rust_name {
    const char *text; /* after _R */
    size_t len, at;
    struct kymo_buffer out;
    bool bad, no_memory;
    bool silent; /* parse without printing */
    unsigned depth, steps;
    uint64_t bound; /* lifetimes introduced by enclosing binders */
};

static inline void print_bytes(struct kymo_rust_name *n, const char *text, size_t len)
{
    if (n->silent || n->bad)
        return;
    if (n->out.len + len > TEXT_MOST)
        n->bad = true;
    else if (kymo__buffer_add(&n->out, text, len) < 0)
        n->bad = n->no_memory = true;
}

static inline void print_text(struct kymo_rust_name *n, const char *text)
{
    print_bytes(n, text, strlen(text));
}

static inline void print_number(struct kymo_rust_name *n, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    print_bytes(n, digits + at, sizeof(digits) - at);
}

static inline char peek_char(const struct kymo_rust_name *n)
{
    return n->at < n->len ? n->text[n->at] : '\0';
}

static inline char next_char(struct kymo_rust_name *n)
{
    if (n->at >= n->len) {
        n->bad = true;
        return '\0';
    }
    return n->text[n->at++];
}

static inline bool eat(struct kymo_rust_name *n, char c)
{
    if (peek_char(n) != c)
        return false;
    n->at++;
    return true;
}

/* "_" is 0, "0_" is 1 and so on. Hashes have 64 bits and may wrap; positions are checked before
   use. */
static inline uint64_t base_62(struct kymo_rust_name *n)
{
    uint64_t value = 0;
    if (eat(n, '_'))
        return 0;
    for (;;) {
        char c = next_char(n);
        uint64_t digit;
        if (c == '_')
            break;
        if (c >= '0' && c <= '9')
            digit = (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'z')
            digit = (uint64_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'Z')
            digit = (uint64_t)(c - 'A') + 36;
        else
            digit = UINT64_MAX;
        if (digit > 61) {
            n->bad = true;
            return 0;
        }
        value = value * 62 + digit;
    }
    return value + 1;
}

static inline uint64_t optional_62(struct kymo_rust_name *n, char tag)
{
    return eat(n, tag) ? base_62(n) + 1 : 0;
}

struct identifier {
    const char *text;
    size_t len;
    bool punycode;
};

static inline struct identifier identifier(struct kymo_rust_name *n)
{
    struct identifier id = {.punycode = eat(n, 'u')};
    size_t len = 0;
    if (peek_char(n) < '0' || peek_char(n) > '9') {
        n->bad = true;
        return id;
    }
    if (!eat(n, '0'))
        while (peek_char(n) >= '0' && peek_char(n) <= '9' && len <= n->len)
            len = len * 10 + (size_t)(next_char(n) - '0');
    eat(n, '_');
    if (len > n->len - n->at) {
        n->bad = true;
        return id;
    }
    id.text = n->text + n->at;
    id.len = len;
    n->at += len;
    return id;
}

static inline void print_identifier(struct kymo_rust_name *n, struct identifier id)
{
    if (!id.len)
        return;
    if (id.punycode)
        print_text(n, "punycode{");
    print_bytes(n, id.text, id.len);
    if (id.punycode)
        print_text(n, "}");
}

#endif
