/* frame_310.h — what hook_profile.c asks of a frame, on 3.10. See frame_311.h. */
#ifndef KYMO_EXT_FRAME_310_H
#define KYMO_EXT_FRAME_310_H

#include "compat.h"

#include <frameobject.h>
#include <stdbool.h>

typedef PyFrameObject kymo_eval_frame;

static inline PyObject *kymo__frame_code(PyFrameObject *frame)
{
    return (PyObject *)frame->f_code;
}

static inline kymo_eval_frame *kymo__frame_eval(PyFrameObject *frame)
{
    return frame;
}

/* 1 when the call being reported goes on after a yield, else 0. */
static inline unsigned kymo__frame_resumes(PyFrameObject *frame)
{
    return frame->f_lasti >= 0;
}

/* 1 when the return being reported is a yield, else 0. */
static inline unsigned kymo__frame_yields(PyFrameObject *frame)
{
    return frame->f_state == FRAME_SUSPENDED;
}

/* The innermost frame of STATE that is being evaluated. */
static inline PyFrameObject *kymo__caller(PyThreadState *state)
{
    return state->frame;
}

/* The frame of STATE that is being evaluated, innermost. */
static inline kymo_eval_frame *kymo__current(PyThreadState *state)
{
    return state->frame;
}

/* The instruction that FRAME is at, to be compared only. */
static inline const void *kymo__eval_position(const kymo_eval_frame *frame)
{
    return (const void *)(intptr_t)frame->f_lasti;
}

static inline PyObject *kymo__eval_code(PyFrameObject *frame)
{
    return kymo__frame_code(frame);
}

/* Generators are made without evaluating a frame. */
static inline bool kymo__eval_creates_generator(PyFrameObject *frame)
{
    (void)frame;
    return false;
}

static inline unsigned kymo__eval_resumes(PyFrameObject *frame)
{
    return frame->f_lasti >= 0;
}

/* After evaluation; the caller still holds the frame. */
static inline unsigned kymo__eval_leave_detail(PyObject *code, PyFrameObject *frame)
{
    (void)code;
    return kymo__frame_yields(frame);
}

static inline bool kymo__frames_are_exact(void)
{
    return true;
}

#endif
