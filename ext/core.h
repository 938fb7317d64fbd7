/* core.h — what the files of kymograph._core share: the state of one module object and
   the functions that cross files. Nothing here knows how the library works; all
   that is known of it stands in <kymo/kymo.h>. */
#ifndef KYMO_EXT_CORE_H
#define KYMO_EXT_CORE_H

#include "compat.h"

#include <kymo/kymo.h>

#define KYMO__KINDS (KYMO_ARG_TEXT + 1)

/* Py_ARRAY_LENGTH is no constant expression everywhere. */
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* One per interpreter that imported the module. All references are owned. */
struct core {
    PyObject *capture_error; /* kymograph.CaptureError */
    PyObject *session_error; /* kymograph.SessionError */

    PyTypeObject *capture_type;
    PyTypeObject *columns_type;
    PyTypeObject *cursor_type;
    PyTypeObject *event_type;
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
    PyObject *args_word;          /* str: "args", what the text of record_function is called */
    PyObject *session_path;       /* str: where the last start records to; or NULL */
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

/* errors.c */

/* Make the module's exceptions. Returns 0, or -1 with an exception set. */
int kymo__errors_init(PyObject *module);

/* Raise what CODE, a negative return value of the library, means to a Python
   programmer; PATH is the str of the file it is about, or NULL. Returns NULL. */
PyObject *kymo__raise(struct core *core, int code, PyObject *path);

/* text.c */

/* C text of the library as a str: bytes that are no UTF-8 become U+FFFD. */
PyObject *kymo__text_from(const char *text);

/* The str TEXT as UTF-8 without NUL. What has no UTF-8 form (lone surrogates) or
   would end the C string is written as its escape, \udc80 or \x00. The result lives
   as long as TEXT and *OWNER, which is to be released. NULL with an exception. */
const char *kymo__text_utf8(PyObject *text, PyObject **owner);

/* The path-like ARG as a str, and as the bytes the system wants in *BYTES. Both are
   new references. Returns NULL with an exception, *BYTES is then NULL. */
PyObject *kymo__text_path(PyObject *arg, PyObject **bytes);

/* names.c: stable names for marking calls. */

/* An empty cache of names, or NULL with an exception. */
struct kymo__names *kymo__names_new(void);
void kymo__names_free(struct kymo__names *names);

/* The name to mark with for the str NAME, or NULL when nothing is to be recorded.
   No exception is ever set. The name is good until RELEASE, which must follow in
   either case; nothing but marking calls may stand between the two. */
const char *kymo__name_hold(struct core *core, PyObject *name);
void kymo__name_release(void);

/* The same for every str of TEXTS, a tuple of at most KYMO__TEXTS_MOST; false when nothing is
   to be recorded. */
enum { KYMO__TEXTS_MOST = 1 + 2 * 64 }; /* a name, and as many arguments as are read back */
bool kymo__names_hold(struct core *core, PyObject *texts, const char **names);

/* SHUT: from now on HOLD gives NULL, until OPEN. Around the end of a session, which
   frees the names. */
void kymo__names_shut(void);
void kymo__names_open(void);

/* rows.c: the struct sequences. */
int kymo__rows_init(PyObject *module);
/* _core.figures: see figures.c. */
PyObject *kymo__figures(PyObject *module, PyObject *args);

PyObject *kymo__row_info(struct core *core, const struct kymo_info *info);
PyObject *kymo__row_thread(struct core *core, const struct kymo_thread_info *thread);
PyObject *kymo__row_snapshot(struct core *core, uint64_t ticks, int64_t monotonic, int64_t wall);
PyObject *kymo__row_stats(struct core *core, const struct kymo_stats *stats);
PyObject *kymo__row_function(struct core *core, const char *name, const char *file, uint32_t line,
                             uint32_t class);

PyObject *kymo__row_frame(struct core *core, const struct kymo_named_frame *frame);

/* samples.c: _core.samples, and Capture.stacks. */
PyObject *kymo__sample_columns(PyObject *module, PyObject *args);
PyObject *kymo__capture_stacks(PyObject *capture, PyObject *args, PyObject *keywords);

/* capture.c */
extern PyType_Spec kymo__capture_spec;
PyObject *kymo__capture_open(PyObject *module, PyObject *path);

/* A capture stays readable while it is pinned, even if it is closed meanwhile.
   PIN returns 0, or -1 with an exception when the capture is closed already. */
int kymo__capture_pin(PyObject *capture);
void kymo__capture_unpin(PyObject *capture);
bool kymo__capture_closed(PyObject *capture);
PyObject *kymo__capture_raise_closed(PyObject *capture);

/* The library's capture, to be used between LOCK and UNLOCK only: it serves one
   thread at a time. No Python API may be called in between, except by saving and
   restoring the thread around it. */
struct kymo_capture *kymo__capture_lock(PyObject *capture);
void kymo__capture_unlock(PyObject *capture);

/* The part that arguments called THREAD, START and END choose; None leaves what is there.
   Returns 0, or -1 with an exception. */
int kymo__capture_window(PyObject *capture, PyObject *thread, PyObject *start, PyObject *end,
                         int64_t *index, kymo_ns *from, kymo_ns *to);

/* The path it was opened by; borrowed. */
PyObject *kymo__capture_path(PyObject *capture);

/* export.c */
PyObject *kymo__capture_export(PyObject *capture, PyObject *args, PyObject *keywords);

/* cursor.c */
extern PyType_Spec kymo__cursor_spec;
PyObject *kymo__cursor_new(PyObject *capture, const struct kymo_window *window);

/* columns.c */
extern PyType_Spec kymo__columns_spec;
PyObject *kymo__columns_new(PyObject *capture, const struct kymo_window *window);
PyObject *kymo__callables_list(PyObject *capture);

/* event.c */
extern PyType_Spec kymo__event_spec;
int kymo__event_words_init(struct core *core);

/* A kymograph.Event with the fields of EVENT; NAME, FILE and TEXT, NULL for "", replace its C
   strings. */
PyObject *kymo__event_new(PyTypeObject *type, const struct kymo_event *event, PyObject *name,
                          PyObject *file, PyObject *text);

/* span.c, recording.c: the functions of the module. */
extern PyType_Spec kymo__span_spec;
PyObject *kymo__span_new(PyObject *module, PyObject *name);

/* A span with texts attached. TEXTS is a tuple of str: its name, then names and texts in turn. */
PyObject *kymo__span_with(PyObject *module, PyObject *texts);
PyObject *kymo__span_like(PyObject *module, PyObject *span);
int kymo__span_init(PyTypeObject *span_type); /* completes the type; 0 or -1 */
void kymo__spans_free(struct core *core);
PyObject *kymo__spans_mute(PyObject *module, PyObject *flag);
extern PyMethodDef kymo__session_methods[];
extern PyMethodDef kymo__marking_methods[];

/* averages.c */
extern PyType_Spec kymo__timeline_spec;
extern PyMethodDef kymo__averages_methods[];

/* stacks.c */
extern PyType_Spec kymo__stack_spec;
extern PyMethodDef kymo__stacks_methods[];

/* The id of OBJECT, a captured stack; -1 with an exception when it is none of TYPE. */
int64_t kymo__stack_of(PyTypeObject *type, PyObject *object);

/* framenames.c: _core.stack_names and _core.address_names. */
PyObject *kymo__stack_names(PyObject *module, PyObject *args);
PyObject *kymo__address_names(PyObject *module, PyObject *args);

/* dumps.c */
extern PyMethodDef kymo__dumps_methods[];

/* program.c */
extern PyMethodDef kymo__program_methods[];

#endif
