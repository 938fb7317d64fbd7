/* frame_310.h — what hook_profile.c reads from a frame, on 3.10. See frame_311.h. */
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

/* 1 when the call being reported resumes after a yield, else 0. */
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

/* The innermost frame that STATE is evaluating. */
static inline kymo_eval_frame *kymo__current(PyThreadState *state)
{
    return state->frame;
}

/* The frame that called FRAME. */
static inline kymo_eval_frame *kymo__eval_back(const kymo_eval_frame *frame)
{
    return frame->f_back;
}

/* FRAME's current instruction, for comparison only. */
static inline const void *kymo__eval_position(const kymo_eval_frame *frame)
{
    return (const void *)(intptr_t)frame->f_lasti;
}

static inline PyObject *kymo__eval_code(PyFrameObject *frame)
{
    return kymo__frame_code(frame);
}

/* The same in bytes from the start of its code. */
static inline int kymo__eval_offset(const kymo_eval_frame *frame)
{
    return frame->f_lasti * 2;
}

/* Its variable INDEX, arguments first; borrowed, or NULL. */
static inline PyObject *kymo__eval_local(const kymo_eval_frame *frame, int index)
{
    return frame->f_localsplus[index];
}

/* Creating a generator evaluates no frame. */
static inline bool kymo__eval_creates_generator(PyFrameObject *frame)
{
    (void)frame;
    return false;
}

static inline unsigned kymo__eval_resumes(PyFrameObject *frame)
{
    return frame->f_lasti >= 0;
}

static inline bool kymo__eval_resumes_unseen(PyFrameObject *frame)
{
    (void)frame;
    return false;
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
