/* stackfile.h — reads raw text of stacks (rawstacks.h). */
#ifndef KYMO_STACKFILE_H
#define KYMO_STACKFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct kymo_stackfile_frame {
    const char *name, *file; /* of interpreted frames; NULL for native ones */
    uint32_t line;
    uint32_t module; /* of native ones: its number in the text */
    uint64_t place;
};

struct kymo_stackfile_thread {
    uint32_t tid;
    const char *role, *name;
    size_t first, count; /* of frames, innermost first */
    bool cut;
    const char *state, *call, *where; /* of a silent thread, else NULL */
    bool blocks;
};

struct kymo_stackfile_module {
    uint32_t number;
    uint64_t base, low, high;
    uint8_t build_id[20];
    uint32_t build_id_bytes;
    const char *path;
};

/* All strings point into `text`. */
struct kymo_stackfile {
    struct kymo_buffer text;
    int64_t pid;
    const char *program;
    int signal; /* 0: no crash */
    int signal_code;
    uint64_t signal_address;
    const char *signal_name;
    bool whole; /* the text is complete */
    struct kymo_stackfile_thread *threads;
    struct kymo_stackfile_frame *frames;
    struct kymo_stackfile_module *modules;
    size_t thread_count, frame_count, module_count;
    size_t thread_room, frame_room, module_room;
};

/* Read from descriptor FD. 0, KYMO_ENOTSTACKS or a negative errno. Truncated text is read as far
   as it goes; an invalid line counts as the point of truncation. */
int kymo__stackfile_read(struct kymo_stackfile *file, int fd);
void kymo__stackfile_fini(struct kymo_stackfile *file);

/* The module with that number, or NULL. */
const struct kymo_stackfile_module *kymo__stackfile_module(const struct kymo_stackfile *file,
                                                           uint32_t number);

#endif
