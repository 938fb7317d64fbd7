/* batch.h — rows of a capture's tables, column by column; kymo/read.h lists them.

   A batch holds what one job of columns.c has read. Jobs run on several cores and do not know what
   came before them, so the ids in a batch count from the start of its job, and a call that began
   before is known by its depth. kymo__batch_settle replaces them once the jobs before are done. */
#ifndef KYMO_BATCH_H
#define KYMO_BATCH_H

#include "callables.h"
#include "calls.h"

enum { KYMO__BATCH_COLUMNS = 12 };

struct kymo_batch_table {
    struct kymo_table shown;
    struct kymo_column columns[KYMO__BATCH_COLUMNS];
    void *values[KYMO__BATCH_COLUMNS]; /* the same, writable */
    size_t capacity;                   /* rows allocated */
};

enum { KYMO__BATCH_SLICES, KYMO__BATCH_MARKS, KYMO__BATCH_ARGS, KYMO__BATCH_TEXTS };
struct kymo_batch {
    struct kymo_batch_table tables[KYMO__BATCH_TEXTS + 1];
    struct kymo_buffer text; /* the text being built */
    const struct kymo_callables *callables;
    const struct kymo_reader *reader;
    uint32_t thread;       /* being read */
    uint64_t calls, marks; /* of the job so far: ids of the next ones */
};

/* A call open where a job ends, for the job that goes on from there. */
struct kymo_batch_open {
    uint64_t id;
    kymo_ns inside; /* time in calls it made that ended before */
};

/* Prepare an all-zero BATCH. CALLABLES is borrowed. */
void kymo__batch_init(struct kymo_batch *batch, const struct kymo_callables *callables);
void kymo__batch_fini(struct kymo_batch *batch);

/* Remove the rows; ids continue. */
void kymo__batch_empty(struct kymo_batch *batch);

/* Callbacks for a struct kymo_visitor; the argument is the batch. `again` is for calls that began
   before the job, `enter` for the others. */
int kymo__batch_again(void *batch, struct kymo_open_call *frame, uint32_t depth);
int kymo__batch_enter(void *batch, struct kymo_open_call *frame, uint32_t depth);
int kymo__batch_leave(void *batch, const struct kymo_slice *slice);
int kymo__batch_other(void *batch, const struct kymo_event *event, const struct kymo_call_arg *args,
                      unsigned arg_count);

/* What a job needs to know about the jobs before it. */
struct kymo_batch_before {
    uint64_t calls, marks;              /* ids given so far */
    const struct kymo_batch_open *open; /* calls open at its start, by depth */
};

/* Replace ids and own times by the final ones. */
void kymo__batch_settle(struct kymo_batch *batch, const struct kymo_batch_before *before);

/* The same for a call open at the end of the job. */
struct kymo_batch_open kymo__batch_open_call(const struct kymo_open_call *frame,
                                             const struct kymo_batch_before *before);

static inline size_t kymo__batch_rows(const struct kymo_batch *batch, unsigned table)
{
    return batch->tables[table].shown.rows;
}

#endif
