/* capture_file.h — opens the capture a user named, or explains why it cannot. */
#ifndef KYMO_CLI_CAPTURE_FILE_H
#define KYMO_CLI_CAPTURE_FILE_H

#include <kymo/kymo.h>

#include "family.h"

/* Choose the processes that the functions below open: a pid, "pid:N", "rank:N", an index or a name;
   NULL for all. The text must live as long as it is used. */
void kymo__cli_capture_process(const char *process);

/* Open PATH, together with the captures of its child processes, and fill INFO. On success the caller closes *CAPTURE; otherwise prints a message and
   returns CLI_BAD. */
int kymo__cli_capture_open(const char *path, struct kymo_capture **capture, struct kymo_info *info);

/* The same for the file alone, without its child processes, and silent about an index file that
   does not match. */
int kymo__cli_capture_open_plain(const char *path, struct kymo_capture **capture,
                                 struct kymo_info *info);

/* The same, but do not count the samples, which would read the whole file. */
int kymo__cli_capture_open_uncounted(const char *path, struct kymo_capture **capture,
                                     struct kymo_info *info);

/* Open PATH and the captures of its child processes one by one. *CAPTURE is the first, and belongs
   to FAMILY, which the caller closes unless this fails. */
int kymo__cli_capture_open_first(const char *path, struct kymo_family *family,
                                 struct kymo_capture **capture, struct kymo_info *info);

/* Print a message about CODE, which a reading function returned for PATH. Returns CLI_BAD. */
int kymo__cli_capture_broken(const char *path, int code);

/* Print that CAPTURE, opened from PATH, has no memory events, and why. Returns CLI_BAD. */
int kymo__cli_capture_no_memory(const char *path, const struct kymo_capture *capture);

#endif
