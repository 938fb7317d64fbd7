/* outfile.h — a file that is being made: there when it is whole, and not before.

   It is written under another name beside the one wanted and takes that name at the end.
   What exists there and is not a regular file (a pipe, /dev/null), and "-", standard
   output, are written directly. A name that ends in .gz is compressed. */
#ifndef KYMO_OUTFILE_H
#define KYMO_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_gzip_part;
struct kymo_packing;

struct kymo_outfile {
    int fd;
    char *path, *temporary;       /* NULL both when it is written directly */
    struct kymo_packing *packing; /* NULL when it is not compressed */
    uint8_t *bytes;               /* not written yet */
    size_t used;
    uint64_t written; /* bytes given away so far, before compression */
    int error;        /* of the first write that failed, negative errno, or 0 */
};

/* Begin the file at PATH. Returns 0, or negative errno with nothing left behind. */
int kymo__outfile_open(struct kymo_outfile *out, const char *path);

/* Compress what is added, whatever its name, before anything has been. 0 or -ENOMEM. */
int kymo__outfile_pack(struct kymo_outfile *out);

/* Room for SIZE bytes, to be counted in out->used by whoever fills it; NULL when SIZE is
   absurd. After a failure there is still room, and out->error tells. */
enum { KYMO__OUTFILE_ROOM = 1 << 20 };
int kymo__outfile_flush(struct kymo_outfile *out);
static inline uint8_t *kymo__outfile_room(struct kymo_outfile *out, size_t size)
{
    if (__builtin_expect(out->used + size > KYMO__OUTFILE_ROOM, 0))
        kymo__outfile_flush(out);
    return out->bytes + out->used;
}

/* Add LEN bytes, any number. */
void kymo__outfile_add(struct kymo_outfile *out, const void *bytes, size_t len);

/* Add what is in PART, where the file is compressed. */
void kymo__outfile_add_part(struct kymo_outfile *out, const struct kymo_gzip_part *part);

/* Finish: with KEEP the file takes its name, otherwise it is gone. Returns 0 or the error
   of the first thing that failed; then the file is gone in any case. */
int kymo__outfile_close(struct kymo_outfile *out, bool keep);

#endif
