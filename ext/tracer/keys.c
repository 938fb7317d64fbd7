/* keys.c — see keys.h. */
#include "keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <kymo/lane.h>

#include "awaits.h"
#include "callsites.h"
#include "ccalls.h"
#include "codewatch.h"
#include "core.h"
#include "greenlets.h"
#include "loops.h"
#include "named.h"
#include "tasks.h"
#include "tasktypes.h"
#include "throttle.h"
#include "tracer.h"

/* Before the first session, and if memory is short: two slots, always empty. */
static union {
    struct function_table table;
    char bytes[sizeof(struct function_table) + 2 * sizeof(struct function)];
} none = {.table = {.shift = 63}};
struct function_table *kymo__functions = &none.table;

/* Returned where nothing could be stored, and where there is no key: no session, or no room for
   one. The latter is not marked as excluded, because the hooks may switch that off for good. */
static const struct function left_out = {.key = KYMO_LEFT_OUT};
static const struct function nameless;

enum { FIRST_BITS = 8 }; /* of a table; it grows */

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

/* A table with room for one more. Forgotten entries are not copied when it grows. */
static struct function_table *table_with_room(void)
{
    struct function_table *table = kymo__functions;
    size_t slots = (size_t)1 << (64 - table->shift);
    if (table != &none.table && (table->used + 1) * 2 <= slots)
        return table;
    struct function_table *wider =
        table_new(table == &none.table ? FIRST_BITS : 64 - table->shift + 1);
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

static const struct function *insert_function(const void *address, uint32_t key, uint32_t slices)
{
    KYMO_SECTION_LOCK(table_section);
    struct function_table *table = table_with_room();
    const struct function *result = &left_out;
    if (table) {
        struct function *f = slot_of(table, address);
        /* Without a GIL another thread may have been first; its key is already in use. */
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
    return insert_function(address, key, slices);
}

/* Its size is a multiple of any page size. */
_Alignas(4096) struct function kymo__recent[1 << KYMO_RECENT_BITS];
static bool recent_stopped;

/* Writing zeros would give a forked child a copy of every page first. */
static void clear_recent(void)
{
    static_assert(sizeof kymo__recent == 1 << 16, "whole pages, also of 64 KiB");
    if (madvise(kymo__recent, sizeof kymo__recent, MADV_DONTNEED) < 0)
        memset(kymo__recent, 0, sizeof kymo__recent);
}

void kymo__recent_add(const struct function *f)
{
#ifndef Py_GIL_DISABLED
    if (!recent_stopped && f->key != KYMO_LEFT_OUT && !kymo__tracing.max_depth &&
        !kymo__tracing.lines)
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
    clear_recent();
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

static void on_code_end(PyCodeObject *code);

int kymo__functions_begin(void)
{
    if (kymo__code_deaths_watch(on_code_end) < 0)
        return -1;
    KYMO_SECTION_LOCK(table_section);
    struct function_table *table = table_with_room();
    KYMO_SECTION_UNLOCK(table_section);
    if (!table)
        PyErr_NoMemory();
    return table ? kymo__callables_begin() : -1;
}

/* Empty everything that belongs to a session; the tables that were there. */
static struct function_table *empty_tables(void)
{
    KYMO_SECTION_LOCK(table_section);
    struct function_table *table = kymo__functions;
    __atomic_store_n(&kymo__functions, &none.table, __ATOMIC_RELEASE);
    KYMO_SECTION_UNLOCK(table_section);
    clear_recent();
    recent_stopped = false;
    kymo__tasks_reset();
    kymo__lives_reset();
    return table;
}

void kymo__functions_end(void)
{
    tables_free(empty_tables());
    kymo__code_deaths_ignore(on_code_end);
    kymo__callables_end();
}

void kymo__functions_inherited(void)
{
    (void)empty_tables();
}

static void on_code_end(PyCodeObject *code)
{
    kymo__function_forget(code);
    kymo__function_forget((const char *)code + INSIDE_PARTIAL);
    if (kymo__tracing.lines)
        kymo__callsites_forget(code);
    kymo__throttle_forget(code);
}

uint32_t kymo__name_key(const char *name, uint32_t kind)
{
    struct kymo_function function = {.size = sizeof function, .name = name, .kind = kind};
    return kymo_function_key(&function);
}

const struct function *kymo__function_add(PyObject *code)
{
    if (!PyCode_Check(code))
        return &left_out; /* code of another language, reported through the monitoring API */
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* an unwinding frame has its exception set */
    PyCodeObject *co = (PyCodeObject *)code;
    PyObject *name_owner = NULL, *file_owner = NULL;
    const char *name = kymo__text_utf8(KYMO_CODE_QUALNAME(co), &name_owner);
    const char *file = kymo__text_utf8(co->co_filename, &file_owner);
    kymo__greenlets_meet(); /* they may have been imported meanwhile */
    uint32_t key = KYMO_LEFT_OUT;
    bool makes_tasks = name && file && kymo__makes_tasks(file, name);
    bool greenlet = name && file && kymo__is_greenlet_module(file, name);
    bool schedules = name && file && kymo__loop_is_scheduler(file, name);
    bool runs = name && file && kymo__loop_is_runner(file, name);
    if (name && file)
        kymo__await_met(code, file, name);
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
        return &nameless; /* looked up again next time */
    if (makes_tasks || greenlet)
        return insert_function(code, key, greenlet ? GREENLET_MODULE : TASK_MAKER);
    if (schedules || runs)
        return insert_function(code, key, runs ? LOOP_RUNNER : LOOP_SCHEDULER);
    bool named = key != KYMO_LEFT_OUT && kymo__is_named(code);
    return insert_function(code, key, named ? KYMO_NAMED : (co->co_flags & KYMO_CODE_SLICES) != 0);
}

/* The address that instances of the type of CALLABLE share. */
static const void *instance_address(PyObject *callable)
{
    while (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return (const char *)Py_TYPE(callable) + INSIDE_INSTANCE;
}

const struct function *kymo__function_add_callable(const void *address, PyObject *callable)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    uint32_t key = kymo__callable_key(callable, address);
    if (key && address == instance_address(callable) && kymo__has_own_name(callable)) {
        /* From now on each instance of its type has its own entry. */
        const struct function *shared = insert_function(address, key, INSTANCES_NAMED);
        const void *own = kymo__callable_address(callable);
        key = own != address ? kymo__callable_key(callable, own) : 0;
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
        return key ? insert_function(own, key, 0) : shared;
    }
    kymo__greenlets_meet();
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    bool makes_tasks = PyType_Check(callable) && kymo__is_task_type((PyTypeObject *)callable);
    if (!key) {
        const struct function *f = kymo__function_find(instance_address(callable));
        return f ? f : &nameless;
    }
    if (kymo__is_greenlet_settrace(callable))
        return insert_function(address, key, GREENLET_SETTRACE);
    return insert_function(address, key, makes_tasks ? TASK_TYPE : 0);
}
