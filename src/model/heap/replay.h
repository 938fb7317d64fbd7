/* replay.h — replay a capture's memory events: in order of time, every free with the block it
   frees.

   Events of one thread stay in the order recorded; those of several threads at the same time come in
   an order in which they can have happened, see heapties.h. A move by realloc is a free with `moves`
   set, followed by the new block. Unmapping part of a mapping frees that part. */
#ifndef KYMO_REPLAY_H
#define KYMO_REPLAY_H

#include <kymo/heap.h>

#include "capture.h"
#include "sites.h"

enum kymo_heap_kind {
    KYMO__HEAP_ALLOC = 1,
    KYMO__HEAP_FREE,
    KYMO__HEAP_REALLOC, /* like ALLOC */
    KYMO__HEAP_MAP,
    KYMO__HEAP_UNMAP,
    KYMO__HEAP_RESIDENT, /* bytes: resident, from: the most so far, address: mapped */
    KYMO__HEAP_HELD,     /* address: snapshot, from: how many */
    KYMO__HEAP_SNAPSHOT, /* address: snapshot; text: reason */
    KYMO__HEAP_OBJECT,   /* address: snapshot, from: how many, function: type; text: path; owned */
    KYMO__HEAP_KINDS,
};

#define KYMO__HEAP_BYTES_MOST ((UINT64_C(1) << 48) - 1) /* of one block */

/* An event about a block or mapping as it was recorded. Small, since one thread decodes them and
   another one reads them. */
struct kymo_heap_event {
    uint64_t ticks;
    uint64_t address;         /* other kinds: position among the batch's others */
    uint64_t bytes : 48;      /* at most what fits */
    uint64_t kind : 8;        /* enum kymo_heap_kind */
    uint64_t moves : 8;       /* FREE: the next event of the thread is the REALLOC of this block */
    uint32_t stack, function; /* function: a key, for kymo__key_name */
};

/* Any other event. */
struct kymo_heap_other {
    uint64_t ticks;
    uint64_t address, bytes, from, owned; /* see enum kymo_heap_kind */
    uint32_t stack, function, thread;
    uint32_t text_length;
    unsigned kind;
    union {
        const char *text; /* lent during the call; not terminated */
        size_t text_at;   /* while being read */
    };
};

/* A block or a part of a mapping, when it is born or dies. */
struct kymo_heap_block {
    uint64_t address, bytes;
    uint64_t born;   /* ticks */
    uint32_t site;   /* for replay->sites */
    uint32_t thread; /* that allocated it; UINT16_MAX if the capture has more threads than that */
    bool whole;      /* born: always. died: nothing is left of it. alive: its last piece */
    bool mapping;
    bool temporary; /* died: as in enum kymo_heap_set */
    bool renamed;   /* died: the next that is born is the same block under a better name */
};

/* Called in order; a negative result ends the replay and is returned. Any may be NULL. */
struct kymo_replay_visitor {
    void *arg;
    int (*born)(void *arg, uint64_t ticks, const struct kymo_heap_block *block);
    int (*died)(void *arg, uint64_t ticks, const struct kymo_heap_block *block);
    /* RESIDENT, HELD, SNAPSHOT, OBJECT. */
    int (*other)(void *arg, const struct kymo_heap_other *event);
    /* Called for every block that is alive when its process ends, at TICKS, while others go on; then
       `ended` for the process. Without `left` processes last until the end of the capture, and so do
       their blocks. */
    int (*left)(void *arg, uint64_t ticks, const struct kymo_heap_block *block);
    int (*ended)(void *arg, uint64_t ticks, uint32_t process);
    /* Called for every block alive at the end. */
    int (*alive)(void *arg, const struct kymo_heap_block *block);
    /* As in struct kymo_figures_options. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
    uint32_t temporary; /* 0 for the default */
};

struct kymo_replay {
    struct kymo_capture *capture;
    struct kymo_sites sites; /* every stack and function that allocated; grows during the replay */
    uint64_t count[KYMO__HEAP_KINDS]; /* events */
    uint64_t unknown_frees, unseen_frees, disorder, reordered;
};

/* Replay CAPTURE for VISITOR, with REPLAY, all zero, filled as it goes. Returns 0 or a negative
   code; call fini in either case. */
int kymo__replay(struct kymo_replay *replay, struct kymo_capture *capture,
                 const struct kymo_replay_visitor *visitor);
void kymo__replay_fini(struct kymo_replay *replay);

/* Can CAPTURE have memory events? Cheap; false is certain. */
bool kymo__may_have_heap(const struct kymo_capture *capture);

#endif
