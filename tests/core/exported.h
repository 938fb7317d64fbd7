/* exported.h — an exported file in memory, compressed or not. */
#ifndef KYMO_EXPORTED_H
#define KYMO_EXPORTED_H

#include <zlib.h>

#include "check.h"

static char *text; /* the exported file */
static size_t text_len;

static void load_text(const char *path)
{
    gzFile file = gzopen(path, "rb"); /* reads plain files too */
    CHECK(file != NULL);
    free(text);
    text = NULL;
    text_len = 0;
    size_t room = 0;
    for (int n = 1; n > 0;) {
        if (room < text_len + 65536 + 1)
            text = realloc(text, room = 2 * (text_len + 65536 + 1));
        n = gzread(file, text + text_len, 65536);
        CHECK_LE(0, n);
        text_len += (size_t)n;
    }
    text[text_len] = '\0';
    CHECK_EQ(gzclose(file), Z_OK);
}

#endif
