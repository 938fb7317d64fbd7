/* errors.c — turn the library's negative codes into Python exceptions.

   A failed system call is an OSError, whose subclass Python chooses by errno; a problem with a
   capture is a CaptureError; a call that does not fit the state of the session is a
   SessionError. */
#include "core.h"

#include <errno.h>

/* Advice by code for a file that cannot be read; the library's message has said what is wrong. */
static const struct {
    int code;
    const char *advice;
} advices[] = {
    {KYMO_ENOTCAPTURE, "give the .kymo file that a recording wrote"},
    {KYMO_EDAMAGED, "nothing of it can be read; restore it from a copy or record again"},
    {KYMO_EMPTYFILE, "record again"},
};

static const char *advice_for(int code)
{
    for (size_t i = 0; i < COUNT_OF(advices); i++)
        if (advices[i].code == code)
            return advices[i].advice;
    return NULL;
}

/* "PATH: message; advice", and the path as .filename like OSError's. */
static void raise_capture_error(struct core *core, int code, PyObject *path)
{
    const char *advice = advice_for(code);
    PyObject *text = PyUnicode_FromFormat("%U: %s%s%s", path, kymo_strerror(code),
                                          advice ? "; " : "", advice ? advice : "");
    if (!text)
        return;
    PyObject *error = PyObject_CallOneArg(core->capture_error, text);
    Py_DECREF(text);
    if (!error)
        return;
    if (PyObject_SetAttrString(error, "filename", path) == 0)
        PyErr_SetObject(core->capture_error, error);
    Py_DECREF(error);
}

static void raise_os_error(int number, const char *text, PyObject *path)
{
    PyObject *error = path ? PyObject_CallFunction(PyExc_OSError, "isO", number, text, path)
                           : PyObject_CallFunction(PyExc_OSError, "is", number, text);
    if (!error)
        return;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
}

PyObject *kymo__raise_occupied(PyObject *path)
{
    raise_os_error(EEXIST,
                   "the file exists and was not written by kymograph; name another one, or use "
                   "force=True to overwrite it",
                   path);
    return NULL;
}

PyObject *kymo__raise(struct core *core, int code, PyObject *path)
{
    const char *text = kymo_strerror(code);
    switch (code) {
    case -ENOMEM:
        return PyErr_NoMemory();
    case KYMO_ERUNNING:
    case KYMO_EIDLE:
    case KYMO_EREGISTERED:
    case KYMO_ENOTREGISTERED:
    case KYMO_ENOTFLIGHT:
    case KYMO_ESIGNALS:
        PyErr_SetString(core->session_error, text);
        return NULL;
    case KYMO_ESOURCE:
        PyErr_SetString(PyExc_ValueError, text);
        return NULL;
    case KYMO_EOCCUPIED:
        raise_os_error(EEXIST, text, path);
        return NULL;
    case KYMO_EBUSYFILE:
        raise_os_error(EBUSY, text, path);
        return NULL;
    }
    if (code > KYMO_ENOTCAPTURE)
        raise_os_error(-code, text, path);
    else if (path)
        raise_capture_error(core, code, path);
    else
        PyErr_SetString(core->capture_error, text);
    return NULL;
}

int kymo__errors_init(PyObject *module)
{
    struct core *core = kymo__core_of_module(module);
    core->capture_error = PyErr_NewExceptionWithDoc(
        "kymograph.CaptureError",
        "A file cannot be read as a capture: it is not one, or is empty, damaged, or\n"
        "written by a newer kymograph. The attribute `filename` says which file.",
        PyExc_ValueError, NULL);
    core->session_error = PyErr_NewExceptionWithDoc(
        "kymograph.SessionError",
        "The call does not fit the state of the session: one is running already, or none is.",
        PyExc_RuntimeError, NULL);
    if (!core->capture_error || !core->session_error)
        return -1;
    if (PyModule_AddObjectRef(module, "CaptureError", core->capture_error) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "SessionError", core->session_error);
}
