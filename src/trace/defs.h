/* defs.h — definitions: what the numbers in records mean.

   A definition is its type (one byte), the length of its body (varint) and the body:
   varints, then for strings the bytes. A reader skips types it does not know and
   ignores extra bytes at the end of a body, so definitions can grow.

       STRING       id; bytes
       MORE         id; bytes to append: for strings longer than KYMO__DEF_TEXT
       KEY          id, string of the name, string of the file or 0, first line, class
       THREAD       index, system thread id, tick when first seen, string of its name
       THREAD_NAME  index, string
       THREAD_END   index, tick
       META         string of the key, string of the value
       CLOCK        tick, monotonic ns, zigzag of wall ns
       GAP          thread, reason, records, first tick, last tick
       PROCESS      index, pid, string of its name, string of its machine or 0
       RANGE        ticks at which the capture begins and ends, if its records do not reach
                    that far: for one that was cut out of another

   Stacks, of samples and other events:

       MODULE       number, base, address of the first byte of its code, address after the
                    last, string of its path, string of its build id in hex or 0. Addresses
                    are those of the recorded process; minus the base, those of the file
       FRAME        id; 0, module or 0, address in the file (in the process when there is no
                    module); or 1, key, line
       NODE         id, id of the node it was called from or 0, frame; then the frames of
                    further nodes, varints: each has the next id and was called from the one
                    before
       STACK        id as in records, node of its innermost frame

   Payloads and tracks:

       SCHEMA       key of its name, number; then for each field the key of its name and its type
                    (enum kymo_field_type), a byte
       TRACK        thread index, zigzag of the device, stream, clock
       TRACK_CLOCK  number of a clock, string of its name, ticks per second or 0
       TRACK_TIME   number of a clock, its time, monotonic ns at that time

   Clock 0 is the capture's own, clock 1 CLOCK_MONOTONIC in nanoseconds.

   A native frame's address is its return address: the call is before it. For the innermost
   frame of a sample it is the current address plus one, to match. A definition comes after
   those it refers to, except for keys and strings.
   THREAD may have a fifth number, the index of its process; the default is 0. */
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
    KYMO__DEF_SCHEMA = 16,
    KYMO__DEF_TRACK = 17,
    KYMO__DEF_TRACK_CLOCK = 18,
    KYMO__DEF_TRACK_TIME = 19,
};

#define KYMO__DEF_NUMBERS 6
#define KYMO__DEF_TEXT 16384u /* bytes of a string in one definition */
/* A definition never takes more: type, length, numbers, text. */
#define KYMO__DEF_MAX (1u + 10u + 10u * KYMO__DEF_NUMBERS + KYMO__DEF_TEXT)

struct kymo_def {
    int type;
    uint64_t number[KYMO__DEF_NUMBERS]; /* absent numbers are 0 */
    const uint8_t *text;                /* STRING, MORE, SCHEMA and NODE; points into the input */
    size_t text_len;
};

/* The minimum number of numbers in a definition of TYPE; 0 for an unknown type. */
unsigned kymo__def_numbers(int type);

/* Write DEF at OUT, which has room for KYMO__DEF_MAX; returns the byte after it. */
uint8_t *kymo__def_put(uint8_t *out, const struct kymo_def *def);

/* Read one at AT. Returns the byte after it, or NULL if it is incomplete. An unknown type, or one
   too short to use, is returned as type 0. */
const uint8_t *kymo__def_get(const uint8_t *at, const uint8_t *end, struct kymo_def *def);

#endif
