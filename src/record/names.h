/* names.h — what the keys in records mean: interns names, and writes the stream of definitions into
   the capture.

   Definitions go into one chunk of the live file, so that they survive a kill like the records
   that use them; when it is full, and before records are written, its content becomes a block.
   One lock guards everything except the look-up of a name by its address, which every recording
   call does without a lock. */
#ifndef KYMO_NAMES_H
#define KYMO_NAMES_H

#include <kymo/lane.h>
#include <pthread.h>

#include "atomic.h"
#include "block.h"
#include "clock.h"
#include "defs.h"
#include "hash.h"
#include "lock.h"
#include "strtab.h"

/* Appends a packed block to the capture: 0 or negative errno. */
typedef int kymo_append_fn(void *arg, const struct kymo_packed *packed);

/* Addresses to keys; open addressing, never more than half full. */
struct kymo_addresses {
    struct kymo_addresses *older; /* the smaller tables it replaced, kept for readers */
    unsigned shift;               /* 64 - log2 of the number of slots */
    size_t count;
    struct kymo_address {
        const void *address; /* stored last, with release; NULL: free */
        uint32_t key;
    } slots[];
};

struct kymo_names {
    pthread_mutex_t lock;
    struct kymo_addresses *addresses; /* read without the lock */
    struct kymo_strtab strings;
    uint32_t *keys; /* key of string ID as a plain name, at ID; 0: none yet */
    size_t key_capacity;
    uint32_t last_key;
    struct kymo_buffer traits; /* by key: enum kymo_trait */
    const char *watched; /* NULL, or the pattern for names that get KYMO__TRAIT_WATCHED; borrowed */
    struct kymo_gap_notice {
        uint32_t thread;
        uint64_t first_ticks;
    } * gaps; /* defined, and not yet taken by kymo__names_take_gaps */
    size_t gap_count, gap_capacity;
    struct kymo_chunk *chunk; /* the unwritten end of the stream; never given back */
    struct kymo_packer *packer;
    kymo_append_fn *append;
    void *append_arg;
    const uint32_t *failing;         /* not 0 while the file cannot be written */
    struct kymo_snapshot *snapshots; /* defined so far, for converting times while recording */
    size_t snapshot_count, snapshot_capacity;
    bool clock_ended; /* the snapshot at the stop has been taken; under the life lock */
};

/* What is known about a key, as bits. */
enum kymo_trait {
    KYMO__TRAIT_SPAN = 1,    /* a span or an operator */
    KYMO__TRAIT_WAITS = 2,   /* a function in which a thread waits */
    KYMO__TRAIT_WATCHED = 4, /* matches the pattern in `watched` */
};

/* Set up for a session; NAMES keeps the free chunk CHUNK. While *FAILING is not 0, only
   kymo__names_flush tries to write. 0 or -ENOMEM; call fini either way. */
int kymo__names_init(struct kymo_names *names, struct kymo_chunk *chunk, int level,
                     kymo_append_fn *append, void *arg, const uint32_t *failing);
void kymo__names_fini(struct kymo_names *names);

/* The key for the name at ADDRESS, or 0 when it was never seen. Any thread. */
static inline uint32_t kymo__names_find(struct kymo_names *names, const void *address)
{
    struct kymo_addresses *table = kymo__load_acquire(&names->addresses);
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    for (size_t i = (size_t)(kymo__hash_word((uintptr_t)address) >> table->shift);; i++) {
        const struct kymo_address *slot = &table->slots[i & mask];
        const void *here = kymo__load_acquire(&slot->address);
        if (kymo__likely(here == address))
            return slot->key;
        if (!here)
            return 0;
    }
}

/* The key for NAME, which must stay in place; defines it if it is new. 0 when memory or disk
   space runs out. */
uint32_t kymo__names_add(struct kymo_names *names, const char *name);

/* A new key for FUNCTION, or 0 when there is no room. */
uint32_t kymo__names_function(struct kymo_names *names, const struct kymo_function *function);

/* The string id of TEXT; defines it if it is new. 0 when there is no room. TEXT_OUT, when not
   NULL, gets a copy that lives as long as NAMES. */
uint32_t kymo__names_string(struct kymo_names *names, const char *text, const char **text_out);

/* Attach KEY = VALUE to the capture. */
void kymo__names_meta(struct kymo_names *names, const char *key, const char *value);

/* The key for a copy of TEXT as a plain name; 0 when there is no room. */
uint32_t kymo__names_text(struct kymo_names *names, const char *text);

/* Add any definition except those of strings and keys. 0 or negative errno. */
int kymo__names_put(struct kymo_names *names, const struct kymo_def *def);

/* Add a definition that holds numbers only. 0 or negative errno. */
int kymo__names_define(struct kymo_names *names, int type, const uint64_t *numbers);
int kymo__names_snapshot(struct kymo_names *names, const struct kymo_snapshot *snapshot);

/* Fill BASE with a clock as readers of the capture will see it, from all snapshots so far. 0 or
   -ENOMEM. */
struct kymo_timebase;
int kymo__names_timebase(struct kymo_names *names, struct kymo_timebase *base);

/* Append to TRAITS the traits of keys that are not in it yet. */
void kymo__names_traits(struct kymo_names *names, struct kymo_buffer *traits);

/* Is KEY the name of a span or an operator? */
bool kymo__names_is_span(struct kymo_names *names, uint32_t key);

/* The gaps defined since the last call, *COUNT of them; the caller frees them. NULL: none. */
struct kymo_gap_notice *kymo__names_take_gaps(struct kymo_names *names, size_t *count);

/* Write what the chunk holds. 0 or negative errno; on failure it is still there. */
int kymo__names_flush(struct kymo_names *names);

#endif
