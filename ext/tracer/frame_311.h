/* frame_311.h — what hook_profile.c reads from a frame, on 3.11.

   There, frames are internal structures of the interpreter, and the last instruction that a
   frame began shows its state. */
#ifndef KYMO_EXT_FRAME_311_H
#define KYMO_EXT_FRAME_311_H

#include "compat.h"

#include <opcode.h>
#include <stdbool.h>

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

typedef struct _PyInterpreterFrame kymo_eval_frame;

static inline PyObject *kymo__frame_code(PyFrameObject *frame)
{
    return (PyObject *)frame->f_frame->f_code;
}

static inline kymo_eval_frame *kymo__frame_eval(PyFrameObject *frame)
{
    return frame->f_frame;
}

/* Calls are reported at the RESUME instruction; its argument says why the frame resumes. */
static inline unsigned kymo__frame_resumes(PyFrameObject *frame)
{
    return (_Py_OPARG(*frame->f_frame->prev_instr) & 3) != 0;
}

static inline unsigned kymo__frame_yields(PyFrameObject *frame)
{
    return _Py_OPCODE(*frame->f_frame->prev_instr) == YIELD_VALUE;
}

/* A frame that nobody has inspected has no frame object; then it is not one that we know. */
static inline PyFrameObject *kymo__caller(PyThreadState *state)
{
    const struct _PyInterpreterFrame *frame = state->cframe->current_frame;
    return frame ? frame->frame_obj : NULL;
}

/* The innermost frame that STATE is evaluating. */
static inline kymo_eval_frame *kymo__current(PyThreadState *state)
{
    return state->cframe->current_frame;
}

/* The frame that called FRAME. */
static inline kymo_eval_frame *kymo__eval_back(const kymo_eval_frame *frame)
{
    return frame->previous;
}

/* FRAME's current instruction, for comparison only. */
static inline const void *kymo__eval_position(const kymo_eval_frame *frame)
{
    return frame->prev_instr;
}

/* The same in bytes from the start of its code. */
static inline int kymo__eval_offset(const kymo_eval_frame *frame)
{
    return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
}

/* Its variable INDEX, arguments first; borrowed, or NULL. */
static inline PyObject *kymo__eval_local(const kymo_eval_frame *frame, int index)
{
    return frame->localsplus[index];
}

static inline PyObject *kymo__eval_code(kymo_eval_frame *frame)
{
    return (PyObject *)frame->f_code;
}

/* Calling a generator function evaluates its frame only as far as creating the object. */
static inline bool kymo__eval_creates_generator(kymo_eval_frame *frame)
{
    return (frame->f_code->co_flags & KYMO_CODE_SLICES) && frame->owner != FRAME_OWNED_BY_GENERATOR;
}

static inline unsigned kymo__eval_resumes(kymo_eval_frame *frame)
{
    return frame->owner == FRAME_OWNED_BY_GENERATOR &&
           _Py_OPCODE(*frame->prev_instr) != RETURN_GENERATOR;
}

/* Does it resume without a RESUME instruction, so that the profile function is not called? This
   happens after what it awaited has handled an exception that was thrown in. */
static inline bool kymo__eval_resumes_unseen(kymo_eval_frame *frame)
{
    return kymo__eval_resumes(frame) && _Py_OPCODE(*frame->prev_instr) != YIELD_VALUE;
}

/* After evaluation. Only a generator's frame still exists then. */
static inline unsigned kymo__eval_leave_detail(PyObject *code, kymo_eval_frame *frame)
{
    return (((PyCodeObject *)code)->co_flags & KYMO_CODE_SLICES) &&
           _Py_OPCODE(*frame->prev_instr) == YIELD_VALUE;
}

/* Before 3.11.4 specialised __getitem__ calls bypassed the frame evaluator. */
static inline bool kymo__frames_are_exact(void)
{
    return Py_Version >= 0x030B0400;
}

#endif
