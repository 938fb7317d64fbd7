/* writer.h — write a capture made from others: takes definitions and records, produces a complete
   file.

   The recorder writes what threads store while they run; this writes existing data, one thread
   after another, with one block of records in memory. The file is written under a temporary name in
   the same directory and renamed at the end. Ids are assigned here, dense and from 1; equal strings
   get one id. After a failure all calls fail, and finish returns the error. */
#ifndef KYMO_WRITER_H
#define KYMO_WRITER_H

#include "sink.h"
#include "strtab.h"

struct kymo_writer;
struct kymo_def;
struct kymo_plan;

/* Start the capture PATH with HEADER, whose magic, version, identity and checksum are filled in.
   Returns 0, KYMO_EOCCUPIED, KYMO_EBUSYFILE or a negative errno; on failure nothing is left
   behind. */
int kymo__writer_new(const char *path, struct kymo_file_header *header,
                     struct kymo_writer **writer);

/* Return the id of TEXT, which may be empty; 0 after a failure. */
uint32_t kymo__writer_string(struct kymo_writer *writer, const char *text);

/* Create a key; it is defined if NAME is not 0. Strings are ids of this writer. */
uint32_t kymo__writer_key(struct kymo_writer *writer, uint32_t name, uint32_t file, uint32_t line,
                          uint32_t class);

/* Any other definition. */
void kymo__writer_define(struct kymo_writer *writer, const struct kymo_def *def);

/* Write an event of thread INDEX after its earlier ones; write all events of a thread together.
   VALUE is used if its kind has one, or for an enter with KYMO_HAS_ID. */
void kymo__writer_event(struct kymo_writer *writer, uint32_t thread, uint64_t ticks, uint64_t word,
                        uint64_t value);

/* Define a schema, with keys of this writer. Returns its number, or 0 if there are too many. */
uint32_t kymo__writer_schema(struct kymo_writer *writer, uint32_t name,
                             const struct kymo_plan *plan, const uint32_t *fields);

/* Write a payload of schema NUMBER, whose name is KEY, for the last event of THREAD. */
void kymo__writer_payload(struct kymo_writer *writer, uint32_t thread, uint32_t key,
                          uint32_t number, const uint8_t *bytes, size_t len);

/* The first failure so far: a negative code, or 0. */
int kymo__writer_error(const struct kymo_writer *writer);

/* Finish and free. If KEEP, the file gets its name, otherwise it is deleted. Returns 0 or the first
   failure; on failure the file is deleted in either case. */
int kymo__writer_finish(struct kymo_writer *writer, bool keep);

#endif
