/* objects.c — see objects.h. While objects are looked at nothing else of Python may run, so they are
   first put into groups, in memory of our own, and recorded afterwards. */
#include "objects.h"

#include <kymo/memory.h>
#include <kymo/payload.h>
#include <stdlib.h>
#include <string.h>

#include "births.h"
#include "core.h"
#include "refs.h"
#include "reftext.h"

enum { GROUPS_MOST = 1 << 14, GROUP_SLOTS = 2 * GROUPS_MOST, PATH_MOST = 400, NAME_MOST = 200 };

/* Objects of one type, born in one place. */
struct group {
    const PyTypeObject *type;
    kymo_stack stack;
    uint32_t node; /* the one nearest to a root; KYMO__REFS_NONE: no root reaches them */
    uint64_t count, bytes;
    char name[NAME_MOST], path[PATH_MOST];
};

struct survey {
    struct kymo_refs refs;
    PyObject *modules;     /* sys.modules */
    PyObject *module_word; /* "__module__" */
    struct group *groups;
    uint32_t *slots; /* number + 1 */
    uint32_t count;
    uint64_t left_out; /* objects for whose group there was no room */
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

static struct group *group_of(struct survey *survey, const PyTypeObject *type, kymo_stack stack)
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
            return NULL;
        struct group *group = &survey->groups[survey->count++];
        *slot = survey->count;
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

/* Count OBJECT, at NODE of the search, if its memory was allocated during the recording. */
static void look_at(struct survey *survey, PyObject *object, uint32_t node)
{
    PyTypeObject *type = Py_TYPE(object);
    const char *block = (const char *)object - KYMO_GC_HEAD(object) - KYMO_PRE_HEADER(type);
    const struct kymo_birth *birth = kymo__births_find(block);
    if (!birth)
        return;
    struct group *group = group_of(survey, type, birth->stack);
    if (!group) {
        survey->left_out++;
        return;
    }
    if (!group->count++) {
        struct kymo_reftext name = {group->name, sizeof group->name, 0};
        name_type(survey, type, &name);
        group->node = node; /* nodes come nearest first */
    }
    group->bytes += birth->size;
}

static void look_at_reached(struct survey *survey)
{
    survey->begun = true;
    if (survey->modules)
        kymo__refs_find(&survey->refs, survey->modules);
    for (uint32_t i = 0; i < survey->refs.count; i++)
        look_at(survey, survey->refs.nodes[i].object, i + 1);
    for (uint32_t i = 0; i < survey->count; i++)
        kymo__refs_path(&survey->refs, survey->groups[i].node, survey->groups[i].path, PATH_MOST);
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

static int by_bytes(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->bytes < y->bytes ? 1 : -(x->bytes > y->bytes);
}

/* Largest first. */
static void record_group(struct survey *survey, uint32_t number)
{
    static const struct kymo_field fields[] = {
        {"snapshot", KYMO_FIELD_UINT}, {"count", KYMO_FIELD_UINT},  {"bytes", KYMO_FIELD_UINT},
        {"type", KYMO_FIELD_NAME},     {"stack", KYMO_FIELD_STACK}, {"path", KYMO_FIELD_TEXT}};
    struct kymo_schema schema;
    if (kymo_schema_define(&schema, "memory.object", fields, COUNT_OF(fields)) < 0)
        return;
    qsort(survey->groups, survey->count, sizeof *survey->groups, by_bytes);
    for (uint32_t i = 0; i < survey->count; i++) {
        const struct group *group = &survey->groups[i];
        const char *name = kept_name(group->name);
        unsigned char room[PATH_MOST + 64];
        struct kymo_payload payload;
        kymo_payload_begin(&payload, room, sizeof room);
        kymo_payload_uint(&payload, number);
        kymo_payload_uint(&payload, group->count);
        kymo_payload_uint(&payload, group->bytes);
        kymo_payload_uint(&payload, name ? kymo_name_key(name) : 0);
        kymo_payload_uint(&payload, group->stack);
        kymo_payload_text(&payload, group->path);
        kymo_note(&schema, &payload);
    }
}

void kymo__objects_record(uint32_t number)
{
    PyObject *error = KYMO_FETCH_EXCEPTION(); /* a destructor that stops recording may have one */
    struct survey survey = {.modules = kymo__modules(),
                            .module_word = PyUnicode_InternFromString("__module__"),
                            .groups = calloc(GROUPS_MOST, sizeof *survey.groups),
                            .slots = calloc(GROUP_SLOTS, sizeof *survey.slots)};
    if (survey.module_word && survey.groups && survey.slots) {
        visit_all(&survey);
        record_group(&survey, number);
    }
    if (survey.left_out || survey.refs.short_of_memory || kymo__births_incomplete())
        kymo_metadata("memory.objects", "some objects are missing: there were too many groups of "
                                        "them, or too little memory to look at all");
    kymo__refs_free(&survey.refs);
    free(survey.groups);
    free(survey.slots);
    Py_XDECREF(survey.module_word);
    PyErr_Clear();
    if (error) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
}
