/* sink.h — the capture file while it is being written.

   Nothing here locks; whoever shares a sink between threads does. */
#ifndef KYMO_SINK_H
#define KYMO_SINK_H

#include "block.h"

struct kymo_sink {
    int fd;
    char *path;   /* as created: symbolic links resolved */
    uint64_t end; /* where the next block goes; everything before it is whole */
    int error;    /* negative errno of the first write that failed, or 0 */
};

/* Create the file at PATH with HEADER (its magic, version and checksum are filled in
   here). A capture that nobody is recording into is replaced; anything else that
   exists is left alone. Returns 0, -KYMO_EOCCUPIED, -KYMO_EBUSYFILE or negative errno;
   on failure nothing is left behind. */
int kymo__sink_create(struct kymo_sink *sink, const char *path, struct kymo_file_header *header);

/* May a capture be put at PATH? 0, or what kymo__sink_create would return. */
int kymo__sink_check(const char *path);

/* Give the file, which is finished, the name PATH, under the same conditions. What is there
   is replaced at once, its live file is removed. On failure the file keeps its name. */
int kymo__sink_move(struct kymo_sink *sink, const char *path);

/* Append LEN bytes of whole blocks. On failure the file ends where it ended before,
   the error is remembered, and a later attempt may succeed. */
int kymo__sink_append(struct kymo_sink *sink, const void *bytes, size_t len);

/* Append the second copies of definitions, the index and the footer. */
int kymo__sink_finish(struct kymo_sink *sink, struct kymo_packer *packer);

/* Close the descriptor and free. The file stays. */
void kymo__sink_close(struct kymo_sink *sink);

/* The path of the live file that belongs to the capture PATH; to be freed. */
char *kymo__live_path(const char *path);

#endif
