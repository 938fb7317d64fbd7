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
    char form[KYMO__ESCAPE_FORM];
    int rc = 0;
    while (rc == 0 && *text) {
        size_t len;
        const char *piece = kymo__escape_json(&text, false, form, &len);
        rc = kymo__buffer_add(b, piece, len);
    }
    return rc;
}
