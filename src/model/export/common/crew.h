/* crew.h — turn the threads of a capture into bytes on several cores.

   A format defines how one thread's events become bytes. Threads are cut into pieces at checkpoints
   (pieces.h), and each piece is turned into bytes with a fresh state. The file contains the pieces
   in the order of threads and time, however many cores there are; where a capture has checkpoints,
   its bytes do not depend on their number. Only long threads without checkpoints mix, chunk by
   chunk, unless the format is `ordered`.

   Memory use is a few MiB and a stack per core, independent of the capture's length.

   Formats do not get memory events, of which there may be millions; memcounters.h has the sums. */
#ifndef KYMO_CREW_H
#define KYMO_CREW_H

#include "calls.h"
#include "export.h"

enum { KYMO__CREW_CHUNK = 1 << 18 };

/* A piece of a thread being read, by one member at a time. */
struct kymo_crew_thread {
    struct kymo_thread_info info;
    const char *name;       /* for display: the thread's name, or one made from its id */
    uint64_t tid;           /* unique among threads */
    int64_t pid;            /* unique among processes */
    bool first;             /* the thread begins here */
    kymo_ns since;          /* no earlier event belongs here, unless time runs backwards */
    struct kymo_buffer out; /* the chunk */
    void *state;            /* the format's state, initially all zero */
    void *arg;              /* the format's argument, the same for all threads */
    /* The rest is private to crewjob.c. */
    char unnamed[40];
    struct kymo_capture *capture;
    struct kymo_calls calls;
    struct kymo_visitor visitor;
};

/* A format's callbacks; any but `enter` and `leave` may be NULL. All get the struct
   kymo_crew_thread, the visitor's as their argument. `begin` runs before the events of a piece;
   `end` frees what the state owns. */
struct kymo_crew_format {
    size_t state_size;
    bool whole;   /* threads are not cut */
    bool ordered; /* a thread's bytes are never mixed with another's, however long it is */
    int (*begin)(struct kymo_crew_thread *thread);
    int (*enter)(void *thread, struct kymo_open_call *frame, uint32_t depth);
    /* A call that began in an earlier piece, and was written there, is open when this one starts. */
    int (*again)(void *thread, struct kymo_open_call *frame, uint32_t depth);
    int (*leave)(void *thread, const struct kymo_slice *slice);
    int (*other)(void *thread, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count);
    /* At the end of a piece: what follows depends on the state. The thread is then read on with it
       to its end. */
    bool (*goes_on)(const struct kymo_crew_thread *thread);
    /* The thread ends here: add what comes after its events. */
    int (*finish)(struct kymo_crew_thread *thread);
    void (*end)(struct kymo_crew_thread *thread);
    /* Pack CHUNK into PACKED, on any core. Returns a positive number if packing did not pay; CHUNK
       is then written as is. */
    int (*pack)(const struct kymo_buffer *chunk, struct kymo_buffer *packed);
};

/* Write the threads that OPTIONS select to OUT. Returns 0 or a negative code. */
int kymo__crew_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                     const struct kymo_crew_format *format, void *arg, struct kymo_outfile *out);

/* Tests only: work with so many MEMBERS, at most 16, and cut pieces of about RECORDS records; 0: as
   usual. */
void kymo__crew_limit(unsigned members, uint64_t records);

/* How thread ids are made unique: a second thread with a reused id gets one from here on, above any
   system's thread ids. */
#define KYMO__SECOND_TID UINT64_C(1000000000)

/* The same for process INDEX of a merged capture; *INFO receives the rest about it. */
int64_t kymo__crew_pid(const struct kymo_capture *capture, uint32_t index,
                       struct kymo_process_info *info);

#endif
