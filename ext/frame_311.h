/* frame_311.h — what hook_profile.c asks of a frame, on 3.11.

   Frames there are the interpreter's own structures, and where one stands is told by the
   instruction it last began. */
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

/* Calls are reported at the RESUME instruction, whose argument says what was before. */
static inline unsigned kymo__frame_resumes(PyFrameObject *frame)
{
    return (_Py_OPARG(*frame->f_frame->prev_instr) & 3) != 0;
}

static inline unsigned kymo__frame_yields(PyFrameObject *frame)
{
    return _Py_OPCODE(*frame->f_frame->prev_instr) == YIELD_VALUE;
}

/* A frame that nobody has looked at has no object; then it is none that we know. */
static inline PyFrameObject *kymo__caller(PyThreadState *state)
{
    const struct _PyInterpreterFrame *frame = state->cframe->current_frame;
    return frame ? frame->frame_obj : NULL;
}

/* The frame of STATE that is being evaluated, innermost. */
static inline kymo_eval_frame *kymo__current(PyThreadState *state)
{
    return state->cframe->current_frame;
}

/* The instruction that FRAME is at, to be compared only. */
static inline const void *kymo__eval_position(const kymo_eval_frame *frame)
{
    return frame->prev_instr;
}

static inline PyObject *kymo__eval_code(kymo_eval_frame *frame)
{
    return (PyObject *)frame->f_code;
}

/* Calling a generator function evaluates its frame just far enough to make the object. */
static inline bool kymo__eval_creates_generator(kymo_eval_frame *frame)
{
    return (frame->f_code->co_flags & KYMO_CODE_SLICES) && frame->owner != FRAME_OWNED_BY_GENERATOR;
}

static inline unsigned kymo__eval_resumes(kymo_eval_frame *frame)
{
    return frame->owner == FRAME_OWNED_BY_GENERATOR &&
           _Py_OPCODE(*frame->prev_instr) == YIELD_VALUE;
}

/* After evaluation. Only a generator's frame is still there to be looked at. */
static inline unsigned kymo__eval_leave_detail(PyObject *code, kymo_eval_frame *frame)
{
    return (((PyCodeObject *)code)->co_flags & KYMO_CODE_SLICES) &&
           _Py_OPCODE(*frame->prev_instr) == YIELD_VALUE;
}

/* Before 3.11.4 specialised __getitem__ calls went past the frame evaluator. */
static inline bool kymo__frames_are_exact(void)
{
    return Py_Version >= 0x030B0400;
}

#endif
