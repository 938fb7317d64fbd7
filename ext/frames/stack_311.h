/* stack_311.h — the interpreter's frames as pyframes.c sees them, on 3.11. See stack_312.h.

   A frame entered from native code is flagged; each such entry has a structure on the native stack,
   linked in the same order. */
#ifndef KYMO_EXT_STACK_311_H
#define KYMO_EXT_STACK_311_H

#include "compat.h"
#include "readable.h"

#include <kymo/stack.h>
#include <stdbool.h>

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

typedef struct _PyInterpreterFrame kymo_py_frame;

#define KYMO_GENERATOR_BIT UINT64_C(1)

static inline __attribute__((always_inline)) void
kymo__stack_walk(PyThreadState *state, struct kymo_managed_walk *walk, struct kymo_pages *pages)
{
    const _PyCFrame *entry = state->cframe;
    const struct _PyInterpreterFrame *frame = entry->current_frame;
    struct kymo_managed_frame *at = walk->frames, *end = at + walk->capacity;
    uint64_t hash = walk->hash;
    for (; frame; frame = frame->previous, at++) {
        if (pages && !kymo__readable(pages, frame, offsetof(_PyInterpreterFrame, localsplus)))
            break;
        if (at == end) {
            walk->truncated = 1;
            break;
        }
        at->code = (uint64_t)(uintptr_t)frame->f_code | (frame->owner == FRAME_OWNED_BY_GENERATOR);
        at->place = (uint64_t)(uintptr_t)frame->prev_instr;
        at->mark = 0;
        if (frame->is_entry && entry) {
            at->mark = (uint64_t)(uintptr_t)entry;
            entry = pages && !kymo__readable(pages, entry, sizeof *entry) ? NULL : entry->previous;
        }
        hash = kymo_stack_hash(hash, at->place);
    }
    walk->hash = hash;
    walk->count = (size_t)(at - walk->frames);
}

static inline __attribute__((always_inline)) uint64_t
kymo__stack_hash_only(PyThreadState *state, uint64_t hash, size_t most)
{
    const struct _PyInterpreterFrame *frame = state->cframe->current_frame;
    for (; frame && most; frame = frame->previous, most--)
        hash = kymo_stack_hash(hash, (uint64_t)(uintptr_t)frame->prev_instr);
    return frame ? UINT64_MAX : hash;
}

static inline const kymo_py_frame *kymo__stack_top(PyThreadState *state)
{
    return state->cframe->current_frame;
}

static inline const kymo_py_frame *kymo__frame_caller(const kymo_py_frame *frame)
{
    return frame->previous;
}

static inline uint64_t kymo__frame_code(const kymo_py_frame *frame)
{
    return (uint64_t)(uintptr_t)frame->f_code | (frame->owner == FRAME_OWNED_BY_GENERATOR);
}

static inline uint64_t kymo__frame_place(const kymo_py_frame *frame)
{
    return (uint64_t)(uintptr_t)frame->prev_instr;
}

static inline bool kymo__frame_stays(const kymo_py_frame *frame, const struct kymo_trail_frame *at)
{
    return at->place == kymo__frame_place(frame);
}

static inline const PyCodeObject *kymo__stack_code(const struct kymo_managed_frame *frame)
{
    return (const PyCodeObject *)(uintptr_t)(frame->code & ~KYMO_GENERATOR_BIT);
}

static inline int64_t kymo__stack_unit(const struct kymo_managed_frame *frame,
                                       const PyCodeObject *code)
{
    int64_t unit = ((int64_t)frame->place - (int64_t)(uintptr_t)code->co_code_adaptive) /
                   (int64_t)sizeof(_Py_CODEUNIT);
    bool generator = frame->code & KYMO_GENERATOR_BIT;
    return generator || unit >= code->_co_firsttraceable ? unit : -1;
}

#endif
