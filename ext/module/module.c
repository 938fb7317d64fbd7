/* module.c — the module kymograph._core: its state, its types, its functions. */
#include "ccalls.h"
#include "core.h"
#include "heap.h"
#include "marks.h"
#include "messages.h"
#include "methods.h"
#include "pyframes.h"
#include "reading.h"
#include "stackobjects.h"
#include "torchsource.h"
#include "tracer.h"

#include <dlfcn.h>

static PyObject *module_version(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromString(kymo_version());
}

/* The file from which libkymo was loaded, found by the address of one of its functions. */
static PyObject *module_library(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    Dl_info place;
    if (!dladdr((void *)(uintptr_t)kymo_version, &place) || !place.dli_fname)
        return PyErr_Format(PyExc_RuntimeError, "cannot find the file of libkymo");
    return PyUnicode_DecodeFSDefault(place.dli_fname);
}

static PyMethodDef module_methods[] = {
    {"open", kymo__capture_open, METH_O, "open($module, path, /)\n--\n\nOpen a capture."},
    {"open_family", kymo__capture_open_family, METH_VARARGS,
     "open_family($module, path, process, /)\n--\n\nOpen a capture and its child processes."},
    {"samples", kymo__sample_columns, METH_VARARGS,
     "samples($module, capture, thread, start, end, /)\n--\n\n"
     "Return the columns of Capture.samples, as bytes."},
    {"figures", kymo__figures, METH_VARARGS,
     "figures($module, capture, thread, start, end, paths, /)\n--\n\n"
     "Return what functions and call paths cost: two dicts of columns."},
    {"allocations", kymo__allocations, METH_VARARGS,
     "allocations($module, capture, set, at, older_than, /)\n--\n\n"
     "Return the columns of Capture.memory."},
    {"save", kymo__capture_save, METH_VARARGS,
     "save($module, capture, path, /)\n--\n\n"
     "Write a capture, which may still be recorded, to a file of its own."},
    {"words", kymo__words, METH_NOARGS,
     "words($module, /)\n--\n\n"
     "The words for the numbers in columns: lists by name, such as kind and class."},
    {"version", module_version, METH_NOARGS,
     "version($module, /)\n--\n\nThe version of libkymo in this process."},
    {"library", module_library, METH_NOARGS,
     "library($module, /)\n--\n\nThe path of libkymo in this process."},
    {0},
};

/* Create the type of SPEC and add it to MODULE. */
static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? PyModule_AddType(module, *type) : -1;
}

static int module_exec(PyObject *module)
{
    struct core *core = kymo__core_of_module(module);
    kymo__python_begins();
    core->names = kymo__names_new();
    core->args_word = PyUnicode_InternFromString("args");
    if (!core->names || !core->args_word)
        return -1;
    if (kymo__errors_init(module) < 0 || kymo__event_words_init(core) < 0 ||
        kymo__rows_init(module) < 0)
        return -1;
    if (add_type(module, &kymo__capture_spec, &core->capture_type) < 0 ||
        add_type(module, &kymo__columns_spec, &core->columns_type) < 0 ||
        add_type(module, &kymo__cursor_spec, &core->cursor_type) < 0 ||
        add_type(module, &kymo__event_spec, &core->event_type) < 0 ||
        add_type(module, &kymo__op_spec, &core->op_type) < 0 ||
        add_type(module, &kymo__span_spec, &core->span_type) < 0 ||
        add_type(module, &kymo__stack_spec, &core->stack_type) < 0 ||
        add_type(module, &kymo__timeline_spec, &core->timeline_type) < 0 ||
        kymo__span_init(core->span_type) < 0 ||
        PyModule_AddObjectRef(module, "span", (PyObject *)core->span_type) < 0 ||
        PyModule_AddObjectRef(module, "record_function", (PyObject *)core->span_type) < 0)
        return -1;
    if (kymo__callables_init() < 0 || kymo__hook_init(module) < 0 || kymo__walk_register() < 0)
        return -1;
    kymo__tracer_register();
    kymo__heap_register();
    kymo__torch_register();
    if (PyModule_AddFunctions(module, kymo__session_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__tracing_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__averages_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__heap_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__messages_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__torch_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__program_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__stacks_methods) < 0 ||
        PyModule_AddFunctions(module, kymo__dumps_methods) < 0)
        return -1;
    return PyModule_AddFunctions(module, kymo__marking_methods);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct core *core = kymo__core_of_module(module);
    Py_VISIT(core->capture_error);
    Py_VISIT(core->session_error);
    Py_VISIT(core->capture_type);
    Py_VISIT(core->columns_type);
    Py_VISIT(core->cursor_type);
    Py_VISIT(core->event_type);
    Py_VISIT(core->op_type);
    Py_VISIT(core->span_type);
    Py_VISIT(core->stack_type);
    Py_VISIT(core->timeline_type);
    Py_VISIT(core->info_type);
    Py_VISIT(core->thread_type);
    Py_VISIT(core->snapshot_type);
    Py_VISIT(core->stats_type);
    Py_VISIT(core->function_type);
    Py_VISIT(core->frame_type);
    return 0; /* the rest are strings */
}

/* Runs when nothing refers to the module any more, including instances of its types: they hold
   their type, and a type holds its module. */
static int module_clear(PyObject *module)
{
    struct core *core = kymo__core_of_module(module);
    Py_CLEAR(core->capture_error);
    Py_CLEAR(core->session_error);
    Py_CLEAR(core->capture_type);
    Py_CLEAR(core->columns_type);
    Py_CLEAR(core->cursor_type);
    Py_CLEAR(core->event_type);
    Py_CLEAR(core->op_type);
    Py_CLEAR(core->span_type);
    Py_CLEAR(core->stack_type);
    Py_CLEAR(core->timeline_type);
    Py_CLEAR(core->info_type);
    Py_CLEAR(core->thread_type);
    Py_CLEAR(core->snapshot_type);
    Py_CLEAR(core->stats_type);
    Py_CLEAR(core->function_type);
    Py_CLEAR(core->frame_type);
    Py_CLEAR(core->args_word);
    Py_CLEAR(core->session_path);
    for (size_t i = 0; i < KYMO__KINDS; i++)
        Py_CLEAR(core->kinds[i]);
    return 0;
}

static void module_free(void *module)
{
    struct core *core = kymo__core_of_module(module);
    module_clear(module);
    kymo__spans_free(core);
    kymo__names_free(core->names);
    core->names = NULL;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    KYMO_LAST_SLOTS,
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kymograph._core",
    .m_doc = "The C side of kymograph. Use the package kymograph instead.",
    .m_size = sizeof(struct core),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
