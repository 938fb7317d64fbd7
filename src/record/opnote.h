/* opnote.h — the notes of an operator: which schema they have, and storing one. */
#ifndef KYMO_OPNOTE_H
#define KYMO_OPNOTE_H

#include "opnames.h"
#include "running.h"
#include "values.h"

enum {
    KYMO__NOTE_SPARE = 16,   /* bytes after a note that kymo__chain_store needs */
    KYMO__PART_BYTES = 24576 /* of a note with values; more are recorded in parts */
};

enum kymo__op_which { KYMO__NOTE_IN, KYMO__NOTE_OUT, KYMO__NOTE_PART, KYMO__NOTE_ATTRIBUTES };

/* Store the schema of a note in *NOTE and return the session, for whoever has claimed a lane. NULL if
   there is no room. */
static inline const struct kymo_running *kymo__op_note(struct kymo_schema *note,
                                                       enum kymo__op_which which)
{
    const struct kymo_running *s = kymo__running_now();
    if (!s || !kymo__opnames_prepare(s->ops, s->names, s->schemas, s->number))
        return NULL;
    *note = which == KYMO__NOTE_IN     ? s->ops->in
            : which == KYMO__NOTE_OUT  ? s->ops->out
            : which == KYMO__NOTE_PART ? s->ops->part
                                       : s->ops->attributes;
    return s;
}

/* Store PAYLOAD from AT + 1 on, and the head of the note at AT with *TICKS; or, if that is 0, with
   the time now, which *TICKS then is. Returns the record after the note. */
KYMO_INLINE struct kymo_record *kymo__op_note_store(struct kymo_record *at,
                                                    const struct kymo_schema *schema,
                                                    const struct kymo_payload *payload,
                                                    uint64_t *ticks)
{
    struct kymo_record *after =
        kymo__chain_store(at + 1, schema->number, payload->bytes, payload->used);
    if (!*ticks)
        *ticks = kymo_ticks();
    kymo_lane_store(at, *ticks, kymo_word(KYMO__NOTE, 0, schema->key));
    return after;
}

#endif
