/* ccalls.c    — see ccalls.h. */
#include "ccalls.h"

#include <stdio.h>
#include <string.h>

#include <kymo/lane.h>

#include "core.h"
#include "keys.h"
#include "tracer.h"

PyTypeObject *kymo__partial_type;
Py_ssize_t kymo__partial_function;
PyTypeObject *kymo__method_wrapper_type;
PyMethodDef *kymo__new_definition;
struct wrapperbase *kymo__repr_slot;

/* If TYPE is functools.partial, whose objects are named after their function, remember it.
   Looked up only when one is called: a program that does not import functools must not find it
   imported. */
static bool is_new_partial(PyTypeObject *type)
{
    if (kymo__partial_type || strcmp(type->tp_name, "functools.partial") != 0)
        return false;
    PyObject *member = PyObject_GetAttrString((PyObject *)type, "func");
    if (member && Py_IS_TYPE(member, &PyMemberDescr_Type)) {
        kymo__partial_function = ((PyMemberDescrObject *)member)->d_member->offset;
        kymo__partial_type = (PyTypeObject *)Py_NewRef(type);
    }
    Py_XDECREF(member);
    PyErr_Clear();
    return kymo__partial_type == type;
}

static PyObject *partial_function(PyObject *partial)
{
    return *(PyObject **)((char *)partial + kymo__partial_function);
}

const void *kymo__object_address(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type == kymo__partial_type) {
        PyObject *inner = partial_function(object);
        const char *address = PyFunction_Check(inner) ? (const char *)PyFunction_GET_CODE(inner)
                                                      : kymo__callable_address(inner);
        if (address)
            return address + INSIDE_PARTIAL;
    }
    const char *shared = (const char *)type + INSIDE_INSTANCE;
    const struct function *f = kymo__function_find(shared);
    if (!f && is_new_partial(type))
        return kymo__object_address(object);
    return f && f->slices == INSTANCES_NAMED ? (const void *)object : shared;
}

/* These point to static objects, which outlive us. */
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

/* Addresses in the table, as int, each with a weak reference to the object that it depends on:
   when that dies the address is forgotten. A dict, or NULL. */
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
static int watch_object(PyObject *object, const void *address)
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

/* The same; an object without weak references is kept alive until the session ends, as long as
   there are few of those. 1 when there are too many. */
static int watch_or_keep(PyObject *object, const void *address)
{
    enum { KEPT_MOST = 4096 };
    if (watch_object(object, address) == 0)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    if (PyDict_GET_SIZE(watched) >= KEPT_MOST)
        return 1;
    PyObject *number = PyLong_FromVoidPtr((void *)address);
    int rc = number ? PyDict_SetItem(watched, number, object) : -1;
    Py_XDECREF(number);
    return rc;
}

static int watch_type(PyTypeObject *type, const void *address)
{
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE ? watch_object((PyObject *)type, address) : 0;
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

enum { TOO_MANY = 1000 }; /* beside enum kymo_class */

/* Buffers for names. Longer ones are truncated. */
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

/* The type that F is a method of. SELF, which F is bound to, may be an instance of that type or
   of a subclass, or, for class methods, the type. */
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
        /* From a binding generator: the definition belongs to the function and dies with it. */
        if (watch_object((PyObject *)f, address) < 0)
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

/* Attribute NAME of OBJECT, if it is a str that can be read without running the program's code:
   from the object's dict, or through a descriptor of a C type. A new reference, or NULL. */
static PyObject *read_text(PyObject *object, const char *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *key = PyUnicode_InternFromString(name), *found = NULL;
    for (Py_ssize_t i = 0; key && type->tp_mro && i < PyTuple_GET_SIZE(type->tp_mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
        PyObject *dict = PyType_Check(base) ? KYMO_TYPE_DICT(base) : NULL; /* borrowed */
        if (dict && (found = PyDict_GetItemWithError(dict, key)))
            break;
    }
    PyObject *text = NULL;
    if (found && (Py_IS_TYPE(found, &PyGetSetDescr_Type) || Py_IS_TYPE(found, &PyMemberDescr_Type)))
        text = Py_TYPE(found)->tp_descr_get(found, object, (PyObject *)type);
    if (!text && type->tp_dictoffset > 0) {
        PyErr_Clear();
        PyObject *dict = *(PyObject **)((char *)object + type->tp_dictoffset);
        text = dict && PyDict_CheckExact(dict) ? PyDict_GetItemWithError(dict, key) : NULL;
        Py_XINCREF(text);
    }
    if (text && !PyUnicode_Check(text))
        Py_CLEAR(text);
    Py_XDECREF(key);
    PyErr_Clear();
    return text;
}

/* The object's own name and its module. False when it has no name. */
static bool name_object(PyObject *object, struct names *names)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *name = read_text(object, "__qualname__");
    name = name ? name : read_text(object, "__name__");
    if (name) {
        name_type(type, names); /* for its module */
        PyObject *module = read_text(object, "__module__");
        if (module)
            copy_text(names->file, sizeof names->file, module);
        copy_text(names->name, sizeof names->name, name);
        Py_XDECREF(module);
        Py_DECREF(name);
    }
    return name != NULL;
}

static int describe_callable(PyObject *callable, const void *address, struct names *names);

/* PARTIAL wraps a callable: its name is that of the callable in brackets. */
static int name_partial(PyObject *partial, const void *address, struct names *names)
{
    PyObject *inner = partial_function(partial);
    struct names named = {.file = ""};
    if (PyFunction_Check(inner)) {
        PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(inner);
        copy_text(named.name, sizeof named.name, KYMO_CODE_QUALNAME(code));
        copy_text(named.file, sizeof named.file, code->co_filename);
    } else if (describe_callable(inner, address, &named) < 0) {
        return -1;
    }
    snprintf(names->name, sizeof names->name, "partial(%.*s)", (int)sizeof names->name - 16,
             named.name);
    memcpy(names->file, named.file, sizeof names->file);
    return KYMO_CLASS_CALLABLE;
}

/* Fill NAMES for CALLABLE; returns enum kymo_class, or -1 with an exception. */
static int describe_callable(PyObject *callable, const void *address, struct names *names)
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
    if (type == kymo__partial_type && address != (const char *)type + INSIDE_INSTANCE)
        return name_partial(callable, address, names);
    bool is_type = PyType_Check(callable);
    if (!is_type && address != (const char *)type + INSIDE_INSTANCE &&
        name_object(callable, names)) {
        int watched_rc = watch_or_keep(callable, address);
        return watched_rc < 0 ? -1 : watched_rc ? TOO_MANY : KYMO_CLASS_CALLABLE;
    }
    PyTypeObject *shown = is_type ? (PyTypeObject *)callable : type;
    name_type(shown, names);
    if (watch_type(shown, address) < 0)
        return -1;
    return is_type ? KYMO_CLASS_TYPE : KYMO_CLASS_CALLABLE;
}

bool kymo__has_own_name(PyObject *callable)
{
    while (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    struct names names;
    return !PyType_Check(callable) && name_object(callable, &names);
}

/* Our own functions and types. What they record is not nested in calls of them. */
static bool is_ours(const struct names *names)
{
    static const char package[] = "kymograph";
    const char *rest = names->file + sizeof(package) - 1;
    return strncmp(names->file, package, sizeof(package) - 1) == 0 && (!*rest || *rest == '.');
}

uint32_t kymo__callable_key(PyObject *callable, const void *address)
{
    struct names names = {0};
    int kind = describe_callable(callable, address, &names);
    if (kind < 0 || kind == TOO_MANY)
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
