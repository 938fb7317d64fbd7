/* core.h — the state of one module object, errors and text: shared by all of kymograph._core. Other
   functions shared between directories are in headers of their own. */
#ifndef KYMO_EXT_CORE_H
#define KYMO_EXT_CORE_H

#include "compat.h"

#include <kymo/kymo.h>
#include <stdbool.h>
#include <string.h>

#define KYMO__KINDS (KYMO_PAYLOAD + 1)

/* Py_ARRAY_LENGTH is not a constant expression everywhere. */
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* One per interpreter that imported the module. All references are owned. */
struct core {
    PyObject *capture_error; /* kymograph.CaptureError */
    PyObject *session_error; /* kymograph.SessionError */

    PyTypeObject *capture_type;
    PyTypeObject *columns_type;
    PyTypeObject *cursor_type;
    PyTypeObject *event_type;
    PyTypeObject *op_type;
    PyTypeObject *span_type;
    PyTypeObject *stack_type;
    PyTypeObject *timeline_type;

    PyTypeObject *info_type; /* struct sequences */
    PyTypeObject *thread_type;
    PyTypeObject *snapshot_type;
    PyTypeObject *stats_type;
    PyTypeObject *function_type;
    PyTypeObject *frame_type;

    PyObject *kinds[KYMO__KINDS]; /* str: the words for enum kymo_kind */
    PyObject *args_word;          /* str: "args", the name of record_function's text */
    PyObject *session_path;       /* str: the path of the last start; or NULL */
    struct kymo__names *names;    /* Python strings already made stable */
    struct span *spare_spans;     /* memory for spans to come; see span.c */
    int spare_count;
};

/* The state of the module that made the type of SELF, an instance of ours. */
static inline struct core *kymo__core_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static inline struct core *kymo__core_of_module(PyObject *module)
{
    return PyModule_GetState(module);
}

/* alive.c */

/* An interpreter imports this module. */
void kymo__python_begins(void);

/* Can threads take the GIL and call Python? Not once it ends. Any thread, without the GIL. */
bool kymo__python_usable(void);

/* package.c: this package's folder, the one that this extension was loaded from. */
void kymo__package_find(void);
bool kymo__package_has(const char *file);
bool kymo__package_has_code(const PyCodeObject *code); /* allocates nothing */

/* forkgate.c */

/* What must not happen while another thread forks comes between these two, with the GIL; so does
   os.fork itself. They nest. */
void kymo__fork_gate_enter(void);
void kymo__fork_gate_leave(void);

/* The first of them, on a thread without a thread state. */
void kymo__fork_gate_enter_unknown(void);

/* gil.c */

struct kymo__gil {
    PyGILState_STATE before;
    PyThreadState *made; /* for this thread; NULL: it had one, or Python makes it */
};

/* Hold the GIL, on any thread, whether or not it already does; then give it back. */
struct kymo__gil kymo__gil_take(void);
void kymo__gil_give(struct kymo__gil gil);

/* errors.c */

/* Make the module's exceptions. Returns 0, or -1 with an exception set. */
int kymo__errors_init(PyObject *module);

/* Raise the exception for CODE, a negative return value of the library; PATH is the str of the file
   concerned, or NULL. Returns NULL. */
PyObject *kymo__raise(struct core *core, int code, PyObject *path);

/* Raise FileExistsError: no export wrote the file at PATH. Returns NULL. */
PyObject *kymo__raise_occupied(PyObject *path);

/* text.c */

/* C text of the library as a str: bytes that are not UTF-8 become U+FFFD. */
PyObject *kymo__text_from(const char *text);

/* The str TEXT as UTF-8 without NUL. Characters without a UTF-8 form (lone surrogates), and NUL,
   are written as escapes, \udc80 or \x00. The result lives as long as TEXT and *OWNER, which the
   caller releases. NULL with an exception. */
const char *kymo__text_utf8(PyObject *text, PyObject **owner);

/* Store C in UTF-8 at TO, which has room for 4 bytes; returns how many. A lone surrogate becomes
   U+FFFD. Calls nothing. */
size_t kymo__text_encode(Py_UCS4 c, char *to);

/* The path-like ARG as a str, and as the bytes the system wants in *BYTES. Both are
   new references. Returns NULL with an exception, *BYTES is then NULL. */
PyObject *kymo__text_path(PyObject *arg, PyObject **bytes);

static inline bool kymo__ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

#endif
