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
    struct kymo_schema in, out, attributes;
};

void kymo__opnames_init(struct kymo_opnames *ops);
void kymo__opnames_fini(struct kymo_opnames *ops);

/* Define the schemas, once. Returns false if there is no room. Inside a claim. SESSION is the number
   of the session. */
bool kymo__opnames_prepare(struct kymo_opnames *ops, struct kymo_names *names,
                           struct kymo_schemas *schemas, uint32_t session);

/* The key of the operator NAME, which is copied if it is new; 0 if there is no room. Inside a claim.
   Takes the lock only for new names. */
uint32_t kymo__opnames_key(struct kymo_opnames *ops, struct kymo_names *names, const char *name);

#endif
