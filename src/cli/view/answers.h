/* answers.h — the answers of `kymograph view` to the requests of its page; docs/internals/viewer.md
   lists them.

   An answer knows nothing of HTTP. It reads the values of a request and writes what is sent back.
   All times are nanoseconds since the start of the capture. */
#ifndef KYMO_CLI_ANSWERS_H
#define KYMO_CLI_ANSWERS_H

#include "buffer.h"
#include "jsonout.h"
#include "view.h"

struct view_request {
    struct view *view;
    /* The value called NAME, or NULL. Lent as long as the request. */
    const char *(*value)(void *arg, const char *name);
    /* Has whoever sent it gone? */
    bool (*gone)(void *arg);
    void *arg;
};

struct view_answer {
    unsigned status;          /* of HTTP: 200, 400, 404, 500, 503 */
    const char *type;         /* MIME type */
    bool lasting;             /* the same request always has this answer */
    const char *file_name;    /* to be saved as this; NULL to show it */
    struct kymo_buffer bytes; /* either this, */
    char *text;               /* or this, from malloc */
    size_t text_length;
};

/* Answer the request called NAME, the last part of its path. */
void kymo__view_answer(const struct view_request *request, const char *name,
                       struct view_answer *answer);
void kymo__view_answer_fini(struct view_answer *answer);

/* Fill ANSWER with an error in words. */
void kymo__answer_problem(struct view_answer *answer, unsigned status, const char *words);

/* Read value NAME of REQUEST as a whole number from LEAST to MOST; ABSENT if it is not given. False
   if it is something else. */
bool kymo__request_number(const struct view_request *request, const char *name, int64_t least,
                          int64_t most, int64_t absent, int64_t *number);

/* Which of LIMIT things the list of numbers in value NAME names; all if it is not given. Returns an
   array to be freed with kymo__cli_free, or NULL if it is something else. */
bool *kymo__request_choice(const struct view_request *request, const char *name, size_t limit);

/* The answers. Each fills ANSWER, which begins as 500. */
void kymo__answer_overview(const struct view_request *request, struct view_answer *answer);
void kymo__answer_tile(const struct view_request *request, struct view_answer *answer);
void kymo__answer_call(const struct view_request *request, struct view_answer *answer);
void kymo__answer_stats(const struct view_request *request, struct view_answer *answer);
void kymo__answer_counts(const struct view_request *request, struct view_answer *answer);
void kymo__answer_marks(const struct view_request *request, struct view_answer *answer);
void kymo__answer_durations(const struct view_request *request, struct view_answer *answer);
void kymo__answer_find(const struct view_request *request, struct view_answer *answer);
void kymo__answer_samples(const struct view_request *request, struct view_answer *answer);
void kymo__answer_sample_tile(const struct view_request *request, struct view_answer *answer);
void kymo__answer_sample(const struct view_request *request, struct view_answer *answer);
void kymo__answer_memory(const struct view_request *request, struct view_answer *answer);
void kymo__answer_memory_tile(const struct view_request *request, struct view_answer *answer);
void kymo__answer_query(const struct view_request *request, struct view_answer *answer);
void kymo__answer_cut(const struct view_request *request, struct view_answer *answer);

/* What REQUEST is about, its value capture: leased, and as the page shows it. Returns false after an
   answer. */
bool kymo__answer_capture(const struct view_request *request, struct view_answer *answer,
                          struct view_lease *lease, struct kymo_shown_capture *shown);

/* For answers that take long: negative if the view is about to end, or whoever sent REQUEST has gone. */
int kymo__answer_stop(void *request);

/* The same for an answer that nobody waits for: pauses while tiles are being made. */
int kymo__answer_stop_behind(void *request);

/* For what requests share (kymo__view_samples, kymo__view_memory): negative if VIEW is about to end.
   Pauses, too. */
int kymo__answer_stop_shared(void *view);

/* End the answer of JSON with what has been written or, if RC is an error, with that instead. */
void kymo__answer_end(struct view_answer *answer, struct kymo_jsonout *json, int rc);

/* End the answer of bytes, about the capture of LEASE, with what is in ANSWER or, if RC is an error, with
   that instead; and give the lease back. */
void kymo__answer_bytes_end(const struct view_request *request, struct view_answer *answer,
                            struct view_lease *lease, int rc);

/* Begin an answer of JSON, and end it. */
FILE *kymo__answer_json_begin(struct view_answer *answer, struct kymo_jsonout *json);
void kymo__answer_json_end(struct view_answer *answer, struct kymo_jsonout *json);

#endif
