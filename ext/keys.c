/* keys.c — see keys.h. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

#include <kymo/lane.h>

#include "ccalls.h"
#include "codes.h"
#include "core.h"
#include "named.h"
#include "tasks.h"
#include "throttle.h"
#include "tracer.h"

/* Before the first session and where memory fails: two slots, always empty. */
static union {
    struct function_table table;
    char bytes[sizeof(struct function_table) + 2 * sizeof(struct function)];
} none = {.table = {.shift = 63}};
struct function_table *kymo__functions = &none.table;

/* What is found where nothing could be stored, and where there is no key: no session, or no
   room for one. The latter is not left out, because the hooks may switch that off for good. */
static const struct function left_out = {.key = KYMO_LEFT_OUT};
static const struct function nameless;

KYMO_SECTION(table_section);

static struct function_table *table_new(unsigned bits)
{
    struct function_table *table = calloc(1, sizeof *table + (sizeof(struct function) << bits));
    if (table)
        table->shift = 64 - bits;
    return table;
}

static void tables_free(struct function_table *table)
{
    while (table && table != &none.table) {
        struct function_table *older = table->older;
        free(table);
        table = older;
    }
}

static struct function *slot_of(struct function_table *table, const void *address)
{
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> table->shift);
    while (table->slots[i & mask].address && table->slots[i & mask].address != address)
        i++;
    return &table->slots[i & mask];
}

/* A table with room for one more. Forgotten entries are left behind when it grows. */
static struct function_table *roomy(void)
{
    struct function_table *table = kymo__functions;
    size_t slots = (size_t)1 << (64 - table->shift);
    if (table != &none.table && (table->used + 1) * 2 <= slots)
        return table;
    struct function_table *wider = table_new(table == &none.table ? 12 : 64 - table->shift + 1);
    if (!wider)
        return NULL;
    for (size_t i = 0; table != &none.table && i < slots; i++) {
        if (!table->slots[i].address || !table->slots[i].key)
            continue;
        *slot_of(wider, table->slots[i].address) = table->slots[i];
        wider->used++;
    }
    wider->older = table;
    __atomic_store_n(&kymo__functions, wider, __ATOMIC_RELEASE);
    return wider;
}

static const struct function *insert(const void *address, uint32_t key, uint32_t slices)
{
    KYMO_SECTION_LOCK(table_section);
    struct function_table *table = roomy();
    const struct function *result = &left_out;
    if (table) {
        struct function *f = slot_of(table, address);
        /* Without a GIL another thread may have been first; its key is in use by now. */
        if (!f->address || !f->key) {
            table->used += !f->address;
            f->slices = slices;
            __atomic_store_n(&f->key, key, __ATOMIC_RELEASE);
            __atomic_store_n(&f->address, address, __ATOMIC_RELEASE);
        }
        result = f;
    }
    KYMO_SECTION_UNLOCK(table_section);
    return result;
}

const struct function *kymo__function_insert(const void *address, uint32_t key, uint32_t slices)
{
    return insert(address, key, slices);
}

struct function kymo__recent[1 << KYMO_RECENT_BITS];
static bool recent_stopped;

void kymo__recent_add(const struct function *f)
{
#ifndef Py_GIL_DISABLED
    if (!recent_stopped && f->key != KYMO_LEFT_OUT && !kymo__tracing.max_depth)
        *kymo__recent_slot(f->address) = *f;
#else
    (void)f;
#endif
}

void kymo__recent_leave_out(const void *address)
{
    if (!recent_stopped)
        *kymo__recent_slot(address) = (struct function){.address = address, .key = KYMO_LEFT_OUT};
}

void kymo__recent_stop(void)
{
    recent_stopped = true;
    memset(kymo__recent, 0, sizeof kymo__recent);
}

void kymo__function_forget(const void *address)
{
    struct function *recent = kymo__recent_slot(address);
    if (recent->address == address)
        recent->address = NULL;
    KYMO_SECTION_LOCK(table_section);
    struct function *f = slot_of(kymo__functions, address);
    if (f->address == address)
        __atomic_store_n(&f->key, 0u, __ATOMIC_RELEASE);
    KYMO_SECTION_UNLOCK(table_section);
}

int kymo__functions_begin(void)
{
    kymo__functions_end();
    KYMO_SECTION_LOCK(table_section);
    struct function_table *table = roomy();
    KYMO_SECTION_UNLOCK(table_section);
    if (!table)
        PyErr_NoMemory();
    return table ? kymo__callables_begin() : -1;
}

void kymo__functions_end(void)
{
    KYMO_SECTION_LOCK(table_section);
    struct function_table *table = kymo__functions;
    __atomic_store_n(&kymo__functions, &none.table, __ATOMIC_RELEASE);
    KYMO_SECTION_UNLOCK(table_section);
    tables_free(table);
    memset(kymo__recent, 0, sizeof kymo__recent);
    recent_stopped = false;
    kymo__tasks_reset();
    kymo__callables_end();
}

static void on_code_end(PyCodeObject *code)
{
    kymo__function_forget(code);
    kymo__throttle_forget(code);
    kymo__code_died(code);
}

#if KYMO_HAS_CODE_WATCHER
static int on_code(PyCodeEvent event, PyCodeObject *code)
{
    if (event == PY_CODE_EVENT_DESTROY)
        on_code_end(code);
    return 0;
}

int kymo__functions_watch(void)
{
    static int watcher = -1;
    if (watcher < 0)
        watcher = PyCode_AddWatcher(on_code);
    return watcher < 0 ? -1 : 0;
}
#else
/* Versions without code watchers: the type of code objects frees them through us. */
static destructor code_dealloc;

static void dealloc(PyObject *code)
{
    on_code_end((PyCodeObject *)code);
    code_dealloc(code);
}

int kymo__functions_watch(void)
{
    if (!code_dealloc) {
        code_dealloc = PyCode_Type.tp_dealloc;
        PyCode_Type.tp_dealloc = dealloc;
    }
    return 0;
}
#endif

uint32_t kymo__name_key(const char *name, uint32_t kind)
{
    struct kymo_function function = {.size = sizeof function, .name = name, .kind = kind};
    return kymo_function_key(&function);
}

const struct function *kymo__function_add(PyObject *code)
{
    if (!PyCode_Check(code))
        return &left_out; /* another language's code object, through the monitoring API */
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* an unwinding frame has its exception set */
    PyCodeObject *co = (PyCodeObject *)code;
    PyObject *name_owner = NULL, *file_owner = NULL;
    const char *name = kymo__text_utf8(KYMO_CODE_QUALNAME(co), &name_owner);
    const char *file = kymo__text_utf8(co->co_filename, &file_owner);
    uint32_t key = KYMO_LEFT_OUT;
    bool makes_tasks = name && file && kymo__makes_tasks(file, name);
    if (name && file && kymo__filter_allows(file, name)) {
        struct kymo_function function = {
            .size = sizeof function,
            .name = name,
            .file = file,
            .line = (uint32_t)co->co_firstlineno,
            .kind = KYMO_CLASS_FUNCTION,
        };
        key = kymo_function_key(&function);
    }
    PyErr_Clear();
    Py_XDECREF(name_owner);
    Py_XDECREF(file_owner);
    PyErr_Restore(type, value, trace);
    if (!key)
        return &nameless; /* asked again next time */
    if (makes_tasks)
        return insert(code, key, TASK_MAKER);
    bool named = key != KYMO_LEFT_OUT && kymo__is_named(code);
    return insert(code, key, named ? KYMO_NAMED : (co->co_flags & KYMO_CODE_SLICES) != 0);
}

const struct function *kymo__function_add_callable(const void *address, PyObject *callable)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    uint32_t key = kymo__callable_key(callable, address);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    bool makes_tasks = PyType_Check(callable) && kymo__is_task_type((PyTypeObject *)callable);
    return key ? insert(address, key, makes_tasks ? TASK_TYPE : 0) : &nameless;
}
