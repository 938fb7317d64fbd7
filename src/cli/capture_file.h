/* capture_file.h — opens the capture a user named, or says what is wrong with it. */
#ifndef KYMO_CLI_CAPTURE_FILE_H
#define KYMO_CLI_CAPTURE_FILE_H

#include <kymo/kymo.h>

/* Open PATH and fill INFO. On success *CAPTURE is to be closed; otherwise a complaint
   was printed and the result is CLI_BAD. */
int kymo__cli_capture_open(const char *path, struct kymo_capture **capture, struct kymo_info *info);

/* Complain about CODE, which a reading function returned for PATH. Returns CLI_BAD. */
int kymo__cli_capture_broken(const char *path, int code);

#endif
