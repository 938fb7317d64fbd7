/* reading.h — captures as Python objects: shared by the files of this directory, and registered by
   the module. */
#ifndef KYMO_EXT_READING_H
#define KYMO_EXT_READING_H

#include "core.h"

/* rows.c: the struct sequences. */
int kymo__rows_init(PyObject *module);
/* _core.figures: see figures.c. */
PyObject *kymo__figures(PyObject *module, PyObject *args);

/* _core.allocations: see allocations.c. */
PyObject *kymo__allocations(PyObject *module, PyObject *args);

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
PyObject *kymo__capture_open_family(PyObject *module, PyObject *args);

/* A pinned capture stays readable even if it is closed meanwhile. PIN returns 0, or -1 with an
   exception if the capture is closed already. */
int kymo__capture_pin(PyObject *capture);
void kymo__capture_unpin(PyObject *capture);
bool kymo__capture_closed(PyObject *capture);
PyObject *kymo__capture_raise_closed(PyObject *capture);

/* The library's capture, to be used only between LOCK and UNLOCK, by one thread at a time. No
   Python API may be called in between, except by saving and restoring the thread around it. */
struct kymo_capture *kymo__capture_lock(PyObject *capture);
void kymo__capture_unlock(PyObject *capture);

/* The part selected by the arguments THREAD, START and END; None leaves the default. Returns 0, or
   -1 with an exception. */
int kymo__capture_window(PyObject *capture, PyObject *thread, PyObject *start, PyObject *end,
                         int64_t *index, kymo_ns *from, kymo_ns *to);

/* The path it was opened by; borrowed. */
PyObject *kymo__capture_path(PyObject *capture);

/* export.c */
PyObject *kymo__capture_export(PyObject *capture, PyObject *args, PyObject *keywords);
PyObject *kymo__capture_save(PyObject *module, PyObject *args);

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

/* words(): the words for the numbers in columns, as a dict of lists. */
PyObject *kymo__words(PyObject *module, PyObject *none);

/* A kymograph.Event with the fields of EVENT; NAME, FILE and TEXT, NULL for "", replace its C
   strings, and FIELDS, a dict or NULL, its payload. */
PyObject *kymo__event_new(PyTypeObject *type, const struct kymo_event *event, PyObject *name,
                          PyObject *file, PyObject *text, PyObject *fields);

/* fields.c: the payload of EVENT, a new reference; NULL with an exception. */
PyObject *kymo__fields_dict(const struct kymo_capture *capture, const struct kymo_event *event);

/* averages.c */
extern PyType_Spec kymo__timeline_spec;
extern PyMethodDef kymo__averages_methods[];

#endif
