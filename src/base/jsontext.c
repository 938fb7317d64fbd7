/* jsontext.c — see jsontext.h. */
#include "jsontext.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "escape.h"

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

/* Write VALUE, which is not whole, as printf's %.15g does, if it has no more digits than that and they are found
   easily; otherwise return NULL. Powers of ten up to 22 are exact, so the quotient below is the
   number that the digits are read back as. */
static char *put_short(char *at, double value)
{
    enum { EXACT = 22, FIXED = -4 }; /* the least exponent that is written without one */
    const double most = 1e15, size = fabs(value);
    double power = 1;
    uint64_t digits = 0;
    int shift = 0;
    do {
        power *= 10;
        if (++shift > EXACT || size * power >= most)
            return NULL;
        digits = (uint64_t)(size * power + 0.5);
    } while ((double)digits / power != size);
    if (value < 0)
        *at++ = '-';
    int exponent = (int)kymo__json_length(digits) - 1 - shift;
    char text[KYMO__JSON_NUMBER] = "";
    if (exponent >= FIXED) {
        uint64_t whole = shift < 20 ? digits / (uint64_t)power : 0, rest = digits;
        if (whole)
            rest -= whole * (uint64_t)power;
        at = kymo__json_uint(at, whole);
        *at++ = '.';
        for (int zeros = shift - (int)kymo__json_length(rest); zeros > 0; zeros--)
            *at++ = '0';
        return kymo__json_uint(at, rest);
    }
    char *end = kymo__json_uint(text, digits);
    *at++ = text[0];
    if (end - text > 1) {
        *at++ = '.';
        at = kymo__json_put(at, text + 1, (size_t)(end - text) - 1);
    }
    *at++ = 'e';
    *at++ = '-';
    return kymo__json_put(at, kymo__json_digits + 2 * -exponent, 2);
}

char *kymo__json_double(char *at, double value)
{
    if (!isfinite(value))
        return at + sprintf(at, "\"%s\"",
                            isnan(value) ? "NaN"
                            : value > 0  ? "Infinity"
                                         : "-Infinity");
    if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value)
        return kymo__json_uint(at, (uint64_t)value);
    if (value < 0 && value > -1e15 && value == (double)(int64_t)value)
        return kymo__json_int(at, (int64_t)value);
    char *end = value != 0 ? put_short(at, value) : NULL;
    if (end)
        return end;
    for (int precision = 15;; precision++) {
        int len = snprintf(at, KYMO__JSON_NUMBER, "%.*g", precision, value);
        if (precision == 17 || strtod(at, NULL) == value)
            return at + len;
    }
}

int kymo__json_escaped(struct kymo_buffer *b, const char *text)
{
    char form[KYMO__ESCAPE_FORM];
    int rc = 0;
    while (rc == 0 && *text) {
        size_t len;
        const char *piece = kymo__escape_json(&text, false, form, &len);
        rc = kymo__buffer_add(b, piece, len);
    }
    return rc;
}
