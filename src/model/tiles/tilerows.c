/* tilerows.c — see tilerows.h. */
#include "tilerows.h"

#include <errno.h>

#include "alloc.h"
#include "calls.h"

/* A name that takes this many 255ths of a summary's column takes all of it: shares are rounded. */
enum { WHOLE = 253 };

static int push_part(struct kymo_tile_row *row, const struct kymo_tile_part *part)
{
    int rc = kymo__array_grow(&row->parts, &row->capacity, row->count, sizeof(*row->parts));
    if (rc == 0)
        row->parts[row->count++] = *part;
    return rc;
}

/* The place of the vote of NAME in row->votes, from 1; 0 if there is no memory. */
static uint32_t place_of_vote(struct kymo_tile_row *row, uint32_t name)
{
    uint32_t at = kymo__map_find(&row->known, name);
    if (at)
        return at;
    if (kymo__array_grow(&row->votes, &row->vote_capacity, row->vote_count, sizeof(*row->votes)) <
            0 ||
        kymo__map_set(&row->known, name, (uint32_t)row->vote_count + 1) < 0)
        return 0;
    row->votes[row->vote_count++] = (struct kymo_tile_vote){.name = name, .round = row->round};
    return (uint32_t)row->vote_count;
}

/* The vote of NAME in this round; NULL if there is no memory. Names are kept from round to round: a
   column of a summary of much has hundreds, mostly those of the column before. */
static struct kymo_tile_vote *find_vote(struct kymo_tile_row *row, uint32_t name)
{
    if (!row->recent) {
        row->recent = kymo__alloc_zeroed(KYMO__TILE_RECENT * sizeof(*row->recent));
        if (!row->recent)
            return NULL;
    }
    struct kymo_tile_recent *recent = &row->recent[name % KYMO__TILE_RECENT];
    if (!recent->vote || recent->name != name) {
        uint32_t at = place_of_vote(row, name);
        if (!at)
            return NULL;
        *recent = (struct kymo_tile_recent){name, at};
    }
    struct kymo_tile_vote *vote = &row->votes[recent->vote - 1];
    if (vote->round != row->round)
        *vote = (struct kymo_tile_vote){.name = name, .round = row->round};
    return vote;
}

/* Of several with the same time the smallest name leads, so that the result does not depend on
   their order. */
static int add_vote(struct kymo_tile_row *row, uint32_t name, kymo_ns time)
{
    struct kymo_tile_vote *vote = find_vote(row, name);
    if (!vote)
        return -ENOMEM;
    vote->time = kymo__ns_add(vote->time, time);
    const struct kymo_tile_vote *leader = row->leader ? &row->votes[row->leader - 1] : NULL;
    if (!leader || vote->time > leader->time || (vote->time == leader->time && name < leader->name))
        row->leader = (uint32_t)(vote - row->votes) + 1;
    return 0;
}

/* Does PART continue the call that fills the part before it, in a summary? */
static bool continues_call(const struct kymo_tile_row *row, const struct kymo_tile_part *part,
                           bool whole)
{
    const struct kymo_tile_part *last = row->count ? &row->parts[row->count - 1] : NULL;
    return last && whole && part->count == 0 && last->flags & KYMO__PART_SUMMARY && last->number &&
           last->name == part->name && last->end == part->start;
}

static int flush_row(struct kymo_tile_row *row)
{
    if (!row->joining)
        return 0;
    struct kymo_tile_vote best = {.time = -1};
    if (row->leader)
        best = row->votes[row->leader - 1];
    struct kymo_tile_part part = row->open;
    part.name = best.name;
    row->joining = false;
    row->round++;
    row->leader = 0;
    if (!(part.flags & KYMO__PART_SUMMARY))
        return push_part(row, &part);
    kymo_ns length = kymo__ns_between(part.start, part.end);
    bool whole = (double)best.time * 255 >= (double)length * WHOLE;
    if (continues_call(row, &part, whole)) {
        row->parts[row->count - 1].end = part.end;
        row->parts[row->count - 1].busy = kymo__ns_add(row->parts[row->count - 1].busy, part.busy);
        return 0;
    }
    part.number = whole; /* a note for the next one; kymo__tile_rows_flush removes it */
    return push_part(row, &part);
}

static struct kymo_tile_row *row_at(struct kymo_tile_rows *rows, uint32_t depth)
{
    if (depth >= KYMO__TILE_DEPTHS) {
        rows->deeper = true;
        return NULL;
    }
    rows->depths = depth >= rows->depths ? depth + 1 : rows->depths;
    return &rows->rows[depth];
}

static int add_long_call(struct kymo_tile_rows *rows, struct kymo_tile_row *row,
                         struct kymo_tile_part part)
{
    if (part.end <= rows->from && part.start < rows->from)
        return 0;
    part.flags |= KYMO__PART_CALL;
    if (part.start < rows->from) {
        part.start = rows->from;
        part.flags |= KYMO__PART_BEFORE;
    }
    part.count = !(part.flags & KYMO__PART_BEFORE);
    if (part.end > rows->to) {
        part.end = rows->to;
        part.flags |= KYMO__PART_AFTER;
    }
    part.busy = kymo__ns_between(part.start, part.end);
    int rc = flush_row(row);
    return rc < 0 ? rc : push_part(row, &part);
}

/* Add PART, a short one, to those that began in the same column. */
static int join_part(struct kymo_tile_rows *rows, struct kymo_tile_row *row,
                     struct kymo_tile_part part)
{
    int64_t column = kymo__ns_between(rows->origin, part.start) >> rows->level;
    if (row->joining && row->column != column) {
        int rc = flush_row(row);
        if (rc < 0)
            return rc;
    }
    if (row->joining) {
        row->open.end = part.end > row->open.end ? part.end : row->open.end;
        row->open.busy = kymo__ns_add(row->open.busy, part.busy);
        row->open.count++;
        row->open.number = 0;
        row->open.flags &= (uint8_t)~KYMO__PART_CALL;
    } else {
        row->open = part;
        row->open.flags |= KYMO__PART_CALL;
        row->joining = true;
        row->column = column;
    }
    return add_vote(row, part.name, part.busy);
}

int kymo__tile_rows_call(struct kymo_tile_rows *rows, uint32_t depth, kymo_ns start, kymo_ns end,
                         uint32_t name, uint64_t number, unsigned flags)
{
    struct kymo_tile_row *row = start < rows->to ? row_at(rows, depth) : NULL;
    if (!row)
        return 0;
    struct kymo_tile_part part = {
        .start = start,
        .end = end,
        .busy = kymo__ns_between(start, end),
        .number = number,
        .name = name,
        .count = 1,
        .flags = (uint8_t)flags,
    };
    bool is_cut = flags & (KYMO__PART_BEFORE | KYMO__PART_AFTER);
    if (is_cut || part.busy >= (kymo_ns)1 << rows->level)
        return add_long_call(rows, row, part);
    if (start < rows->from)
        return 0; /* of the tile before */
    return join_part(rows, row, part);
}

int kymo__tile_rows_sample(struct kymo_tile_rows *rows, kymo_ns time, uint32_t name, kymo_ns weight)
{
    struct kymo_tile_part part = {
        .start = time, .end = time, .busy = weight, .name = name, .count = 1};
    if (time < rows->from || time >= rows->to)
        return 0;
    return join_part(rows, row_at(rows, 0), part);
}

/* End the group of a summary's columns: its parts end together. */
static int flush_group(struct kymo_tile_rows *rows)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < rows->depths; i++) {
        struct kymo_tile_row *row = &rows->rows[i];
        if (row->open.flags & KYMO__PART_SUMMARY)
            row->open.end = rows->group_end;
        rc = flush_row(row);
    }
    rows->group_start = rows->group_end;
    return rc;
}

static int add_cell(struct kymo_tile_rows *rows, uint32_t depth, uint32_t name,
                    const struct kymo_cell *cell, kymo_ns length)
{
    struct kymo_tile_row *row = row_at(rows, depth);
    if (!row || (!cell->busy && !cell->count))
        return 0;
    if (!row->joining) {
        row->joining = true;
        row->open =
            (struct kymo_tile_part){.start = rows->group_start, .flags = KYMO__PART_SUMMARY};
    }
    row->open.busy = kymo__ns_add(row->open.busy, kymo__picture_share(length, cell->busy));
    row->open.count += cell->count;
    return add_vote(row, name, kymo__picture_share(length, cell->cover));
}

int kymo__tile_rows_column(struct kymo_tile_rows *rows, const struct kymo_picture_column *column,
                           const struct kymo_callables *callables)
{
    kymo_ns length = kymo__ns_between(column->start, column->end);
    int rc = 0;
    if (rows->group_start == rows->group_end || rows->group_end != column->start) {
        rc = flush_group(rows);
        rows->group_start = column->start;
    }
    rows->group_end = column->end;
    for (uint32_t i = 0; rc == 0 && i < column->depths; i++)
        rc =
            add_cell(rows, column->first_depth + i,
                     kymo__callable_of(callables, column->cells[i].key), &column->cells[i], length);
    if (rc == 0 && kymo__ns_between(rows->group_start, rows->group_end) >= (kymo_ns)1
                                                                               << rows->level)
        rc = flush_group(rows);
    return rc;
}

int kymo__tile_rows_flush(struct kymo_tile_rows *rows)
{
    int rc = flush_group(rows);
    for (uint32_t i = 0; i < rows->depths; i++) {
        struct kymo_tile_row *row = &rows->rows[i];
        for (size_t k = 0; k < row->count; k++)
            if (row->parts[k].flags & KYMO__PART_SUMMARY)
                row->parts[k].number = 0;
    }
    return rc;
}

size_t kymo__tile_rows_count(const struct kymo_tile_rows *rows)
{
    size_t count = 0;
    for (uint32_t i = 0; i < rows->depths; i++)
        count += rows->rows[i].count;
    return count;
}

void kymo__tile_rows_fini(struct kymo_tile_rows *rows)
{
    for (uint32_t i = 0; i < KYMO__TILE_DEPTHS; i++) {
        kymo__free(rows->rows[i].parts);
        kymo__free(rows->rows[i].votes);
        kymo__free(rows->rows[i].recent);
        kymo__map_fini(&rows->rows[i].known);
    }
}
