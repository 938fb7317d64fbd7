/* objects.c — see objects.h. While objects are looked at nothing else of Python may run, so they are
   first put into groups, in memory of our own, and recorded afterwards.

   A program's imports alone may make a hundred thousand groups, most of which are small: the largest
   are recorded. */
#include "objects.h"

#include <kymo/memory.h>
#include <kymo/payload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "belongings.h"
#include "births.h"
#include "core.h"
#include "refs.h"
#include "reftext.h"

enum {
    GROUPS_MOST = 1 << 20,
    GROUP_SLOTS = 2 * GROUPS_MOST,
    RECORDED_MOST = 1 << 14, /* groups */
    PATH_MOST = 400,
    NAME_MOST = 200,
};

/* Objects of one type, born in one place. */
struct group {
    PyTypeObject *type; /* a reference */
    kymo_stack stack;
    uint32_t node; /* the one nearest to a root; KYMO__REFS_NONE: no root reaches them */
    uint64_t count, bytes, owned;
    const char *path; /* NULL: none */
};

struct survey {
    struct kymo_refs refs;
    struct kymo_belongings owned;
    PyObject *modules;     /* sys.modules */
    PyObject *module_word; /* "__module__" */
    struct group *groups;
    uint32_t *slots; /* number + 1 */
    uint32_t count;
    char *paths;
    struct group rest; /* of the smallest groups and of those for which there was no room */
    bool begun;        /* what roots reach has been looked at */
};

/* Names in the capture must stay until the session ends; types are few, so all are kept. */
static const char *kept_name(const char *name)
{
    static char **names;
    static size_t count, capacity;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    if (count == capacity) {
        size_t more = capacity ? capacity * 2 : 64;
        char **grown = realloc(names, more * sizeof *names);
        if (!grown)
            return NULL;
        names = grown;
        capacity = more;
    }
    char *copy = strdup(name);
    if (copy)
        names[count++] = copy;
    return copy;
}

static struct group *group_of(struct survey *survey, PyTypeObject *type, kymo_stack stack)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)type ^ (uint64_t)stack << 32) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = (uint32_t)(hash >> 40);; i++) {
        uint32_t *slot = &survey->slots[i % GROUP_SLOTS];
        if (*slot) {
            struct group *group = &survey->groups[*slot - 1];
            if (group->type == type && group->stack == stack)
                return group;
            continue;
        }
        if (survey->count == GROUPS_MOST)
            return &survey->rest;
        struct group *group = &survey->groups[survey->count++];
        *slot = survey->count;
        Py_INCREF(type);
        *group = (struct group){.type = type, .stack = stack};
        return group;
    }
}

static void name_type(const struct survey *survey, const PyTypeObject *type,
                      struct kymo_reftext *out)
{
    PyObject *dict = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? type->tp_dict : NULL;
    PyObject *module = dict ? PyDict_GetItemWithError(dict, survey->module_word) : NULL;
    if (module && PyUnicode_Check(module)) {
        kymo__reftext_str(out, module);
        kymo__reftext_put(out, ".");
        kymo__reftext_str(out, ((const PyHeapTypeObject *)type)->ht_qualname);
    } else {
        kymo__reftext_put(out, type->tp_name);
    }
}

/* Count OBJECT, at NODE of the search, if its memory was allocated during the recording, or some that
   belongs to it: a list that is older may have grown. */
static void look_at(struct survey *survey, PyObject *object, uint32_t node)
{
    PyTypeObject *type = Py_TYPE(object);
    const char *block = (const char *)object - KYMO_GC_HEAD(object) - KYMO_PRE_HEADER(type);
    struct kymo_birth birth;
    bool born = kymo__births_find(block, &birth);
    uint64_t owned = kymo__belongings_bytes(&survey->owned, object, born ? &birth : NULL);
    if (!born && !owned)
        return;
    struct group *group = group_of(survey, type, born ? birth.stack : survey->owned.stack);
    if (!group->count++)
        group->node = node; /* nodes come nearest first */
    group->bytes += born ? birth.size : 0;
    group->owned += owned;
}

static int by_bytes(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    uint64_t left = x->bytes + x->owned, right = y->bytes + y->owned;
    return left < right ? 1 : -(left > right);
}

static int larger_first(const void *a, const void *b)
{
    return by_bytes(*(const struct group *const *)a, *(const struct group *const *)b);
}

/* Write paths for the largest groups. */
static void write_paths(struct survey *survey)
{
    struct group **order = malloc((survey->count + 1) * sizeof *order);
    uint32_t most = survey->count < RECORDED_MOST ? survey->count : RECORDED_MOST;
    survey->paths = order ? malloc((most + 1) * (size_t)PATH_MOST) : NULL;
    for (uint32_t i = 0; survey->paths && i < survey->count; i++)
        order[i] = &survey->groups[i];
    if (survey->paths)
        qsort(order, survey->count, sizeof *order, larger_first);
    for (uint32_t i = 0; survey->paths && i < most; i++) {
        char *path = survey->paths + i * (size_t)PATH_MOST;
        kymo__refs_path(&survey->refs, order[i]->node, path, PATH_MOST);
        order[i]->path = path;
    }
    free(order);
}

static void look_at_reached(struct survey *survey)
{
    survey->begun = true;
    if (survey->modules)
        kymo__refs_find(&survey->refs, survey->modules);
    for (uint32_t i = 0; i < survey->refs.count; i++)
        look_at(survey, survey->refs.nodes[i].object, i + 1);
    write_paths(survey);
}

/* OBJECT is tracked by the collector. Without the GIL other threads are stopped only while this is
   called, so the first call does everything else, too. */
static int visit_object(PyObject *object, void *arg)
{
    struct survey *survey = arg;
    if (!survey->begun)
        look_at_reached(survey);
    if (kymo__refs_node(&survey->refs, object) == KYMO__REFS_NONE)
        look_at(survey, object, KYMO__REFS_NONE);
    return 1;
}

#if KYMO_HAS_OBJECT_VISITOR
static void visit_all(struct survey *survey)
{
    kymo__fork_gate_enter(); /* without a GIL, this stops all threads */
    PyUnstable_GC_VisitObjects(visit_object, survey);
    kymo__fork_gate_leave();
}
#else
static void visit_all(struct survey *survey)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *all = gc ? PyObject_CallMethod(gc, "get_objects", NULL) : NULL;
    for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(all); i++)
        visit_object(PyList_GET_ITEM(all, i), survey);
    Py_XDECREF(all);
    Py_XDECREF(gc);
    PyErr_Clear();
}
#endif

/* Largest first. */
static void record_groups(struct survey *survey, uint32_t number)
{
    static const struct kymo_field fields[] = {
        {"snapshot", KYMO_FIELD_UINT}, {"count", KYMO_FIELD_UINT}, {"bytes", KYMO_FIELD_UINT},
        {"owned", KYMO_FIELD_UINT},    {"type", KYMO_FIELD_NAME},  {"stack", KYMO_FIELD_STACK},
        {"path", KYMO_FIELD_TEXT}};
    struct kymo_schema schema;
    if (kymo_schema_define(&schema, "memory.object", fields, COUNT_OF(fields)) < 0)
        return;
    qsort(survey->groups, survey->count, sizeof *survey->groups, by_bytes);
    for (uint32_t i = 0; i < survey->count && i < RECORDED_MOST; i++) {
        const struct group *group = &survey->groups[i];
        char text[NAME_MOST] = "";
        struct kymo_reftext written = {text, sizeof text, 0};
        name_type(survey, group->type, &written);
        const char *name = kept_name(text);
        unsigned char room[PATH_MOST + 64];
        struct kymo_payload payload;
        kymo_payload_begin(&payload, room, sizeof room);
        kymo_payload_uint(&payload, number);
        kymo_payload_uint(&payload, group->count);
        kymo_payload_uint(&payload, group->bytes);
        kymo_payload_uint(&payload, group->owned);
        kymo_payload_uint(&payload, name ? kymo_name_key(name) : 0);
        kymo_payload_uint(&payload, group->stack);
        kymo_payload_text(&payload, group->path ? group->path : "");
        kymo_note(&schema, &payload);
    }
}

static void describe_missing(const struct survey *survey)
{
    const struct group *rest = &survey->rest;
    unsigned long long count = rest->count, bytes = rest->bytes + rest->owned;
    for (uint32_t i = RECORDED_MOST; i < survey->count; i++) {
        count += survey->groups[i].count;
        bytes += survey->groups[i].bytes + survey->groups[i].owned;
    }
    char text[160];
    if (survey->refs.short_of_memory || survey->owned.short_of_memory || kymo__births_incomplete())
        kymo_metadata("memory.objects", "some objects are missing: there was too little memory to "
                                        "look at all");
    else if (count &&
             snprintf(text, sizeof text, "%llu objects with %llu bytes, in the smallest groups",
                      count, bytes) > 0)
        kymo_metadata("memory.objects", text);
}

void kymo__objects_record(uint32_t number)
{
    PyObject *error = KYMO_FETCH_EXCEPTION(); /* a destructor that stops recording may have one */
    struct survey survey = {.modules = kymo__modules(),
                            .module_word = PyUnicode_InternFromString("__module__"),
                            .groups = calloc(GROUPS_MOST, sizeof *survey.groups),
                            .slots = calloc(GROUP_SLOTS, sizeof *survey.slots)};
    if (survey.module_word && survey.groups && survey.slots) {
        survey.owned.refs = &survey.refs;
        visit_all(&survey);
        record_groups(&survey, number);
    }
    describe_missing(&survey);
    kymo__belongings_free(&survey.owned);
    kymo__refs_free(&survey.refs);
    for (uint32_t i = 0; survey.groups && i < survey.count; i++)
        Py_DECREF(survey.groups[i].type);
    free(survey.paths);
    free(survey.groups);
    free(survey.slots);
    Py_XDECREF(survey.module_word);
    PyErr_Clear();
    if (error) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
}
