/* generated.h — names of code generated at run time, from the files that processes write for perf:
   /tmp/perf-PID.map, and /tmp/jit-PID.dump in the jitdump format. */
#ifndef KYMO_GENERATED_H
#define KYMO_GENERATED_H

#include <kymo/symbol.h>

#include "bytes.h"
#include "texts.h"

struct kymo_code_line {
    uint64_t address;
    const char *file;
    uint32_t line;
};

/* Generated code of a process. Addresses may be reused: the later entry counts. */
struct kymo_code {
    uint64_t begin, end, reach; /* reach: the greatest end of this and all before it */
    const char *name;
    size_t order, first_line, line_count;
};

struct kymo_codes {
    struct kymo_code *list;
    size_t count, capacity;
    struct kymo_code_line *lines;
    size_t line_count, line_capacity;
};

struct kymo_generated {
    struct kymo_generated_process {
        int64_t pid;
        struct kymo_codes codes;
        struct kymo_stamp {
            int64_t size, seconds, nanoseconds; /* of the file when it was read */
        } stamp[2];
    } * processes;
    size_t count, capacity;
};

/* All-zero is empty. See kymo_symbolize_generated. */
int kymo__generated_find(struct kymo_generated *generated, struct kymo_texts *texts, int64_t pid,
                         uint64_t address, struct kymo_symbol *symbol);
void kymo__generated_fini(struct kymo_generated *generated);

/* Add the entries of a file with the bytes FILE, as far as it can be parsed. Returns 0 or
   -ENOMEM. */
int kymo__perfmap_read(struct kymo_codes *codes, struct kymo_texts *texts, struct kymo_view file);
int kymo__jitdump_read(struct kymo_codes *codes, struct kymo_texts *texts, struct kymo_view file);

int kymo__codes_add(struct kymo_codes *codes, const struct kymo_code *code);

/* Sort them; required before lookups. */
void kymo__codes_sort(struct kymo_codes *codes);
int kymo__codes_find(const struct kymo_codes *codes, uint64_t address, struct kymo_symbol *symbol);
void kymo__codes_fini(struct kymo_codes *codes);

#endif
