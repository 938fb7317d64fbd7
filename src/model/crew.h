/* crew.h — the threads of a capture turned into bytes, by several processor cores.

   A format says how the events of one thread become bytes. Whoever is free takes a thread,
   reads on until a chunk is full, puts the thread back for the next, and then packs and
   writes the chunk: so even one long thread keeps two cores busy, and more when packing is
   what takes time. Chunks of a thread stay in order; those of different threads mix.

   Memory is a chunk and a stack for each core, whatever the capture's length. */
#ifndef KYMO_CREW_H
#define KYMO_CREW_H

#include "calls.h"
#include "export.h"

enum { KYMO__CREW_CHUNK = 1 << 18 };

/* A thread that is being read, by one of the crew at a time. */
struct kymo_crew_thread {
    struct kymo_thread_info info;
    const char *name;       /* what to show: the thread's, or one made of its id */
    uint64_t tid;           /* unlike any other thread's */
    int64_t pid;            /* unlike any other process's */
    uint64_t before;        /* events of the threads before it, at most */
    struct kymo_buffer out; /* the chunk */
    void *state;            /* the format's, all zero at first */
    void *arg;              /* the format's, the same for all */
    /* The rest is the crew's own. */
    char unnamed[40];
    struct kymo_capture *capture;
    struct kymo_calls calls;
    struct kymo_visitor visitor;
    struct kymo_crew_thread *next;
};

/* What a format does; any but `enter` and `leave` may be NULL. All are called with the
   struct kymo_crew_thread, the visitor's as its argument. `begin` comes before its events,
   `end` frees what the state owns. */
struct kymo_crew_format {
    size_t state_size;
    int (*begin)(struct kymo_crew_thread *thread);
    int (*enter)(void *thread, struct kymo_frame *frame, uint32_t depth);
    int (*leave)(void *thread, const struct kymo_slice *slice);
    int (*other)(void *thread, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count);
    void (*end)(struct kymo_crew_thread *thread);
    /* Make PACKED of CHUNK, on any core. Positive: it did not pay; CHUNK is written. */
    int (*pack)(const struct kymo_buffer *chunk, struct kymo_buffer *packed);
};

/* Write the threads that OPTIONS choose to OUT. Returns 0 or a negative code. */
int kymo__crew_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                     const struct kymo_crew_format *format, void *arg, struct kymo_outfile *out);

/* What `unlike any other thread's` means: a second thread to which the system gave the same
   id has one from here on, where no system's ids reach. */
#define KYMO__SECOND_TID UINT64_C(1000000000)

/* The same for process INDEX of a capture made of several; *INFO tells the rest of it. */
int64_t kymo__crew_pid(const struct kymo_capture *capture, uint32_t index,
                       struct kymo_process_info *info);

#endif
