/* jsontext.c — see jsontext.h. */
#include "jsontext.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "utf8.h"

const char kymo__json_digits[201] = "00010203040506070809101112131415161718192021222324"
                                    "25262728293031323334353637383940414243444546474849"
                                    "50515253545556575859606162636465666768697071727374"
                                    "75767778798081828384858687888990919293949596979899";

const uint64_t kymo__json_tens[20] = {
    0,
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

char *kymo__json_double(char *at, double value)
{
    if (!isfinite(value))
        return at + sprintf(at, "\"%s\"",
                            isnan(value) ? "NaN"
                            : value > 0  ? "Infinity"
                                         : "-Infinity");
    if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value)
        return kymo__json_uint(at, (uint64_t)value);
    for (int precision = 15;; precision++) {
        int len = snprintf(at, KYMO__JSON_NUMBER, "%.*g", precision, value);
        if (precision == 17 || strtod(at, NULL) == value)
            return at + len;
    }
}

int kymo__json_escaped(struct kymo_buffer *b, const char *text)
{
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] - 0x20u < 0x5fu && text[plain] != '"' &&
               text[plain] != '\\')
            plain++;
        int rc = kymo__buffer_add(b, text, plain);
        text += plain;
        if (rc == 0 && *text) {
            char form[8];
            uint32_t code = kymo__utf8_next(&text);
            int len;
            if (code == '"' || code == '\\')
                len = sprintf(form, "\\%c", (char)code);
            else if (code < 0x20 || code == 0x7f)
                len = sprintf(form, "\\u%04x", code & 0xff);
            else
                len = kymo__utf8_encode(code, form);
            rc = kymo__buffer_add(b, form, (size_t)len);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int kymo__json_text(struct kymo_buffer *b, const char *text)
{
    return kymo__buffer_add(b, text, strlen(text));
}
