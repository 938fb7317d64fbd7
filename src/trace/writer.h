/* writer.h — a capture made from others: definitions and records in, a whole file out.

   The recorder writes what threads store while they go on; this writes what is at hand, one
   thread after another, with one block of records in memory. The file is made under another
   name beside the one wanted and takes that at the end. Ids are given here, dense and from
   1; equal strings get one id. What fails makes everything after it fail: finish tells. */
#ifndef KYMO_WRITER_H
#define KYMO_WRITER_H

#include "sink.h"
#include "strtab.h"

struct kymo_writer;
struct kymo_def;

/* Begin the capture PATH with HEADER, whose magic, version, identity and checksum are filled
   in. Returns 0, -KYMO_EOCCUPIED, -KYMO_EBUSYFILE or negative errno; on failure nothing is
   left behind. */
int kymo__writer_new(const char *path, struct kymo_file_header *header,
                     struct kymo_writer **writer);

/* The id of TEXT, which may be empty; 0 after a failure. */
uint32_t kymo__writer_string(struct kymo_writer *writer, const char *text);

/* A new id for a key; defined when NAME is not 0. Strings are ids of this writer. */
uint32_t kymo__writer_key(struct kymo_writer *writer, uint32_t name, uint32_t file, uint32_t line,
                          uint32_t class);

/* Any other definition. */
void kymo__writer_define(struct kymo_writer *writer, const struct kymo_def *def);

/* An event of thread INDEX, behind those it had; events of one thread come together. VALUE
   is the one that its kind, or an enter with KYMO_HAS_ID, has. */
void kymo__writer_event(struct kymo_writer *writer, uint32_t thread, uint64_t ticks, uint64_t word,
                        uint64_t value);

/* The first failure so far: negative code, or 0. */
int kymo__writer_error(const struct kymo_writer *writer);

/* End, and free: with KEEP the file takes its name, otherwise it is gone. Returns 0 or the
   first failure; then the file is gone in any case. */
int kymo__writer_finish(struct kymo_writer *writer, bool keep);

#endif
