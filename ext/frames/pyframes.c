/* pyframes.c — Python's frames for stack.h of libkymo. Walks the interpreter's own frame chain,
   which only its thread changes, so that no lock is needed. The layouts are in stack_3*.h. */
#include "pyframes.h"

#include <dlfcn.h>
#include <errno.h>
#include <frameobject.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "codewatch.h"
#include "core.h"
#include "framechain.h"
#include "threadnames.h"

/* A permanent number: the code object's in the high half, the instruction in the low half. */
#define UNIT_BITS 32

/* The interpreter whose code objects are watched; for others nobody reports the death of code. */
static PyInterpreterState *home;

static void walk_python(struct kymo_managed_walk *walk)
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
        /* The state of a thread that outlives the interpreter may be freed. */
        if (kymo__readable(&pages, state, sizeof *state) && state->interp == home)
            kymo__stack_walk(state, walk, &pages);
    }
}

static uint64_t hash_frames(uint64_t hash, size_t most)
{
    PyThreadState *state = KYMO_THIS_THREAD_STATE();
    return state && state->interp == home ? kymo__stack_hash_only(state, hash, most) : hash;
}

static size_t follow_python(struct kymo_trail *trail)
{
    PyThreadState *state = KYMO_THIS_THREAD_STATE();
    const kymo_py_frame *none = NULL;
    return kymo__follow_frames(state && state->interp == home ? kymo__stack_top(state) : none,
                               trail);
}

/* A frame interrupted by a signal may be half built; then its code is not a code object. */
static bool is_code(const PyCodeObject *code, struct kymo_pages *pages)
{
    return !pages || (kymo__readable(pages, code, sizeof *code) && Py_TYPE(code) == &PyCode_Type);
}

static void keep_codes(struct kymo_managed_walk *walk)
{
    /* Without code watchers this changes a type of the interpreter, so wait until it is needed. */
    if (!KYMO_HAS_CODE_WATCHER)
        (void)kymo__code_deaths_watch(kymo__code_died);
    struct kymo_pages pages = {0};
    size_t kept = 0, segment = 0; /* segment: frames since the last mark */
    for (size_t i = 0; i < walk->count; i++) {
        struct kymo_managed_frame frame = walk->frames[i];
        const PyCodeObject *code = kymo__stack_code(&frame);
        bool whole = is_code(code, walk->careful ? &pages : NULL);
        int64_t unit = whole ? kymo__stack_unit(&frame, code) : -1;
        /* Also if it is not shown: the end of what has a number is reported. */
        bool fresh = false;
        uint32_t number = whole ? kymo__code_number(code, &fresh) : 0;
        if (fresh && !walk->careful)
            kymo__code_peek(number, false);
        if (unit >= 0) {
            frame.code = (uint64_t)number << UNIT_BITS | (uint32_t)unit;
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

/* Would asking for the GIL allocate under tracemalloc? Should the program stop tracemalloc while this
   thread waits there for the GIL, the interpreter would crash (python/cpython gh-128679). */
static bool may_crash(void)
{
    return KYMO_TRACEMALLOC_STOP_CRASHES && !PyGILState_GetThisThreadState() &&
           PyTraceMalloc_Untrack(0, 0) != -2; /* -2: it is not on */
}

static void settle_codes(void)
{
    /* Otherwise the thread that ends the session asks. */
    if (!kymo__python_usable() || may_crash())
        return;
    struct kymo__gil gil = kymo__gil_take();
    kymo__codes_settle();
    kymo__gil_give(gil);
}

static void name_threads(void (*name)(uint32_t tid, const char *text))
{
    if (!kymo__python_usable())
        return;
    struct kymo__gil gil = kymo__gil_take();
    kymo__threads_name(name);
    kymo__gil_give(gil);
}

static int name_of(uint64_t number, struct kymo_named *named)
{
    return kymo__code_name((uint32_t)(number >> UNIT_BITS), (uint32_t)number, named);
}

static void peek_code(uint64_t number)
{
    kymo__code_peek((uint32_t)(number >> UNIT_BITS), true);
}

/* The standard library's runner of modules, frozen or not, or a function of this package, such as the
   one that learns about imports. */
static int starts_program(const struct kymo_named *named)
{
    if (!named->file)
        return 0;
    if (kymo__package_has(named->file))
        return 2;
    const char *runpy = strstr(named->file, "runpy");
    return runpy && (strcmp(runpy, "runpy>") == 0 || strcmp(runpy, "runpy.py") == 0);
}

static const struct kymo_interpreter python = {
    .size = sizeof python,
    .name = "python",
    .walk = walk_python,
    .hash = hash_frames,
    .follow = follow_python,
    .keep = keep_codes,
    .settle = settle_codes,
    .name_threads = name_threads,
    .name_of = name_of,
    .peek = peek_code,
    .starts_program = starts_program,
    .files = "python libpython",
    .evaluator = "_PyEval_EvalFrameDefault",
    .machinery = "_PyEval_ PyEval_ _PyFunction_ PyObject_Call _PyObject_Call PyObject_Vectorcall "
                 "_PyObject_Vectorcall _PyVectorcall_ PyVectorcall_ _PyObject_MakeTpCall "
                 "_PyObject_FastCall method_vectorcall cfunction_vectorcall cfunction_call "
                 "vectorcall_ slot_tp_ _TAIL_CALL_ Py_BytesMain Py_RunMain Py_Main pymain_ "
                 "_PyRun_ PyRun_ run_mod run_eval_code_obj _PyCFunction_ object_vacall "
                 "builtin_exec thread_run pythread_wrapper trampoline py_trampoline gen_send_ex "
                 "gen_iternext _PyGen_ PyIter_Send",
    .collector = "gc_collect_main",
};

struct kymo__running *kymo__frames_of(PyThreadState *state, size_t *count)
{
    enum { FEW = 64 };
    struct kymo_managed_frame few[FEW], *many = NULL;
    struct kymo_managed_walk walk = {.frames = few, .capacity = FEW};
    kymo__stack_walk(state, &walk, NULL);
    while (walk.truncated) {
        struct kymo_managed_frame *more = realloc(many, sizeof(*more) * walk.capacity * 2);
        if (!more)
            break; /* the innermost will do */
        walk = (struct kymo_managed_walk){.frames = many = more, .capacity = walk.capacity * 2};
        kymo__stack_walk(state, &walk, NULL);
    }
    struct kymo__running *found = walk.count ? malloc(sizeof(*found) * walk.count) : NULL;
    *count = 0;
    for (size_t i = 0; found && i < walk.count; i++) {
        const PyCodeObject *code = kymo__stack_code(&walk.frames[i]);
        int64_t unit = kymo__stack_unit(&walk.frames[i], code);
        if (unit >= 0)
            found[(*count)++] = (struct kymo__running){(PyObject *)(uintptr_t)code, unit};
    }
    free(many);
    return found;
}

/* Does the walk find the same frames as the interpreter reports? */
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
    /* Any left over must be frames that are not shown. */
    for (; same && i < walked->count; i++)
        same = kymo__stack_unit(&walked->frames[i], kymo__stack_code(&walked->frames[i])) < 0;
    return same;
}

int kymo__walk_check(unsigned skew)
{
    struct kymo_managed_walk walked = {.capacity = 4096, .careful = 1};
    walked.frames = malloc(sizeof *walked.frames * walked.capacity);
    if (!walked.frames)
        return 1; /* nothing contradicts it */
    walk_python(&walked);
    int same = walked.truncated || (!walked.torn && same_frames(&walked, skew));
    free(walked.frames);
    return same;
}

static bool frames_known;

bool kymo__frames_known(void)
{
    return frames_known;
}

void kymo__frames_know(bool known)
{
    frames_known = known;
}

int kymo__walk_register(void)
{
    static bool done;
    if (done)
        return 0;
    done = true;
    home = PyInterpreterState_Get();
    if (KYMO_HAS_CODE_WATCHER && kymo__code_deaths_watch(kymo__code_died) < 0)
        return -1;
    frames_known = kymo__walk_check(0);
    kymo__package_find();
    if (frames_known)
        return kymo_interpreter_register(&python), 0;
    return PyErr_WarnEx(PyExc_RuntimeWarning,
                        "kymograph does not know the frames of this Python: stacks are without "
                        "Python functions",
                        1);
}
