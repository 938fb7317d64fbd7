/* stack_310.h — the interpreter's frames as pyframes.c sees them, on 3.10. See stack_312.h.

   Every frame is an object evaluated by its own native function call, which has a structure on the
   native stack; these are linked in the same order. */
#ifndef KYMO_EXT_STACK_310_H
#define KYMO_EXT_STACK_310_H

#include "compat.h"
#include "readable.h"

#include <frameobject.h>
#include <kymo/stack.h>

typedef PyFrameObject kymo_py_frame;

static inline __attribute__((always_inline)) void
kymo__stack_walk(PyThreadState *state, struct kymo_managed_walk *walk, struct kymo_pages *pages)
{
    const CFrame *entry = state->cframe;
    const PyFrameObject *frame = state->frame;
    struct kymo_managed_frame *at = walk->frames, *end = at + walk->capacity;
    uint64_t hash = walk->hash;
    for (; frame; frame = frame->f_back, at++) {
        if (pages && !kymo__readable(pages, frame, sizeof *frame))
            break;
        if (at == end) {
            walk->truncated = 1;
            break;
        }
        at->code = (uint64_t)(uintptr_t)frame->f_code;
        at->place = (uint64_t)(int64_t)frame->f_lasti;
        at->mark = (uint64_t)(uintptr_t)entry;
        if (entry)
            entry = pages && !kymo__readable(pages, entry, sizeof *entry) ? NULL : entry->previous;
        hash = kymo_stack_hash(hash, at->code + (at->place << 48));
    }
    walk->hash = hash;
    walk->count = (size_t)(at - walk->frames);
}

static inline __attribute__((always_inline)) uint64_t
kymo__stack_hash_only(PyThreadState *state, uint64_t hash, size_t most)
{
    const PyFrameObject *frame = state->frame;
    for (; frame && most; frame = frame->f_back, most--)
        hash = kymo_stack_hash(hash, (uint64_t)(uintptr_t)frame->f_code +
                                         ((uint64_t)(int64_t)frame->f_lasti << 48));
    return frame ? UINT64_MAX : hash;
}

static inline const kymo_py_frame *kymo__stack_top(PyThreadState *state)
{
    return state->frame;
}

static inline const kymo_py_frame *kymo__frame_caller(const kymo_py_frame *frame)
{
    return frame->f_back;
}

static inline uint64_t kymo__frame_code(const kymo_py_frame *frame)
{
    return (uint64_t)(uintptr_t)frame->f_code;
}

static inline uint64_t kymo__frame_place(const kymo_py_frame *frame)
{
    return (uint64_t)(int64_t)frame->f_lasti;
}

static inline bool kymo__frame_stays(const kymo_py_frame *frame, const struct kymo_trail_frame *at)
{
    return at->place == kymo__frame_place(frame) && at->code == kymo__frame_code(frame);
}

static inline const PyCodeObject *kymo__stack_code(const struct kymo_managed_frame *frame)
{
    return (const PyCodeObject *)(uintptr_t)frame->code;
}

static inline int64_t kymo__stack_unit(const struct kymo_managed_frame *frame,
                                       const PyCodeObject *code)
{
    (void)code;
    return (int64_t)frame->place < 0 ? 0 : (int64_t)frame->place;
}

#endif
