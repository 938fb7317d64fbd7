/* defs.h — definitions: what the numbers in records stand for.

   A definition is its type (one byte), the length of its body (varint) and the body:
   varints, then for strings the bytes. A reader skips types it does not know and
   ignores what a longer body has at its end, so definitions can grow.

       STRING       id; bytes
       MORE         id; bytes to append: for strings longer than KYMO__DEF_TEXT
       KEY          id, string of the name, string of the file or 0, first line, class
       THREAD       index, system thread id, tick of its first sight, string of its name
       THREAD_NAME  index, string
       THREAD_END   index, tick
       META         string of the key, string of the value
       CLOCK        tick, monotonic ns, zigzag of wall ns
       GAP          thread, reason, records, first tick, last tick
       PROCESS      index, pid, string of its name, string of its machine or 0
       RANGE        tick at which the capture begins, tick at which it ends: where its
                    records do not reach, as in one cut out of another

   Stacks, of samples and of whatever else has one:

       MODULE       number, base, first address of its code, the one after its last, string
                    of its path, string of its build id in hex or 0. Addresses are those of
                    the recorded process; less the base they are those of the file
       FRAME        id; 0, module or 0, address in the file's terms (that of the process when
                    there is no module); or 1, key, line
       NODE         id, id of the node it was called from or 0, frame
       STACK        id as records have it, node of its innermost frame

   A native frame's address is where it returns to: what it called lies before it. So is that
   of the innermost frame of a sample, which is one more than where it was. What a definition
   refers to is defined before it, except for keys and strings.
   THREAD may have a fifth number, the index of its process; without it that is 0. */
#ifndef KYMO_DEFS_H
#define KYMO_DEFS_H

#include "buffer.h"
#include "format.h"

enum kymo_def_type {
    KYMO__DEF_STRING = 1,
    KYMO__DEF_MORE = 2,
    KYMO__DEF_KEY = 3,
    KYMO__DEF_THREAD = 4,
    KYMO__DEF_THREAD_NAME = 5,
    KYMO__DEF_THREAD_END = 6,
    KYMO__DEF_META = 7,
    KYMO__DEF_CLOCK = 8,
    KYMO__DEF_GAP = 9,
    KYMO__DEF_PROCESS = 10,
    KYMO__DEF_RANGE = 11,
    KYMO__DEF_MODULE = 12,
    KYMO__DEF_FRAME = 13,
    KYMO__DEF_NODE = 14,
    KYMO__DEF_STACK = 15,
};

#define KYMO__DEF_NUMBERS 6
#define KYMO__DEF_TEXT 16384u /* bytes of a string in one definition */
/* A definition never takes more: type, length, numbers, text. */
#define KYMO__DEF_MAX (1u + 10u + 10u * KYMO__DEF_NUMBERS + KYMO__DEF_TEXT)

struct kymo_def {
    int type;
    uint64_t number[KYMO__DEF_NUMBERS]; /* those it does not have are 0 */
    const uint8_t *text;                /* STRING and MORE; inside the bytes given */
    size_t text_len;
};

/* How many numbers a definition of TYPE begins with, at least; 0 for an unknown type. */
unsigned kymo__def_numbers(int type);

/* Write DEF at OUT, which has room for KYMO__DEF_MAX; returns the byte after it. */
uint8_t *kymo__def_put(uint8_t *out, const struct kymo_def *def);

/* Read one at AT; returns the byte after it, or NULL when it is not whole. A type
   that is unknown or too short to be used gives type 0. */
const uint8_t *kymo__def_get(const uint8_t *at, const uint8_t *end, struct kymo_def *def);

#endif
