/* ccalls.c    — see ccalls.h. */
#include "ccalls.h"

#include <stdio.h>
#include <string.h>

#include <kymo/lane.h>

#include "core.h"
#include "keys.h"
#include "tracer.h"

PyTypeObject *kymo__method_wrapper_type;

int kymo__callables_init(void)
{
    PyObject *wrapper = PyObject_GetAttrString(Py_None, "__repr__");
    if (!wrapper)
        return -1;
    kymo__method_wrapper_type = Py_TYPE(wrapper); /* static: it outlives us */
    Py_DECREF(wrapper);
    return 0;
}

/* Weak references to the types whose addresses are in the table: when a type dies its
   address is forgotten. A list, or NULL. */
static PyObject *watched;

static PyObject *on_type_end(PyObject *address, PyObject *Py_UNUSED(reference))
{
    void *type = PyLong_AsVoidPtr(address);
    kymo__function_forget(type);
    kymo__function_forget((char *)type + 1);
    Py_RETURN_NONE;
}

static PyMethodDef on_type_end_def = {"kymo_type_end", on_type_end, METH_O, NULL};

/* Forget TYPE's addresses when it dies. */
static int watch(PyTypeObject *type)
{
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return 0;
    if (!watched && !(watched = PyList_New(0)))
        return -1;
    PyObject *address = PyLong_FromVoidPtr(type);
    PyObject *callback = address ? PyCFunction_New(&on_type_end_def, address) : NULL;
    PyObject *reference = callback ? PyWeakref_NewRef((PyObject *)type, callback) : NULL;
    int rc = reference ? PyList_Append(watched, reference) : -1;
    Py_XDECREF(reference);
    Py_XDECREF(callback);
    Py_XDECREF(address);
    return rc;
}

void kymo__callables_end(void)
{
    Py_CLEAR(watched);
}

/* Where the names are put together. Longer ones are cut, never wrong. */
struct names {
    char name[1024];
    char file[1024];
};

static void copy_text(char *out, size_t size, PyObject *text)
{
    PyObject *owner = NULL;
    const char *utf8 = text && PyUnicode_Check(text) ? kymo__text_utf8(text, &owner) : NULL;
    snprintf(out, size, "%s", utf8 ? utf8 : "");
    Py_XDECREF(owner);
}

/* The module and the qualified name of TYPE. */
static void name_type(PyTypeObject *type, struct names *names)
{
    names->file[0] = '\0';
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        copy_text(names->name, sizeof names->name, ((PyHeapTypeObject *)type)->ht_qualname);
        PyObject *key = PyUnicode_InternFromString("__module__");
        if (key && type->tp_dict)
            copy_text(names->file, sizeof names->file,
                      PyDict_GetItemWithError(type->tp_dict, key));
        Py_XDECREF(key);
        return;
    }
    const char *dot = strrchr(type->tp_name, '.');
    snprintf(names->name, sizeof names->name, "%s", dot ? dot + 1 : type->tp_name);
    if (dot)
        snprintf(names->file, sizeof names->file, "%.*s", (int)(dot - type->tp_name),
                 type->tp_name);
    else
        strcpy(names->file, "builtins");
}

static void name_method(PyTypeObject *owner, const char *method, struct names *names)
{
    name_type(owner, names);
    size_t len = strlen(names->name);
    snprintf(names->name + len, sizeof names->name - len, ".%s", method);
}

static bool has_method(PyTypeObject *type, const PyMethodDef *def)
{
    for (const PyMethodDef *m = type->tp_methods; m && m->ml_name; m++)
        if (m == def)
            return true;
    return false;
}

/* The type among TYPE and its bases that defines DEF, or TYPE. */
static PyTypeObject *owner_of(PyTypeObject *type, const PyMethodDef *def)
{
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *base = PyTuple_GET_ITEM(mro, i);
        if (PyType_Check(base) && has_method((PyTypeObject *)base, def))
            return (PyTypeObject *)base;
    }
    return type;
}

static int name_function(PyCFunctionObject *f, struct names *names)
{
    PyObject *self = PyCFunction_GET_SELF(f);
    if (self && !PyModule_Check(self)) {
        PyTypeObject *type = PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
        name_method(owner_of(type, f->m_ml), f->m_ml->ml_name, names);
        return KYMO_CLASS_METHOD;
    }
    snprintf(names->name, sizeof names->name, "%s", f->m_ml->ml_name);
    names->file[0] = '\0';
    if (f->m_module && PyUnicode_Check(f->m_module)) {
        copy_text(names->file, sizeof names->file, f->m_module);
    } else if (self) {
        const char *module = PyModule_GetName(self);
        snprintf(names->file, sizeof names->file, "%s", module ? module : "");
    }
    return KYMO_CLASS_NATIVE;
}

/* Fill NAMES for CALLABLE; returns enum kymo_class, or -1 with an exception. */
static int describe(PyObject *callable, struct names *names)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    PyTypeObject *type = Py_TYPE(callable);
    if (PyCFunction_Check(callable))
        return name_function((PyCFunctionObject *)callable, names);
    if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type) {
        PyMethodDescrObject *d = (PyMethodDescrObject *)callable;
        name_method(PyDescr_TYPE(d), d->d_method->ml_name, names);
        return KYMO_CLASS_METHOD;
    }
    if (type == &PyWrapperDescr_Type || type == kymo__method_wrapper_type) {
        PyWrapperDescrObject *d = type == &PyWrapperDescr_Type
                                      ? (PyWrapperDescrObject *)callable
                                      : ((struct method_wrapper *)callable)->descr;
        name_method(PyDescr_TYPE(d), d->d_base->name, names);
        return KYMO_CLASS_METHOD;
    }
    bool is_type = PyType_Check(callable);
    PyTypeObject *shown = is_type ? (PyTypeObject *)callable : type;
    name_type(shown, names);
    if (watch(shown) < 0)
        return -1;
    return is_type ? KYMO_CLASS_TYPE : KYMO_CLASS_CALLABLE;
}

uint32_t kymo__callable_key(PyObject *callable, const void *address)
{
    (void)address;
    struct names names;
    int kind = describe(callable, &names);
    if (kind < 0)
        return 0;
    if (!kymo__filter_allows(names.file, names.name))
        return KYMO_LEFT_OUT;
    struct kymo_function function = {
        .size = sizeof function,
        .name = names.name,
        .file = names.file,
        .kind = (uint32_t)kind,
    };
    return kymo_function_key(&function);
}
