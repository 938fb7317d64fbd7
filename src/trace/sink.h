/* sink.h — the capture file while it is being written.

   Nothing here locks; code that shares a sink between threads must. */
#ifndef KYMO_SINK_H
#define KYMO_SINK_H

#include "block.h"
#include "owned.h"

struct kymo_sink {
    struct kymo_owned file;
    char *path;      /* its current or final name: absolute, symbolic links resolved */
    char *temporary; /* its name until kymo__sink_publish, maybe the final one; then NULL */
    uint64_t end;    /* where the next block goes; everything before it is complete */
    bool finished;   /* the footer is there: nothing may be appended */
    int error;       /* the first write that failed: negative errno, KYMO_ETAKEN; or 0 */
};

/* Create a file with HEADER (its magic, version and checksum are filled in here) that will become
   the capture at PATH, readable only by its owner. Until kymo__sink_publish it has another name in
   the same directory, and what is at PATH stays. Returns 0 or a negative errno; KYMO_EOCCUPIED if
   something other than a capture is there, KYMO_EBUSYFILE if someone is recording into it. On
   failure nothing is left behind. */
int kymo__sink_create(struct kymo_sink *sink, const char *path, struct kymo_file_header *header);

/* The same for a PATH of which nobody else knows, so that nothing is there as a rule: then the file
   has its name from the start, and so can its live file. Anybody who looks may find it empty. */
int kymo__sink_create_new(struct kymo_sink *sink, const char *path,
                          struct kymo_file_header *header);

/* May kymo__sink_create make a capture at PATH? Returns 0 or what it would. */
int kymo__sink_check(const char *path);

/* Give the file its name. A capture that nobody is recording into is replaced atomically and its
   live file removed. Returns the same as kymo__sink_create; if two processes do this at once, one
   gets KYMO_EBUSYFILE. */
int kymo__sink_publish(struct kymo_sink *sink);

/* Append LEN bytes of complete blocks. On failure the file is truncated to where it ended, the
   error is remembered, and a later attempt may succeed. If the program closed the descriptor, the
   file is reopened; if that fails, the result is KYMO_ETAKEN. */
int kymo__sink_append(struct kymo_sink *sink, const void *bytes, size_t len);

/* Append the second copies of definitions, the index and the footer. */
int kymo__sink_finish(struct kymo_sink *sink, struct kymo_packer *packer);

/* Returns 1 if the file has been deleted, else 0. */
int kymo__sink_deleted(const struct kymo_sink *sink);

/* Close the descriptor and free. The file stays if it was published. */
void kymo__sink_close(struct kymo_sink *sink);

/* Return the path of the live file for the capture PATH; the caller frees it. */
char *kymo__live_path(const char *path);

#endif
