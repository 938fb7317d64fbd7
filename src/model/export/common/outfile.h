/* outfile.h — write a file that appears only when it is complete.

   The data goes to a temporary file in the same directory, which is renamed at the end. If the
   target exists and is not a regular file (a pipe, /dev/null), or is "-" (standard output), it is
   written directly. A symbolic link is followed only if it is the user's own; another user's is
   replaced. A name that ends in .gz is compressed. */
#ifndef KYMO_OUTFILE_H
#define KYMO_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kymo_gzip_part;
struct kymo_packing;

struct kymo_outfile {
    int fd;
    mode_t mode;                  /* mode of the finished file */
    char *path, *temporary;       /* both NULL when writing directly */
    struct kymo_packing *packing; /* NULL if not compressed */
    uint8_t *bytes;               /* not written yet */
    size_t used;
    uint64_t written; /* bytes accepted so far, before compression */
    int error;        /* negative errno of the first write that failed, or 0 */
};

/* Start the file for PATH. Only its owner can read it until it is finished; then it gets MODE.
   Returns 0, or a negative errno with nothing left behind. */
int kymo__outfile_open(struct kymo_outfile *out, const char *path, mode_t mode);

/* Return the permissions of the file that FD has open, for files derived from it. */
mode_t kymo__outfile_mode_of(int fd);

/* Compress what is added, whatever the file's name. Call before adding anything. Returns 0 or
   -ENOMEM. */
int kymo__outfile_pack(struct kymo_outfile *out);

/* Return room for SIZE bytes; the caller fills it and adds to out->used. NULL if SIZE is too large.
   After a failure there is still room, and out->error is set. */
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

/* Add PART, if the file is compressed. */
void kymo__outfile_add_part(struct kymo_outfile *out, const struct kymo_gzip_part *part);

/* Finish. If KEEP, the file gets its name, otherwise it is deleted. Returns 0 or the first error;
   on an error the file is deleted in either case. */
int kymo__outfile_close(struct kymo_outfile *out, bool keep);

#endif
