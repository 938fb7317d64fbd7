/* stack_312.h — the interpreter's frames as pyframes.c sees them, from 3.12 on.

   Frames are the interpreter's own structures, linked from the innermost outwards. Where native
   code entered the interpreter there is an extra frame without a function. It is on the native
   stack, in the frame of the function that evaluates the frames before it: a mark. The outermost is
   always such a frame. */
#ifndef KYMO_EXT_STACK_312_H
#define KYMO_EXT_STACK_312_H

#include "compat.h"
#include "readable.h"

#include <kymo/stack.h>

typedef struct _PyInterpreterFrame kymo_py_frame;

#define KYMO_GENERATOR_BIT UINT64_C(1) /* of `code`: the frame belongs to a generator */

static inline __attribute__((always_inline)) void
kymo__stack_walk(PyThreadState *state, struct kymo_managed_walk *walk, struct kymo_pages *pages)
{
    const kymo_py_frame *frame = KYMO_TOP_FRAME(state);
    struct kymo_managed_frame *at = walk->frames, *end = at + walk->capacity;
    uint64_t hash = walk->hash;
    bool ended = !frame; /* as it should */
    while (frame) {
        if (pages && !kymo__readable(pages, frame, offsetof(kymo_py_frame, localsplus)))
            break;
        const kymo_py_frame *previous = frame->previous;
        if (frame->owner >= KYMO_OWNED_BY_NOBODY) {
            ended = !previous;
            if (at != walk->frames && !at[-1].mark)
                at[-1].mark = (uint64_t)(uintptr_t)frame;
        } else if (at == end) {
            walk->truncated = 1;
            break;
        } else {
            at->code = KYMO_FRAME_CODE(frame) | (frame->owner == FRAME_OWNED_BY_GENERATOR);
            at->place = (uint64_t)(uintptr_t)KYMO_FRAME_PLACE(frame);
            at->mark = 0;
            hash = kymo_stack_hash(hash, at->place);
            at++;
        }
        frame = previous;
    }
    walk->hash = hash;
    walk->count = (size_t)(at - walk->frames);
    /* A generator that yields is unlinked from its caller, and only then no longer the innermost. */
    if (pages)
        walk->torn = !ended && !walk->truncated;
}

/* The hash that the walk computes, alone; UINT64_MAX if there are more than MOST frames. */
static inline __attribute__((always_inline)) uint64_t
kymo__stack_hash_only(PyThreadState *state, uint64_t hash, size_t most)
{
    for (const kymo_py_frame *frame = KYMO_TOP_FRAME(state); frame; frame = frame->previous)
        if (frame->owner < KYMO_OWNED_BY_NOBODY) {
            if (!most--)
                return UINT64_MAX;
            hash = kymo_stack_hash(hash, (uint64_t)(uintptr_t)KYMO_FRAME_PLACE(frame));
        }
    return hash;
}

/* Single frames, for framechain.h. The code of one that has no function is 0. */
static inline const kymo_py_frame *kymo__stack_top(PyThreadState *state)
{
    return KYMO_TOP_FRAME(state);
}

static inline const kymo_py_frame *kymo__frame_caller(const kymo_py_frame *frame)
{
    return frame->previous;
}

static inline uint64_t kymo__frame_code(const kymo_py_frame *frame)
{
    return frame->owner >= KYMO_OWNED_BY_NOBODY
               ? 0
               : KYMO_FRAME_CODE(frame) | (frame->owner == FRAME_OWNED_BY_GENERATOR);
}

static inline uint64_t kymo__frame_place(const kymo_py_frame *frame)
{
    return (uint64_t)(uintptr_t)KYMO_FRAME_PLACE(frame);
}

/* Is FRAME, which is where AT was, still at the same instruction? Its address tells the function: see
   kymo_interpreter_forget. */
static inline bool kymo__frame_stays(const kymo_py_frame *frame, const struct kymo_trail_frame *at)
{
    return at->place == kymo__frame_place(frame);
}

static inline const PyCodeObject *kymo__stack_code(const struct kymo_managed_frame *frame)
{
    return (const PyCodeObject *)(uintptr_t)(frame->code & ~KYMO_GENERATOR_BIT);
}

/* The instruction, in code units; -1 for a frame that is not shown because its function has not
   begun. */
static inline int64_t kymo__stack_unit(const struct kymo_managed_frame *frame,
                                       const PyCodeObject *code)
{
    int64_t unit =
        ((int64_t)frame->place - (int64_t)(uintptr_t)KYMO_CODE_START(code, frame->place)) /
        (int64_t)sizeof(_Py_CODEUNIT);
    bool generator = frame->code & KYMO_GENERATOR_BIT;
    return generator || unit >= code->_co_firsttraceable ? unit : -1;
}

#endif
