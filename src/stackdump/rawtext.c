/* rawtext.c — see rawtext.h. */
#include "rawtext.h"

#include <errno.h>
#include <unistd.h>

void kymo__rawtext_init(struct kymo_rawtext *out, int fd)
{
    out->fd = fd;
    out->error = 0;
    out->used = 0;
}

int kymo__rawtext_flush(struct kymo_rawtext *out)
{
    size_t at = 0;
    while (at < out->used && !out->error) {
        ssize_t n = write(out->fd, out->buffer + at, out->used - at);
        if (n >= 0)
            at += (size_t)n;
        else if (errno != EINTR)
            out->error = -errno;
    }
    out->used = 0;
    return out->error;
}

static void put_char(struct kymo_rawtext *out, char c)
{
    if (out->used == sizeof(out->buffer))
        kymo__rawtext_flush(out);
    out->buffer[out->used++] = c;
}

void kymo__raw_text(struct kymo_rawtext *out, const char *text)
{
    while (*text)
        put_char(out, *text++);
}

static void put_digits(struct kymo_rawtext *out, uint64_t number, unsigned base)
{
    char digits[24];
    size_t count = 0;
    do
        digits[count++] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    while (count)
        put_char(out, digits[--count]);
}

void kymo__raw_number(struct kymo_rawtext *out, uint64_t number)
{
    put_digits(out, number, 10);
}

void kymo__raw_hex(struct kymo_rawtext *out, uint64_t number)
{
    kymo__raw_text(out, "0x");
    put_digits(out, number, 16);
}

void kymo__raw_quoted(struct kymo_rawtext *out, const char *text)
{
    put_char(out, '"');
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= ' ' && c != '"' && c != '\\' && c != 127) {
            put_char(out, *text);
            continue;
        }
        kymo__raw_text(out, "\\x");
        put_char(out, "0123456789abcdef"[c >> 4]);
        put_char(out, "0123456789abcdef"[c & 15]);
    }
    put_char(out, '"');
}
