/* streams.h — how far each pipe between processes of a run has been written and read.

   A message of multiprocessing is a header with its length, then its bytes. Both ends count bytes and
   so agree on where a message begins, whatever it contains; several processes may write to a pipe or
   read from it, so the counts are in memory that they share. From the place, the length and the
   first bytes of a message both ends make the same id, that of an arrow.

   An arrow must never be wrong. A pipe whose counts may be wrong, because two wrote at once or
   somebody wrote who is not recorded, has no arrows from then on. */
#ifndef KYMO_EXT_STREAMS_H
#define KYMO_EXT_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stream;

/* One write or read under way. */
struct passage {
    struct stream *stream; /* NULL: not counted */
    int fd;                /* which is read */
};

/* The counts are in the file PATH; if OWNED, this process creates it when they are first needed.
   PATH is copied. Returns 0 or -ENOMEM. Once in a process, before the others. */
int kymo__streams_init(const char *path, bool owned);

/* Create the file now, so that a process which is about to start finds it. */
void kymo__streams_ready(void);

/* The process that owns the file ends: remove it. Nobody counts any longer. */
void kymo__streams_end(void);

/* A and B are the two ends of a new pair of sockets. */
void kymo__streams_pair(int a, int b);

/* This thread is about to write LEN BYTES to FD. Returns the id of the message that begins with them,
   or 0. */
uint64_t kymo__stream_write(struct passage *p, int fd, const void *bytes, size_t len);

/* It wrote COUNT of them; 0 if it failed. */
void kymo__stream_wrote(struct passage *p, const void *bytes, size_t count);

/* This thread is about to read from FD. */
void kymo__stream_read(struct passage *p, int fd);

/* It got COUNT BYTES; 0 if it failed. Returns the id of the message that ends with them, or 0. */
uint64_t kymo__stream_got(struct passage *p, const void *bytes, size_t count);

#endif
