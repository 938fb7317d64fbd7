/* rawtext.h — write text to a descriptor without allocation, locks or stdio: for signal
   handlers. */
#ifndef KYMO_RAWTEXT_H
#define KYMO_RAWTEXT_H

#include <stddef.h>
#include <stdint.h>

struct kymo_rawtext {
    int fd;
    int error; /* the first negative errno, else 0; nothing is written after it */
    size_t used;
    char buffer[2048];
};

void kymo__rawtext_init(struct kymo_rawtext *out, int fd);

void kymo__raw_text(struct kymo_rawtext *out, const char *text);
void kymo__raw_number(struct kymo_rawtext *out, uint64_t number);
void kymo__raw_hex(struct kymo_rawtext *out, uint64_t number); /* with 0x */

/* TEXT in quotes; bytes that are not printable UTF-8 as \xHH. NULL is "". */
void kymo__raw_quoted(struct kymo_rawtext *out, const char *text);

/* Write what is buffered. Returns the error. */
int kymo__rawtext_flush(struct kymo_rawtext *out);

#endif
