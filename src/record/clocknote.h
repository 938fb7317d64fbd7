/* clocknote.h — a note of one host to others, in a file of a folder that they share: when it was
   written, and which notes of others its writer has read. A file is overwritten in place, so that
   nothing is left but one small file; a checksum tells whether it was read whole. */
#ifndef KYMO_CLOCKNOTE_H
#define KYMO_CLOCKNOTE_H

#include <stdbool.h>
#include <stdint.h>

/* One exchange between two hosts. Times are of the monotonic clocks, in the order in which things
   happened. */
struct kymo_exchange {
    uint8_t peer[16]; /* its boot */
    int64_t sent;     /* our clock: before our note was written */
    int64_t seen;     /* the peer's clock: after it had read that */
    int64_t answered; /* the peer's clock: before it wrote so */
    int64_t received; /* our clock: after we had read that */
    int64_t raw;      /* our clock without corrections, when sent */
    int64_t peer_raw; /* the peer's clock without corrections, when answered */
};

#define KYMO__ANSWERS 48 /* in one note */

struct kymo_clocknote {
    uint32_t magic, crc; /* of all that follows, up to the last answer */
    uint8_t boot[16];    /* of the host */
    uint64_t owner;      /* which process of it writes */
    uint64_t sequence;   /* a number that no other note of the host has */
    int64_t sent, raw;   /* read before writing */
    uint64_t exchanges;  /* that ended so far */
    struct kymo_exchange last;
    uint32_t count, unused;
    struct kymo_answer {
        uint8_t boot[16];
        uint64_t sequence; /* of the note that was read */
        int64_t seen;      /* after that */
    } answers[KYMO__ANSWERS];
};

/* Write NOTE to PATH, which exists, or with CREATE must not exist. Sets its checksum. 0 or negative
   errno. */
int kymo__clocknote_write(const char *path, struct kymo_clocknote *note, bool create);

/* Read the note at PATH. 0, -EAGAIN if it is not whole, or negative errno. */
int kymo__clocknote_read(const char *path, struct kymo_clocknote *note);

#endif
