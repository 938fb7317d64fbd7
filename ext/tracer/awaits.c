/* awaits.c — see awaits.h. */
#include "awaits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/lane.h>

#include "core.h"
#include "keys.h"
#include "tasktypes.h"

/* ---- groups: functions of asyncio that wait for tasks through a future of their own */

static const struct group {
    const char *file, *name; /* how they end */
    const char *attribute;   /* of the first argument: the tasks; NULL: the argument itself */
} groups[] = {
    {"/asyncio/taskgroups.py", "TaskGroup.__aexit__", "_tasks"},
    {"/asyncio/taskgroups.py", "TaskGroup._aexit", "_tasks"},
    {"/asyncio/tasks.py", "_wait", NULL},
    {"/asyncio/tasks.py", "wait_for", NULL},
};
enum { GROUPS = sizeof groups / sizeof *groups };
static const void *group_codes[GROUPS]; /* valid for the session; asyncio's code does not die */

void kymo__await_met(const void *code, const char *file, const char *name)
{
    for (size_t i = 0; i < GROUPS; i++)
        if (strcmp(name, groups[i].name) == 0 && kymo__ends_with(file, groups[i].file))
            group_codes[i] = code;
}

static const struct group *group_of(const void *code)
{
    for (size_t i = 0; i < GROUPS; i++)
        if (group_codes[i] == code)
            return &groups[i];
    return NULL;
}

bool kymo__await_group_code(const void *code)
{
    return group_of(code) != NULL;
}

/* ---- the coroutines suspended last on this thread; everything is borrowed from them */

static __thread struct {
    const PyObject *awaited;
    PyObject *code; /* of the outermost so far */
    uint32_t key;
    const struct group *group;
    PyObject *group_owner;
} inside;

void kymo__await_inside(const struct place *place, PyObject *awaited)
{
    enum { AWAITS = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE };
    if (!(((PyCodeObject *)place->code)->co_flags & AWAITS))
        return; /* its yield suspends only itself */
    const struct group *group = group_of(place->code);
    if (inside.awaited != awaited || group) {
        inside.group = group;
        inside.group_owner = place->first;
    }
    inside.awaited = awaited;
    inside.code = place->code;
    inside.key = place->key;
}

void kymo__await_forget(void)
{
    inside.awaited = NULL;
}

PyObject *kymo__await_target(PyObject *awaited)
{
    PyObject *owner = awaited, *found;
    const char *attribute = NULL;
    if (inside.awaited == awaited && inside.group && inside.group_owner) {
        owner = inside.group_owner;
        attribute = inside.group->attribute;
    } else if (strcmp(Py_TYPE(awaited)->tp_name, "_GatheringFuture") == 0) {
        attribute = "_children";
    }
    if (!attribute)
        return Py_NewRef(owner);
    /* The program may have derived its own types from these: none of its code must run. */
    PyObject *name = PyUnicode_InternFromString(attribute);
    found = name ? PyObject_GenericGetAttr(owner, name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return found ? found : Py_NewRef(awaited);
}

/* ---- names */

struct site {
    uint32_t key, function; /* name of the wait, 0: free; the function of the coroutine */
    int offset;
    uint64_t what; /* identifies what is awaited */
};

enum { SITES_LEAST = 256, SITES_MOST = 1 << 16 };
static struct site *sites; /* open addressing */
static size_t capacity, used;
KYMO_SECTION(sites_section);

static struct site *slot_of(uint32_t function, int offset, uint64_t what)
{
    uint64_t hash = (function * UINT64_C(0x9e3779b97f4a7c15)) ^ ((uint64_t)offset << 32) ^ what;
    size_t at = (size_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 24) & (capacity - 1);
    while (sites[at].key &&
           (sites[at].function != function || sites[at].offset != offset || sites[at].what != what))
        at = (at + 1) & (capacity - 1);
    return &sites[at];
}

static bool widen_sites(void)
{
    if (used * 2 < capacity)
        return true;
    size_t wanted = capacity ? capacity * 2 : SITES_LEAST, old_capacity = capacity;
    struct site *old = sites, *grown = wanted <= SITES_MOST ? calloc(wanted, sizeof *grown) : NULL;
    if (!grown)
        return false;
    sites = grown;
    capacity = wanted;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].key)
            *slot_of(old[i].function, old[i].offset, old[i].what) = old[i];
    free(old);
    return true;
}

/* The name of the function of CODE, without that of a function around it. */
static const char *function_name(PyObject *code, PyObject **owner)
{
    static const char local[] = "<locals>.";
    const char *name = kymo__text_utf8(KYMO_CODE_QUALNAME((PyCodeObject *)code), owner);
    for (const char *at = name; at && (at = strstr(at, local));)
        name = at += sizeof local - 1;
    return name;
}

/* The last part of the name of a type: "_asyncio.Future" is a Future. A task that lets others run
   and then goes on waits for None. */
static const char *type_name(PyObject *object)
{
    if (object == Py_None)
        return "";
    const char *name = Py_TYPE(object)->tp_name, *dot = strrchr(name, '.');
    name = dot ? dot + 1 : name;
    return strcmp(name, "_GatheringFuture") == 0 ? "gather" : name;
}

/* A new key for a wait at PLACE for what CODE, or else the type of AWAITED, names; or 0. */
static uint32_t define_wait(const struct place *place, PyObject *code, PyObject *awaited)
{
    PyCodeObject *here = (PyCodeObject *)place->code;
    PyObject *file_owner = NULL, *name_owner = NULL;
    const char *file = kymo__text_utf8(here->co_filename, &file_owner);
    const char *what = code ? function_name(code, &name_owner) : type_name(awaited);
    int line = PyCode_Addr2Line(here, place->offset);
    char name[256];
    snprintf(name, sizeof name, what && *what ? "await %s" : "await", what);
    struct kymo_function wait = {
        .size = sizeof wait,
        .name = name,
        .file = file,
        .line = line > 0 ? (uint32_t)line : 0,
        .kind = KYMO_CLASS_WAIT,
    };
    uint32_t key = kymo_function_key(&wait);
    PyErr_Clear();
    Py_XDECREF(file_owner);
    Py_XDECREF(name_owner);
    return key;
}

uint32_t kymo__await_name(const struct place *place, PyObject *awaited)
{
    PyObject *code = inside.awaited == awaited ? Py_XNewRef(inside.code) : NULL;
    uint64_t what = (uint64_t)(uintptr_t)Py_TYPE(awaited);
    if (code)
        what = inside.key != KYMO_LEFT_OUT ? inside.key : (uint64_t)(uintptr_t)code;
    else if ((code = kymo__task_code(awaited)))
        what = (uint64_t)(uintptr_t)code;
    KYMO_SECTION_LOCK(sites_section);
    const struct site *known =
        capacity ? slot_of(place->key, place->offset, what) : &(struct site){0};
    uint32_t key = known->key;
    KYMO_SECTION_UNLOCK(sites_section);
    if (!key && (key = define_wait(place, code, awaited))) {
        KYMO_SECTION_LOCK(sites_section);
        if (widen_sites()) {
            struct site *site = slot_of(place->key, place->offset, what);
            used += !site->key;
            *site = (struct site){key, place->key, place->offset, what};
        }
        KYMO_SECTION_UNLOCK(sites_section);
    }
    Py_XDECREF(code);
    kymo__await_forget();
    return key;
}

void kymo__awaits_reset(void)
{
    free(sites);
    sites = NULL;
    capacity = used = 0;
    memset(group_codes, 0, sizeof group_codes);
}
