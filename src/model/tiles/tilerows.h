/* tilerows.h — the calls of one tile while it is built: a row for each depth, parts in order of time.

   A call of at least a column's length becomes a part of its own. Shorter ones that begin in the
   same column, with no longer one between them, become one part together: how many there were, how
   long they took, and the name that took the most of it. Where a summary is used instead of calls,
   its columns become parts in the same way. */
#ifndef KYMO_TILEROWS_H
#define KYMO_TILEROWS_H

#include "buffer.h"
#include "callables.h"
#include "map.h"
#include "picture.h"

enum { KYMO__TILE_DEPTHS = KYMO__CELL_DEPTHS };

/* What a part is. */
enum kymo_tile_flag {
    KYMO__PART_CALL = 1,    /* one call; else several, or a column of a summary */
    KYMO__PART_BEFORE = 2,  /* it began before the tile */
    KYMO__PART_AFTER = 4,   /* it ends after the tile */
    KYMO__PART_SUMMARY = 8, /* from a summary: its borders and its time are approximate */
    KYMO__PART_LOST = 16,   /* its end was not recorded */
    KYMO__PART_OPEN = 32,   /* it had not ended when recording stopped */
};

struct kymo_tile_part {
    kymo_ns start, end;
    kymo_ns busy;    /* time of all its calls together */
    uint64_t number; /* of a single call: as in kymo_open_call; else 0 */
    uint32_t name;   /* a callable: the one that took the most time */
    uint32_t count;  /* calls that began in it */
    uint8_t flags;   /* enum kymo_tile_flag */
};

/* Time by name, for the name that leads. */
struct kymo_tile_vote {
    uint32_t name;
    uint32_t round; /* the time is 0 if this is not the row's */
    kymo_ns time;
};

/* Where the vote of a name was found last. */
struct kymo_tile_recent {
    uint32_t name;
    uint32_t vote; /* from 1; 0: empty */
};
enum { KYMO__TILE_RECENT = 256 };

struct kymo_tile_row {
    struct kymo_tile_part *parts;
    size_t count, capacity;
    struct kymo_tile_part open; /* calls being joined, if joined */
    bool joining;
    int64_t column; /* the column in which they began */
    struct kymo_tile_vote *votes;
    size_t vote_count, vote_capacity;
    struct kymo_map known;           /* by name: its vote, from 1 */
    struct kymo_tile_recent *recent; /* in front of it, by the name's low bits; NULL: not yet */
    uint32_t round;                  /* of votes; each part has its own */
    uint32_t leader;                 /* its vote, from 1; 0 if there is none yet */
};

struct kymo_tile_rows {
    kymo_ns from, to;               /* what is being added: parts are cut there */
    kymo_ns origin;                 /* where columns are counted from */
    unsigned level;                 /* a column has 2^level nanoseconds */
    uint32_t depths;                /* rows used */
    bool deeper;                    /* there were calls deeper than KYMO__TILE_DEPTHS */
    kymo_ns group_start, group_end; /* columns of a summary being joined; empty if equal */
    struct kymo_tile_row rows[KYMO__TILE_DEPTHS];
};

/* Add the call of NAME at DEPTH from START to END, of those in rows->from to rows->to. FLAGS are
   KYMO__PART_LOST, KYMO__PART_OPEN and, if it was cut when it was read, KYMO__PART_BEFORE and
   KYMO__PART_AFTER. Calls must come in the order in which they end. Returns 0 or
   -ENOMEM. */
int kymo__tile_rows_call(struct kymo_tile_rows *rows, uint32_t depth, kymo_ns start, kymo_ns end,
                         uint32_t name, uint64_t number, unsigned flags);

/* Add a sample of NAME at TIME that represents WEIGHT. Samples are in row 0; those of one column become
   one part, with the name that has the most weight. Returns 0 or -ENOMEM. */
int kymo__tile_rows_sample(struct kymo_tile_rows *rows, kymo_ns time, uint32_t name,
                           kymo_ns weight);

/* Add COLUMN of a summary, a known one, with the names in CALLABLES. Returns 0 or -ENOMEM. */
int kymo__tile_rows_column(struct kymo_tile_rows *rows, const struct kymo_picture_column *column,
                           const struct kymo_callables *callables);

/* Finish what is being joined. Returns 0 or -ENOMEM. */
int kymo__tile_rows_flush(struct kymo_tile_rows *rows);

/* The number of parts in all rows. */
size_t kymo__tile_rows_count(const struct kymo_tile_rows *rows);
void kymo__tile_rows_fini(struct kymo_tile_rows *rows);

#endif
