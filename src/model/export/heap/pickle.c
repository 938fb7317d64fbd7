/* pickle.c — see pickle.h. */
#include "pickle.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "utf8.h"

/* The opcodes used, of Lib/pickletools.py. */
enum {
    PROTO = 0x80,
    STOP = '.',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    MARK = '(',
    SETITEMS = 'u',
    APPENDS = 'e',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    TUPLE2 = 0x86,
    BINUNICODE = 'X',
    SHORT_BINUNICODE = 0x8c,
    MEMOIZE = 0x94,
    BINGET = 'h',
    LONG_BINGET = 'j',
};

/* OPCODE and the lower COUNT bytes of VALUE. */
static void put_opcode(struct kymo_pickle *p, unsigned opcode, uint64_t value, unsigned count)
{
    uint8_t *at = kymo__outfile_room(p->out, 16);
    at[0] = (uint8_t)opcode;
    for (unsigned i = 0; i < count; i++)
        at[1 + i] = (uint8_t)(value >> 8 * i);
    p->out->used += 1 + count;
}

void kymo__pickle_begin(struct kymo_pickle *p, struct kymo_outfile *out)
{
    *p = (struct kymo_pickle){.out = out};
    put_opcode(p, PROTO, 4, 1);
}

int kymo__pickle_end(struct kymo_pickle *p)
{
    put_opcode(p, STOP, 0, 0);
    kymo__strtab_fini(&p->texts);
    kymo__free(p->number_of);
    kymo__buffer_fini(&p->clean);
    return p->failed;
}

void kymo__pickle_uint(struct kymo_pickle *p, uint64_t value)
{
    if (value <= UINT8_MAX) {
        put_opcode(p, BININT1, value, 1);
    } else if (value <= UINT16_MAX) {
        put_opcode(p, BININT2, value, 2);
    } else if (value <= INT32_MAX) {
        put_opcode(p, BININT, value, 4);
    } else { /* signed, so the highest bit must be free */
        value = value <= INT64_MAX ? value : INT64_MAX;
        put_opcode(p, LONG1, 8, 1);
        uint8_t *at = kymo__outfile_room(p->out, 8);
        for (unsigned i = 0; i < 8; i++)
            at[i] = (uint8_t)(value >> 8 * i);
        p->out->used += 8;
    }
}

void kymo__pickle_bool(struct kymo_pickle *p, bool value)
{
    put_opcode(p, value ? NEWTRUE : NEWFALSE, 0, 0);
}

/* ---- objects written once ---- */

uint32_t kymo__pickle_remember(struct kymo_pickle *p)
{
    put_opcode(p, MEMOIZE, 0, 0);
    return ++p->numbers;
}

void kymo__pickle_again(struct kymo_pickle *p, uint32_t number)
{
    if (number <= UINT8_MAX)
        put_opcode(p, BINGET, number - 1, 1);
    else
        put_opcode(p, LONG_BINGET, number - 1, 4);
}

/* Copy TEXT into p->clean as UTF-8. */
static void clean_text(struct kymo_pickle *p, const char *text)
{
    p->clean.len = 0;
    while (*text) {
        char bytes[4];
        int len = kymo__utf8_encode(kymo__utf8_next(&text), bytes);
        if (kymo__buffer_add(&p->clean, bytes, (size_t)len) < 0)
            p->failed = -ENOMEM;
    }
}

void kymo__pickle_text(struct kymo_pickle *p, const char *text)
{
    int added = 0;
    clean_text(p, text);
    int64_t id = kymo__strtab_add(&p->texts, p->clean.len ? (const char *)p->clean.bytes : "",
                                  p->clean.len, &added);
    if (id < 0 ||
        kymo__array_grow(&p->number_of, &p->capacity, (size_t)id, sizeof(*p->number_of)) < 0) {
        p->failed = -ENOMEM;
        return;
    }
    if (!added) {
        kymo__pickle_again(p, p->number_of[id]);
        return;
    }
    if (p->clean.len <= UINT8_MAX)
        put_opcode(p, SHORT_BINUNICODE, p->clean.len, 1);
    else
        put_opcode(p, BINUNICODE, p->clean.len, 4);
    kymo__outfile_add(p->out, p->clean.bytes, p->clean.len);
    p->number_of[id] = kymo__pickle_remember(p);
}

/* ---- dictionaries ---- */

void kymo__pickle_open(struct kymo_pickle *p)
{
    put_opcode(p, EMPTY_DICT, 0, 0);
    put_opcode(p, MARK, 0, 0);
}

void kymo__pickle_close(struct kymo_pickle *p)
{
    put_opcode(p, SETITEMS, 0, 0);
}

void kymo__pickle_number(struct kymo_pickle *p, const char *key, uint64_t value)
{
    kymo__pickle_text(p, key);
    kymo__pickle_uint(p, value);
}

void kymo__pickle_word(struct kymo_pickle *p, const char *key, const char *value)
{
    kymo__pickle_text(p, key);
    kymo__pickle_text(p, value);
}

/* ---- lists ---- */

struct kymo_pickle_list kymo__pickle_list(struct kymo_pickle *p)
{
    put_opcode(p, EMPTY_LIST, 0, 0);
    return (struct kymo_pickle_list){0};
}

void kymo__pickle_next(struct kymo_pickle *p, struct kymo_pickle_list *list)
{
    if (list->items && list->items % KYMO__PICKLE_BATCH == 0)
        put_opcode(p, APPENDS, 0, 0);
    if (list->items++ % KYMO__PICKLE_BATCH == 0)
        put_opcode(p, MARK, 0, 0);
}

void kymo__pickle_done(struct kymo_pickle *p, struct kymo_pickle_list *list)
{
    if (list->items)
        put_opcode(p, APPENDS, 0, 0);
}

void kymo__pickle_zeros(struct kymo_pickle *p)
{
    kymo__pickle_uint(p, 0);
    kymo__pickle_uint(p, 0);
    put_opcode(p, TUPLE2, 0, 0);
}
