/* stacknames.h — what the frames of a capture's stacks are called.

   Native frames are given to the symbolizer once, all together; a frame may then stand for
   several functions, since some were inlined. Frames of the interpreter have their names in
   the capture. */
#ifndef KYMO_STACKNAMES_H
#define KYMO_STACKNAMES_H

#include <kymo/symbol.h>

#include "capture.h"
#include "strtab.h"

struct kymo_stack_names {
    const struct kymo_capture *capture;
    struct kymo_symbolizer *symbolizer; /* lends most of the texts */
    struct kymo_strtab made;            /* lends the others */
    struct kymo_named_frame *named;     /* what frames stand for, frame after frame */
    size_t *first;                      /* by frame of the reader: its first; one more at the end */
    bool managed;                       /* there are frames of an interpreter */
    bool *interpreter;                  /* by module: its code is the interpreter's own */
};

/* NAMES of all frames of CAPTURE. Returns 0 or -ENOMEM; fini in any case. */
int kymo__stack_names_init(struct kymo_stack_names *names, const struct kymo_capture *capture,
                           int mode);
void kymo__stack_names_fini(struct kymo_stack_names *names);

/* Build id TEXT, in hex, as bytes, of which there are KYMO__BUILD_ID_MOST at most. Returns how many,
   0 when it is none. */
enum { KYMO__BUILD_ID_MOST = 64 };
uint32_t kymo__build_id(const char *text, uint8_t *bytes);

/* Which native frames people care to see, when frames of Python are there. */
enum kymo_frame_role {
    KYMO__ROLE_CODE,      /* of the program, its libraries and extensions */
    KYMO__ROLE_BUILTIN,   /* of the interpreter, and does work: sorts, hashes, collects */
    KYMO__ROLE_MACHINERY, /* of the interpreter: evaluates, calls, begins */
    KYMO__ROLE_START,     /* how a program or a thread begins */
};

/* What native frame FRAME of the reader is for. */
enum kymo_frame_role kymo__stack_role(const struct kymo_stack_names *names, uint32_t frame);

#endif
