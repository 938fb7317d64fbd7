/* compat.h — what differs between CPython versions, and every PY_VERSION_HEX test
   of the project. The rest of the extension is written against the newest API. */
#ifndef KYMO_EXT_COMPAT_H
#define KYMO_EXT_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030A0000
#error "kymograph needs CPython 3.10 or newer"
#endif

/* 3.12 gave the member types of PyMemberDef their prefix. */
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#define Py_T_UINT T_UINT
#define Py_T_DOUBLE T_DOUBLE
#define Py_T_LONGLONG T_LONGLONG
#define Py_T_ULONGLONG T_ULONGLONG
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

/* The last slots of a module: those unknown to older versions, and the end. A session belongs to
   the process, not to an interpreter, so subinterpreters that share the GIL are fine and those with
   their own GIL are refused. */
#if PY_VERSION_HEX >= 0x030D0000
#define KYMO_LAST_SLOTS                                                                            \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_SUPPORTED},                        \
        {Py_mod_gil, Py_MOD_GIL_NOT_USED},                                                         \
    {                                                                                              \
        0, NULL                                                                                    \
    }
#elif PY_VERSION_HEX >= 0x030C0000
#define KYMO_LAST_SLOTS                                                                            \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_SUPPORTED},                        \
    {                                                                                              \
        0, NULL                                                                                    \
    }
#else
#define KYMO_LAST_SLOTS                                                                            \
    {                                                                                              \
        0, NULL                                                                                    \
    }
#endif

/* Since 3.13; with a GIL it does nothing. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* A new reference to DICT[NAME], or NULL without an exception. */
static inline PyObject *kymo__dict_get(PyObject *dict, const char *name)
{
    PyObject *value = NULL;
#if PY_VERSION_HEX >= 0x030D0000
    (void)PyDict_GetItemStringRef(dict, name, &value);
#else
    value = Py_XNewRef(PyDict_GetItemString(dict, name));
#endif
    PyErr_Clear();
    return value;
}

/* A mutex where there is no GIL, nothing where there is one: for short sections that call no Python
   code and do not release the GIL. */
#ifdef Py_GIL_DISABLED
#define KYMO_SECTION(name) static PyMutex name
#define KYMO_SECTION_LOCK(name) PyMutex_Lock(&(name))
#define KYMO_SECTION_UNLOCK(name) PyMutex_Unlock(&(name))
#define KYMO_SECTION_RESET(name) ((name) = (PyMutex){0})
#else
#define KYMO_SECTION(name) struct kymo__py_no_mutex
#define KYMO_SECTION_LOCK(name) ((void)0)
#define KYMO_SECTION_UNLOCK(name) ((void)0)
#define KYMO_SECTION_RESET(name) ((void)0)
#endif

/* ---- the tracer */

/* The dict of a type, borrowed; the interpreter's own types have it elsewhere since 3.12. */
#if PY_VERSION_HEX >= 0x030C0000
static inline PyObject *KYMO_TYPE_DICT(PyTypeObject *type)
{
    PyObject *dict = PyType_GetDict(type);
    Py_XDECREF(dict); /* the type keeps it */
    return dict;
}
#else
#define KYMO_TYPE_DICT(type) ((type)->tp_dict)
#endif

/* Since 3.12 a class written in Python can export a buffer. */
#define KYMO_BUFFERS_IN_PYTHON (PY_VERSION_HEX >= 0x030C0000)

/* 3.12 added sys.monitoring and code watchers, which report the death of code objects. */
#define KYMO_HAS_MONITORING (PY_VERSION_HEX >= 0x030C0000)
#define KYMO_HAS_CODE_WATCHER (PY_VERSION_HEX >= 0x030C0000)

/* 3.13 moved signal handling before the event of the instruction at which they arrive. */
#define KYMO_SIGNALS_COME_FIRST (PY_VERSION_HEX >= 0x030D0000)

/* False if the instruction at OFFSET of CODE, as instrumented for our tool, is certainly not
   RESUME. Since 3.15, RESUME has a cache entry and the offset is that of the entry. Needs
   opcode.h. */
#if PY_VERSION_HEX >= 0x030F0000
#define KYMO_MAY_RESUME(code, offset)                                                              \
    ((offset) >= 2 && (unsigned char)((PyCodeObject *)(code))->co_code_adaptive[(offset)-2] >=     \
                          MIN_INSTRUMENTED_OPCODE)
#elif KYMO_SIGNALS_COME_FIRST
#define KYMO_MAY_RESUME(code, offset)                                                              \
    ((unsigned char)((PyCodeObject *)(code))->co_code_adaptive[offset] >= MIN_INSTRUMENTED_OPCODE)
#else
#define KYMO_MAY_RESUME(code, offset) ((void)(code), (void)(offset), 0)
#endif

/* How many code units a code object has. */
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_CODE_UNITS(code) ((int64_t)Py_SIZE(code))
#else
#define KYMO_CODE_UNITS(code) ((int64_t)PyBytes_GET_SIZE((code)->co_code) / 2)
#endif

/* 3.11 added qualified names of code objects, and the thread's system id. */
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_CODE_QUALNAME(code) ((code)->co_qualname)
#define KYMO_NATIVE_THREAD_ID(state) ((uint32_t)(state)->native_thread_id)
#else
#define KYMO_CODE_QUALNAME(code) ((code)->co_name)
#define KYMO_NATIVE_THREAD_ID(state) ((void)(state), 0u)
#endif

/* A child of os.fork has locks that other threads held; see forkgate.c. */
#ifdef Py_GIL_DISABLED
#define KYMO_FORK_KEEPS_LOCKS 1
#else
#define KYMO_FORK_KEEPS_LOCKS (PY_VERSION_HEX < 0x030C0000)
#endif

/* os.fork warns about threads. */
#define KYMO_FORK_WARNS (PY_VERSION_HEX >= 0x030C0000)

/* The names of a code object's variables, arguments first; a new reference. */
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_CODE_VARNAMES(code) PyCode_GetVarnames(code)
#else
#define KYMO_CODE_VARNAMES(code) Py_NewRef((code)->co_varnames)
#endif

/* The variable NAME of FRAME; a new reference, or NULL, perhaps with an exception. */
#if PY_VERSION_HEX >= 0x030C0000
#define kymo__frame_variable PyFrame_GetVar
#else
static inline PyObject *kymo__frame_variable(PyFrameObject *frame, PyObject *name)
{
    PyObject *variables = PyObject_GetAttrString((PyObject *)frame, "f_locals");
    PyObject *value = variables ? PyObject_GetItem(variables, name) : NULL;
    Py_XDECREF(variables);
    return value;
}
#endif

/* Frames as hook_profile.c sees them, on the versions that need it. */
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_FRAME_HEADER "frame_311.h"
#else
#define KYMO_FRAME_HEADER "frame_310.h"
#endif

/* Frames as pyframes.c sees them. */
#if PY_VERSION_HEX >= 0x030C0000
#define KYMO_STACK_HEADER "stack_312.h"
#elif PY_VERSION_HEX >= 0x030B0000
#define KYMO_STACK_HEADER "stack_311.h"
#else
#define KYMO_STACK_HEADER "stack_310.h"
#endif

/* What the search for references needs: local variables, and attributes kept in instances. */
#if PY_VERSION_HEX >= 0x030C0000
#define KYMO_LOCALS_HEADER "locals_312.h"
#elif PY_VERSION_HEX >= 0x030B0000
#define KYMO_LOCALS_HEADER "locals_311.h"
#else
#define KYMO_LOCALS_HEADER "locals_310.h"
#endif
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_ATTRIBUTES_HEADER "attributes_311.h"
#else
#define KYMO_ATTRIBUTES_HEADER "attributes_310.h"
#endif
/* Has the type attributes kept in instances? Those of OBJECT, if it has no dict yet, else NULL. */
#if PY_VERSION_HEX >= 0x030D0000
#define KYMO_HAS_INLINE_VALUES(type) (((type)->tp_flags & Py_TPFLAGS_INLINE_VALUES) != 0)
#define KYMO_INLINE_VALUES(object)                                                                 \
    (((PyDictValues *)((object) + 1))->valid ? (PyDictValues *)((object) + 1) : NULL)
#elif PY_VERSION_HEX >= 0x030C0000
#define KYMO_HAS_INLINE_VALUES(type) (((type)->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0)
#define KYMO_INLINE_VALUES(object)                                                                 \
    (((uintptr_t *)(object))[-3] & 1 ? (PyDictValues *)(((uintptr_t *)(object))[-3] + 1) : NULL)
#else
#define KYMO_HAS_INLINE_VALUES(type) (((type)->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0)
#define KYMO_INLINE_VALUES(object) (((PyDictValues **)(object))[-4])
#endif

/* Bytes between the start of an object's memory and the object. */
#ifdef Py_GIL_DISABLED
#define KYMO_GC_HEAD(object) ((void)(object), (size_t)0)
#else
#define KYMO_GC_HEAD(object) (PyObject_IS_GC(object) ? 2 * sizeof(uintptr_t) : (size_t)0)
#endif
#if PY_VERSION_HEX >= 0x030C0000
#define KYMO_PRE_HEADER(type)                                                                      \
    ((type)->tp_flags & (Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_MANAGED_WEAKREF)                     \
         ? 2 * sizeof(PyObject *)                                                                  \
         : (size_t)0)
#elif PY_VERSION_HEX >= 0x030B0000
#define KYMO_PRE_HEADER(type)                                                                      \
    ((type)->tp_flags & Py_TPFLAGS_MANAGED_DICT ? 2 * sizeof(PyObject *) : (size_t)0)
#else
#define KYMO_PRE_HEADER(type) ((void)(type), (size_t)0)
#endif

/* Without the GIL, the collector stops tracking immortal objects. Modules, functions and types
   become immortal when 3.13 starts a second thread. */
#ifdef Py_GIL_DISABLED
#define KYMO_UNTRACKED_FOR_GOOD(object) (_Py_IsImmortal(object) != 0)
#else
#define KYMO_UNTRACKED_FOR_GOOD(object) ((void)(object), false)
#endif

/* 3.12 added a visitor of all objects that the collector tracks. Without the GIL it also stops all
   other threads. */
#define KYMO_HAS_OBJECT_VISITOR (PY_VERSION_HEX >= 0x030C0000)

/* Value of `use_tracing` in a frame on the C stack while something traces or profiles; until
   3.11. */
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_USE_TRACING 255
#else
#define KYMO_USE_TRACING 1
#endif

/* Line tables of code objects have two forms. */
#define KYMO_LINES_HAVE_COLUMNS (PY_VERSION_HEX >= 0x030B0000)

/* The state of the calling thread, even if another one has the GIL; NULL if the interpreter does
   not know it. */
#if PY_VERSION_HEX >= 0x030D0000
static inline PyThreadState *KYMO_THIS_THREAD_STATE(void)
{
    PyThreadState *state = PyThreadState_GetUnchecked();
    return state ? state : PyGILState_GetThisThreadState();
}
#elif PY_VERSION_HEX >= 0x030C0000
static inline PyThreadState *KYMO_THIS_THREAD_STATE(void)
{
    PyThreadState *state = _PyThreadState_UncheckedGet();
    return state ? state : PyGILState_GetThisThreadState();
}
#else
#define KYMO_THIS_THREAD_STATE() PyGILState_GetThisThreadState()
#endif

/* The instruction a frame object is at, counted in bytes. */
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_FRAME_LASTI(frame) PyFrame_GetLasti(frame)
#else
#define KYMO_FRAME_LASTI(frame) ((frame)->f_lasti * 2)
#endif

/* Code whose calls run in slices. */
#define KYMO_CODE_SLICES (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

/* The interpreter frame running on this thread, only as an address. */
#if PY_VERSION_HEX >= 0x030D0000
#define KYMO_CURRENT_FRAME() ((const void *)PyThreadState_GetUnchecked()->current_frame)
#elif PY_VERSION_HEX >= 0x030C0000
#define KYMO_CURRENT_FRAME() ((const void *)_PyThreadState_UncheckedGet()->cframe->current_frame)
#endif

/* The interpreter's own frames, for stack_312.h: the innermost one; its code and instruction; the
   first owner that means "no function"; the start of the instructions that contain PLACE. */
#if KYMO_HAS_MONITORING
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe_structs.h>
#define KYMO_FRAME_CODE(frame) ((frame)->f_executable.bits & ~UINT64_C(7))
#define KYMO_FRAME_PLACE(frame) ((frame)->instr_ptr)
#define KYMO_LOCAL_BITS(frame, i)                                                                  \
    (((const struct _PyInterpreterFrame *)(frame))->localsplus[i].bits)
#define KYMO_FRAME_LOCAL(frame, i)                                                                 \
    ((KYMO_LOCAL_BITS(frame, i) & 3) == 3                                                          \
         ? NULL /* an int that is no object */                                                     \
         : (PyObject *)(KYMO_LOCAL_BITS(frame, i) & ~(uintptr_t)7))
#elif PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_frame.h>
#define KYMO_FRAME_CODE(frame) ((uint64_t)(uintptr_t)(frame)->f_executable)
#define KYMO_FRAME_PLACE(frame) ((frame)->instr_ptr)
#else
#include <internal/pycore_frame.h>
#define KYMO_FRAME_CODE(frame) ((uint64_t)(uintptr_t)(frame)->f_code)
#define KYMO_FRAME_PLACE(frame) ((frame)->prev_instr)
#endif
#ifndef KYMO_FRAME_LOCAL /* variable I of a frame, arguments first; borrowed, or NULL */
#define KYMO_FRAME_LOCAL(frame, i) (((const struct _PyInterpreterFrame *)(frame))->localsplus[i])
#endif
#undef Py_BUILD_CORE
#define KYMO_OWNED_BY_NOBODY 3
#if PY_VERSION_HEX >= 0x030D0000
#define KYMO_TOP_FRAME(state) ((state)->current_frame)
#else
#define KYMO_TOP_FRAME(state) ((state)->cframe->current_frame)
#endif
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030E0000
/* Every thread may have a copy of the instructions. */
static inline const char *KYMO_CODE_START(const PyCodeObject *code, uint64_t place)
{
    const _PyCodeArray *copies = code->co_tlbc;
    uint64_t bytes = (uint64_t)Py_SIZE(code) * sizeof(uint16_t);
    for (Py_ssize_t i = 0; copies && i < copies->size; i++)
        if (copies->entries[i] && place - (uint64_t)(uintptr_t)copies->entries[i] < bytes)
            return copies->entries[i];
    return code->co_code_adaptive;
}
#else
#define KYMO_CODE_START(code, place) ((void)(place), (code)->co_code_adaptive)
#endif
#endif

/* The frame of a coroutine object, NULL for other objects, and its code, a new reference.
   Since 3.11 the frame is a part of the object, whose structure 3.14 made internal. */
#if PY_VERSION_HEX >= 0x030B0000
#define KYMO_COROUTINE_FRAME(coro)                                                                 \
    (PyCoro_CheckExact(coro) ? (const void *)&((PyGenObject *)(coro))->gi_iframe : NULL)
#else
#define KYMO_COROUTINE_FRAME(coro)                                                                 \
    (PyCoro_CheckExact(coro) ? (const void *)((PyGenObject *)(coro))->gi_frame : NULL)
#endif
#if PY_VERSION_HEX >= 0x030C0000
#define KYMO_COROUTINE_CODE(coro) ((PyObject *)PyGen_GetCode((PyGenObject *)(coro)))
#else
#define KYMO_COROUTINE_CODE(coro) Py_NewRef((PyObject *)((PyGenObject *)(coro))->gi_code)
#endif

#if PY_VERSION_HEX >= 0x030D0000
#define KYMO_FINALIZING() Py_IsFinalizing()
#else
#define KYMO_FINALIZING() _Py_IsFinalizing()
#endif

/* Has the main interpreter no thread any more? So it is in a child that another thread than the main
   one forked, once that has ended. 3.11 and 3.12 abort if somebody then makes a thread state. */
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
#define KYMO_NO_THREAD_LEFT() (!PyInterpreterState_ThreadHead(PyInterpreterState_Main()))
#else
#define KYMO_NO_THREAD_LEFT() false
#endif

/* sys.modules, borrowed. NULL while Python ends: there may be none, and PyImport_GetModuleDict aborts
   then. */
static inline PyObject *kymo__modules(void)
{
    return KYMO_FINALIZING() ? NULL : PyImport_GetModuleDict();
}

/* Mended in 3.12.9, 3.13.2 and 3.14, but the extension may run on an older 3.13 than it was built
   for. */
#define KYMO_TRACEMALLOC_STOP_CRASHES (PY_VERSION_HEX < 0x030E0000)

/* The exception that is set, as one object; a new reference. */
#if PY_VERSION_HEX >= 0x030C0000
#define KYMO_FETCH_EXCEPTION() PyErr_GetRaisedException()
#else
static inline PyObject *KYMO_FETCH_EXCEPTION(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}
#endif

#endif
