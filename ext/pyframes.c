/* pyframes.c — Python's frames for stack.h of libkymo: found by walking the interpreter's own chain,
   which only its thread changes, so that no lock is needed. The layouts are in stack_3*.h. */
#include "pyframes.h"

#include <errno.h>
#include <frameobject.h>
#include <stdlib.h>

#include "codes.h"
#include "keys.h"
#include KYMO_STACK_HEADER

/* A number for good: the code object's above, the instruction below. */
#define UNIT_BITS 32

/* The interpreter whose code objects are watched; others have frames that nobody tells us the
   end of. */
static PyInterpreterState *home;

static void walk(struct kymo_managed_walk *walk)
{
    PyThreadState *state = KYMO_THIS_THREAD_STATE();
    walk->count = 0;
    if (!state)
        return;
    if (!walk->careful) {
        if (state->interp == home)
            kymo__stack_walk(state, walk, NULL);
    } else {
        struct kymo_pages pages = {0};
        /* The state of a thread that outlives the interpreter may be gone. */
        if (kymo__readable(&pages, state, sizeof *state) && state->interp == home)
            kymo__stack_walk(state, walk, &pages);
    }
}

/* A frame that a signal met may be half made; then its code is no code. */
static bool is_code(const PyCodeObject *code, struct kymo_pages *pages)
{
    return !pages || (kymo__readable(pages, code, sizeof *code) && Py_TYPE(code) == &PyCode_Type);
}

static void keep(struct kymo_managed_walk *walk)
{
    struct kymo_pages pages = {0};
    size_t kept = 0, segment = 0; /* segment: frames since the last mark */
    for (size_t i = 0; i < walk->count; i++) {
        struct kymo_managed_frame frame = walk->frames[i];
        const PyCodeObject *code = kymo__stack_code(&frame);
        int64_t unit =
            is_code(code, walk->careful ? &pages : NULL) ? kymo__stack_unit(&frame, code) : -1;
        if (unit >= 0) {
            frame.code = (uint64_t)kymo__code_number(code) << UNIT_BITS | (uint32_t)unit;
            walk->frames[kept++] = frame;
            segment++;
        } else if (frame.mark && segment) {
            walk->frames[kept - 1].mark = frame.mark;
        }
        if (frame.mark)
            segment = 0;
    }
    walk->count = kept;
}

static void settle(void)
{
    if (!Py_IsInitialized() || KYMO_FINALIZING())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    kymo__codes_settle();
    PyGILState_Release(gil);
}

static int name_of(uint64_t number, struct kymo_named *named)
{
    return kymo__code_name((uint32_t)(number >> UNIT_BITS), (uint32_t)number, named);
}

static void peek(uint64_t number)
{
    kymo__code_peek((uint32_t)(number >> UNIT_BITS));
}

static const struct kymo_interpreter python = {
    .size = sizeof python,
    .name = "python",
    .walk = walk,
    .keep = keep,
    .settle = settle,
    .name_of = name_of,
    .peek = peek,
};

/* Frame by frame, is what the walk finds what the interpreter says? */
static bool same_frames(const struct kymo_managed_walk *walked, unsigned skew)
{
    struct kymo_pages pages = {0};
    PyFrameObject *frame = PyEval_GetFrame();
    size_t i = 0;
    bool same = true;
    Py_XINCREF(frame);
    while (frame && same) {
        const PyCodeObject *code = NULL;
        int64_t unit = -1;
        for (; i < walked->count && unit < 0; i++) {
            code = kymo__stack_code(&walked->frames[i]);
            unit = is_code(code, &pages) ? kymo__stack_unit(&walked->frames[i], code) : INT64_MAX;
        }
        PyCodeObject *real = PyFrame_GetCode(frame);
        int last = KYMO_FRAME_LASTI(frame);
        same = code == real && (last < 0 || (unit + skew) * (int64_t)sizeof(uint16_t) == last);
        Py_DECREF(real);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    /* Those left over may only be such as are not shown. */
    for (; same && i < walked->count; i++)
        same = kymo__stack_unit(&walked->frames[i], kymo__stack_code(&walked->frames[i])) < 0;
    return same;
}

int kymo__walk_check(unsigned skew)
{
    struct kymo_managed_walk walked = {.capacity = 4096, .careful = 1};
    walked.frames = malloc(sizeof *walked.frames * walked.capacity);
    if (!walked.frames)
        return 1; /* nothing is known against it */
    walk(&walked);
    int same = walked.truncated || same_frames(&walked, skew);
    free(walked.frames);
    return same;
}

int kymo__walk_register(void)
{
    static bool done;
    if (done)
        return 0;
    done = true;
    home = PyInterpreterState_Get();
    if (kymo__functions_watch() < 0)
        return -1;
    if (kymo__walk_check(0))
        return kymo_interpreter_register(&python), 0;
    return PyErr_WarnEx(PyExc_RuntimeWarning,
                        "kymograph does not know the frames of this Python: stacks are without "
                        "Python functions",
                        1);
}
