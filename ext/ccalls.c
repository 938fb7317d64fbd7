/* ccalls.c    — see ccalls.h. */
#include "ccalls.h"

#include <stdio.h>
#include <string.h>

#include <kymo/lane.h>

#include "core.h"
#include "keys.h"
#include "tracer.h"

PyTypeObject *kymo__method_wrapper_type;
PyMethodDef *kymo__new_definition;
struct wrapperbase *kymo__repr_slot;

/* What these point to is static: it outlives us. */
int kymo__callables_init(void)
{
    PyObject *wrapper = PyObject_GetAttrString(Py_None, "__repr__");
    PyObject *new = wrapper ? PyObject_GetAttrString(Py_None, "__new__") : NULL;
    if (new) {
        kymo__method_wrapper_type = Py_TYPE(wrapper);
        kymo__repr_slot = ((struct method_wrapper *)wrapper)->descr->d_base;
        kymo__new_definition = ((PyCFunctionObject *)new)->m_ml;
    }
    Py_XDECREF(wrapper);
    Py_XDECREF(new);
    return new ? 0 : -1;
}

/* Addresses in the table, as int, with a weak reference to the object on whose life each
   depends: when that dies the address is forgotten. A dict, or NULL. */
static PyObject *watched;

static PyObject *on_end(PyObject *address, PyObject *reference)
{
    kymo__function_forget(PyLong_AsVoidPtr(address));
    PyObject *dict = watched;
    if (dict && PyDict_GetItemWithError(dict, address) == reference)
        PyDict_DelItem(dict, address);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef on_end_def = {"kymo_end", on_end, METH_O, NULL};

/* Forget ADDRESS when OBJECT dies. 0, or -1 with an exception. */
static int watch(PyObject *object, const void *address)
{
    PyObject *number = PyLong_FromVoidPtr((void *)address);
    PyObject *callback = number ? PyCFunction_New(&on_end_def, number) : NULL;
    PyObject *reference = callback ? PyWeakref_NewRef(object, callback) : NULL;
    int rc = reference ? PyDict_SetItem(watched, number, reference) : -1;
    Py_XDECREF(reference);
    Py_XDECREF(callback);
    Py_XDECREF(number);
    return rc;
}

static int watch_type(PyTypeObject *type, const void *address)
{
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE ? watch((PyObject *)type, address) : 0;
}

int kymo__callables_begin(void)
{
    if (!watched)
        watched = PyDict_New();
    return watched ? 0 : -1;
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
    size_t len = utf8 ? strlen(utf8) : 0;
    if (len >= size)
        for (len = size - 1; ((unsigned char)utf8[len] & 0xc0) == 0x80; len--) {}
    memcpy(out, utf8 ? utf8 : "", len);
    out[len] = '\0';
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
            copy_text(names->file, sizeof names->file, PyDict_GetItemWithError(type->tp_dict, key));
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

/* The type among TYPE and its bases that defines DEF, or NULL. */
static PyTypeObject *definer_of(PyTypeObject *type, const PyMethodDef *def)
{
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *base = PyTuple_GET_ITEM(mro, i);
        if (PyType_Check(base) && has_method((PyTypeObject *)base, def))
            return (PyTypeObject *)base;
    }
    return NULL;
}

/* The type that F is a method of: SELF, which it is bound to, may be an instance of it or
   of a type below, or, when it is a method of classes, the type. */
static PyTypeObject *owner_of(const PyCFunctionObject *f, PyObject *self)
{
    PyTypeObject *type = PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
    PyTypeObject *owner = definer_of(type, f->m_ml);
    if (!owner)
        owner = definer_of(Py_TYPE(self), f->m_ml);
    return owner ? owner : type;
}

static int name_function(PyCFunctionObject *f, const void *address, struct names *names)
{
    PyObject *self = f->m_self; /* set for static methods too */
    if (self && PyCapsule_CheckExact(self)) {
        /* A binding generator's: the definition is its own, and dies with it. */
        if (watch((PyObject *)f, address) < 0)
            return -1;
    } else if (self && !PyModule_Check(self)) {
        name_method(owner_of(f, self), f->m_ml->ml_name, names);
        if (f->m_ml == kymo__new_definition && watch_type((PyTypeObject *)self, address) < 0)
            return -1;
        return KYMO_CLASS_METHOD;
    }
    snprintf(names->name, sizeof names->name, "%s", f->m_ml->ml_name);
    names->file[0] = '\0';
    if (f->m_module && PyUnicode_Check(f->m_module)) {
        copy_text(names->file, sizeof names->file, f->m_module);
    } else if (self && PyModule_Check(self)) {
        const char *module = PyModule_GetName(self);
        snprintf(names->file, sizeof names->file, "%s", module ? module : "");
    }
    return KYMO_CLASS_NATIVE;
}

/* Fill NAMES for CALLABLE; returns enum kymo_class, or -1 with an exception. */
static int describe(PyObject *callable, const void *address, struct names *names)
{
    while (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    PyTypeObject *type = Py_TYPE(callable);
    if (type == &PyCFunction_Type || type == &PyCMethod_Type)
        return name_function((PyCFunctionObject *)callable, address, names);
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
        return watch_type(PyDescr_TYPE(d), address) < 0 ? -1 : KYMO_CLASS_METHOD;
    }
    bool is_type = PyType_Check(callable);
    PyTypeObject *shown = is_type ? (PyTypeObject *)callable : type;
    name_type(shown, names);
    if (watch_type(shown, address) < 0)
        return -1;
    return is_type ? KYMO_CLASS_TYPE : KYMO_CLASS_CALLABLE;
}

/* Our own functions and types. What they record lies inside no call of theirs. */
static bool is_ours(const struct names *names)
{
    return strncmp(names->file, "kymograph", 4) == 0 && (!names->file[4] || names->file[4] == '.');
}

uint32_t kymo__callable_key(PyObject *callable, const void *address)
{
    struct names names;
    int kind = describe(callable, address, &names);
    if (kind < 0)
        return 0;
    if (is_ours(&names) || !kymo__filter_allows(names.file, names.name))
        return KYMO_LEFT_OUT;
    struct kymo_function function = {
        .size = sizeof function,
        .name = names.name,
        .file = names.file,
        .kind = (uint32_t)kind,
    };
    return kymo_function_key(&function);
}
