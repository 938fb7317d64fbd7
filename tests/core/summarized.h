/* summarized.h — the summaries of a capture as text. */
#ifndef KYMO_SUMMARIZED_H
#define KYMO_SUMMARIZED_H

#include <stdio.h>

#include "capture.h"
#include "summaries.h"

static inline void list_open(FILE *out, const struct kymo_nest *nest)
{
    fprintf(out, "begun %llu doubtful %u now %lld\n", (unsigned long long)nest->entered,
            nest->doubtful, (long long)nest->now);
    for (uint32_t i = 0; i < nest->depth; i++) {
        const struct kymo_open_call *call = &nest->frames[i];
        fprintf(out, "open %u enter %u flags %u start %lld number %llu id %llu", call->key,
                call->enter, call->flags, (long long)call->start, (unsigned long long)call->number,
                (unsigned long long)call->id);
        for (unsigned k = 0; k < call->arg_count; k++)
            fprintf(out, " arg %u=%llu", nest->args[call->args + k].key,
                    (unsigned long long)nest->args[call->args + k].value);
        fprintf(out, "\n");
    }
}

static inline void list_cells(FILE *out, const struct kymo_cells *cells)
{
    fprintf(out, "columns from %llu\n", (unsigned long long)cells->begin);
    for (size_t i = 0; i < cells->count; i++) {
        const struct kymo_cell_column *column = &cells->columns[i];
        fprintf(out, "column %llu ticks %u events\n", (unsigned long long)column->ticks,
                column->events);
        for (uint32_t k = 0; k < column->depths; k++) {
            const struct kymo_cell *cell = &cells->cells[column->first + k];
            fprintf(out, "cell %u cover %u busy %u count %u longest %u\n", cell->key, cell->cover,
                    cell->busy, cell->count, cell->longest);
        }
    }
}

/* Everything the summaries of CAPTURE say; 0 or a negative code. */
static inline int list_summaries(FILE *out, struct kymo_capture *capture)
{
    struct kymo_reader *r = capture->reader;
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < r->summary_count; i++) {
        const struct kymo_summary *s = &r->summaries[i];
        struct kymo_nest nest = {0};
        struct kymo_cells cells = {0};
        struct kymo_buffer scratch = {0};
        fprintf(out, "summary of thread %u from chunk %llu, %u chunks, %u events\n",
                s->header.thread, (unsigned long long)s->header.first_chunk, s->header.chunks,
                s->header.records);
        rc = kymo__summary_state(r, s, s->header.thread, &nest);
        if (rc > 0)
            list_open(out, &nest);
        if (rc >= 0)
            rc = kymo__summary_cells(r, s, &scratch, &cells);
        if (rc >= 0)
            list_cells(out, &cells);
        kymo__cells_fini(&cells);
        kymo__buffer_fini(&scratch);
        kymo__nest_fini(&nest);
    }
    return rc;
}

#endif
