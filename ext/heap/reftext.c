/* reftext.c — see reftext.h. Calls nothing of Python that could allocate. */
#include "reftext.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core.h"

enum { STR_MOST = 60 };

/* Bytes without cutting a character. */
static void put_bytes(struct kymo_reftext *out, const char *bytes, size_t count)
{
    if (out->used + count + 1 > out->size)
        return;
    memcpy(out->text + out->used, bytes, count);
    out->used += count;
    out->text[out->used] = '\0';
}

void kymo__reftext_put(struct kymo_reftext *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

void kymo__reftext_index(struct kymo_reftext *out, long number)
{
    char digits[32];
    snprintf(digits, sizeof digits, "[%ld]", number);
    kymo__reftext_put(out, digits);
}

void kymo__reftext_str(struct kymo_reftext *out, PyObject *text)
{
    if (!PyUnicode_Check(text) || !PyUnicode_IS_READY(text))
        return;
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t i = 0; i < length && i < STR_MOST; i++) {
        char bytes[4];
        Py_UCS4 c = PyUnicode_READ_CHAR(text, i);
        bool plain = c >= 0x20 && c != 0x7f && c != '\'';
        put_bytes(out, bytes, kymo__text_encode(plain ? c : '?', bytes));
    }
    if (length > STR_MOST)
        kymo__reftext_put(out, "...");
}
