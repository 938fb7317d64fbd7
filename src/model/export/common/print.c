/* print.c — see print.h. */
#include "print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "utf8.h"

enum { DIGITS_MOST = 20, SEPARATOR_LINE = 0x2028, SEPARATOR_PARAGRAPH = 0x2029 };

void kymo__print(struct kymo_outfile *out, const char *text)
{
    kymo__outfile_add(out, text, strlen(text));
}

void kymo__print_uint(struct kymo_outfile *out, uint64_t value)
{
    uint8_t digits[DIGITS_MOST], *at = digits + DIGITS_MOST;
    do
        *--at = (uint8_t)('0' + value % 10);
    while (value /= 10);
    size_t len = (size_t)(digits + DIGITS_MOST - at);
    memcpy(kymo__outfile_room(out, DIGITS_MOST), at, len);
    out->used += len;
}

void kymo__print_int(struct kymo_outfile *out, int64_t value)
{
    if (value < 0)
        kymo__print(out, "-");
    kymo__print_uint(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Count the leading bytes of TEXT that need no escape: printable ASCII except SPECIAL. */
static size_t plain(const char *text, const char *special)
{
    size_t n = 0;
    while ((unsigned char)text[n] - 0x20u < 0x5fu && !strchr(special, text[n]))
        n++;
    return n;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == SEPARATOR_LINE ||
           code == SEPARATOR_PARAGRAPH;
}

/* Any other character as it is. */
static void print_code(struct kymo_outfile *out, uint32_t code)
{
    char bytes[4];
    kymo__outfile_add(out, bytes, (size_t)kymo__utf8_encode(code, bytes));
}

void kymo__print_json(struct kymo_outfile *out, const char *text)
{
    char form[KYMO__ESCAPE_FORM];
    kymo__print(out, "\"");
    while (*text) {
        size_t len;
        const char *piece = kymo__escape_json(&text, true, form, &len);
        kymo__outfile_add(out, piece, len);
    }
    kymo__print(out, "\"");
}

void kymo__print_line(struct kymo_outfile *out, const char *text, const char *special)
{
    if (!*text)
        kymo__print(out, "(unnamed)");
    while (*text) {
        size_t n = plain(text, special);
        kymo__outfile_add(out, text, n);
        text += n;
        if (!*text)
            break;
        uint32_t code = kymo__utf8_next(&text);
        if (is_control(code) || (code < 0x80 && strchr(special, (char)code))) {
            char form[8];
            snprintf(form, sizeof(form), code < 0x100 ? "\\x%02x" : "\\u%04x",
                     (unsigned)code & 0xffff);
            kymo__print(out, form);
        } else {
            print_code(out, code);
        }
    }
}
