/* stacknames.h — names for the frames of a capture's stacks.

   Native frames are passed to the symbolizer once, all together. A frame may resolve to several
   functions, because of inlining. Frames of the interpreter have their names in the capture. */
#ifndef KYMO_STACKNAMES_H
#define KYMO_STACKNAMES_H

#include <kymo/symbol.h>

#include "capture.h"
#include "strtab.h"

struct kymo_stack_names {
    const struct kymo_capture *capture;
    struct kymo_symbolizer *symbolizer; /* owns most of the texts */
    struct kymo_strtab made;            /* owns the others */
    struct kymo_named_frame *named;     /* functions of all frames, frame after frame */
    size_t *first;                      /* by frame of the reader: its first in `named`; plus the
                                           end */
    bool managed;                       /* there are interpreter frames */
    bool *interpreter;                  /* by module: it is the interpreter's own code */
    const char *machinery, *collector;  /* see kymo_interpreter */
};

/* Find NAMES for all frames of CAPTURE. Returns 0 or -ENOMEM; call fini in either case. */
int kymo__stack_names_init(struct kymo_stack_names *names, const struct kymo_capture *capture,
                           int mode);
void kymo__stack_names_fini(struct kymo_stack_names *names);

/* Convert build id TEXT from hex to at most KYMO__MODULE_ID_MOST bytes. Returns how many, 0 if TEXT
   is not a build id. */
enum { KYMO__MODULE_ID_MOST = 64 };
uint32_t kymo__build_id(const char *text, uint8_t *bytes);

/* What a native frame is for; decides whether it is worth showing among Python frames. */
enum kymo_frame_role {
    KYMO__ROLE_CODE,      /* the program, its libraries and extensions */
    KYMO__ROLE_BUILTIN,   /* interpreter code that does work: sorts, hashes, collects */
    KYMO__ROLE_MACHINERY, /* interpreter code that evaluates, calls, starts up */
    KYMO__ROLE_START,     /* startup of a program or thread */
};

/* Is NAMED an interpreter function that performs a whole garbage collection? */
bool kymo__stack_collects(const struct kymo_stack_names *names,
                          const struct kymo_named_frame *named);

/* Return the role of native frame FRAME of the reader. */
enum kymo_frame_role kymo__stack_role(const struct kymo_stack_names *names, uint32_t frame);

#endif
