/* file.h — read and write files completely, with errors as negative errno.

   Writing past a file-size limit raises SIGXFSZ, which kills by default; these functions suppress
   it and return -EFBIG instead. */
#ifndef KYMO_FILE_H
#define KYMO_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Between begin and end SIGXFSZ does not reach this thread. RC is the negative errno of the system
   call between them, or 0: the signal comes only with -EFBIG. */
struct kymo_quiet {
    sigset_t before;
    bool was_blocked, was_pending;
};
void kymo__quiet_begin(struct kymo_quiet *quiet);
void kymo__quiet_end(const struct kymo_quiet *quiet, int rc);

/* Write all LEN bytes at OFFSET. Returns 0 or a negative errno; then part may have been written. */
int kymo__file_write(int fd, const void *bytes, size_t len, uint64_t offset);

/* Read up to LEN bytes at OFFSET; fewer only at the end of the file. Returns how
   many, or negative errno. */
ssize_t kymo__file_read(int fd, void *bytes, size_t len, uint64_t offset);

/* Read a small text file, such as those in /proc, into BUFFER as a string without its last newline.
   Returns its length or a negative errno. */
ssize_t kymo__file_text(const char *path, char *buffer, size_t size);

/* Lock the whole file while the descriptor is open, for writers only or for all readers, with an
   open file description lock, which works across PID namespaces and ends with the process. Does not
   wait: returns 0 or a negative errno; -EAGAIN if someone else holds it. */
int kymo__file_lock(int fd, bool writes);

/* Do not rely on close: a child being forked has the descriptor, too. */
void kymo__file_unlock(int fd);

#endif
