/* opnames.h — the operators of a session: their keys, by the text of their names, and the schemas of
   their notes. A framework's names may be anywhere and may be freed, so that unlike the names of
   spans they are looked up by what they say. */
#ifndef KYMO_OPNAMES_H
#define KYMO_OPNAMES_H

#include <kymo/payload.h>
#include <pthread.h>

struct kymo_names;
struct kymo_schemas;

struct kymo_opnames {
    pthread_mutex_t lock;       /* for everything that changes */
    uint32_t ready;             /* 1: the schemas are defined */
    struct kymo_optable *table; /* NULL at first; read without the lock */
    struct kymo_schema in, out, part, attributes;
};

void kymo__opnames_init(struct kymo_opnames *ops);
void kymo__opnames_fini(struct kymo_opnames *ops);

/* Define the schemas, once. Returns false if there is no room. Inside a claim. SESSION is the number
   of the session. */
bool kymo__opnames_prepare(struct kymo_opnames *ops, struct kymo_names *names,
                           struct kymo_schemas *schemas, uint32_t session);

/* An operator of the session. `text` is the session's copy of its name. */
struct kymo_opname {
    const char *text;
    uint32_t key; /* 0: there is no room */
};

/* Find the operator NAME, which is copied if it is new. Inside a claim. Takes the lock only for new
   names. */
struct kymo_opname kymo__opnames_find(struct kymo_opnames *ops, struct kymo_names *names,
                                      const char *name);

#endif
