/* pickle.h — write Python pickles that simple readers understand too.

   PyTorch's viewer reads pickles in JavaScript: protocol 4 at most, objects remembered by MEMOIZE
   only, and at most KYMO__PICKLE_BATCH items appended at a time. Texts are written once and then
   referred to. The first failure is stored in `failed`; later calls are then harmless. */
#ifndef KYMO_PICKLE_H
#define KYMO_PICKLE_H

#include "buffer.h"
#include "outfile.h"
#include "strtab.h"

enum { KYMO__PICKLE_BATCH = 1000 };

struct kymo_pickle {
    struct kymo_outfile *out; /* the caller's */
    struct kymo_strtab texts; /* written so far */
    uint32_t *number_of;      /* by text: its number */
    size_t capacity;
    struct kymo_buffer clean;
    uint32_t numbers; /* objects remembered so far */
    int failed;
};

/* A list being written. */
struct kymo_pickle_list {
    uint32_t items;
};

void kymo__pickle_begin(struct kymo_pickle *pickle, struct kymo_outfile *out);

/* Write the end and free what PICKLE owns. Returns 0 or the first failure. */
int kymo__pickle_end(struct kymo_pickle *pickle);

void kymo__pickle_uint(struct kymo_pickle *pickle, uint64_t value);
void kymo__pickle_bool(struct kymo_pickle *pickle, bool value);
void kymo__pickle_text(struct kymo_pickle *pickle, const char *text);

/* Remember the object written last; returns its number, for `again`, which is never 0. */
uint32_t kymo__pickle_remember(struct kymo_pickle *pickle);
void kymo__pickle_again(struct kymo_pickle *pickle, uint32_t number);

/* A dictionary; between the two, keys and values in turn. */
void kymo__pickle_open(struct kymo_pickle *pickle);
void kymo__pickle_close(struct kymo_pickle *pickle);

/* KEY and its value, a number or a text. */
void kymo__pickle_number(struct kymo_pickle *pickle, const char *key, uint64_t value);
void kymo__pickle_word(struct kymo_pickle *pickle, const char *key, const char *value);

/* A list; call `next` before each item. */
struct kymo_pickle_list kymo__pickle_list(struct kymo_pickle *pickle);
void kymo__pickle_next(struct kymo_pickle *pickle, struct kymo_pickle_list *list);
void kymo__pickle_done(struct kymo_pickle *pickle, struct kymo_pickle_list *list);

/* The tuple (0, 0). */
void kymo__pickle_zeros(struct kymo_pickle *pickle);

#endif
