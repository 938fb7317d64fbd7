/* refpath.c — paths of references as text: see refs.h. Looks for the place in which one object
   refers to the next, without running Python code or creating objects. */
#include "refs.h"
#include "reftext.h"

#include <string.h>
#include <structmember.h>

#include KYMO_ATTRIBUTES_HEADER

enum { DEEPEST = 64 };

/* A C member or slot of OBJECT that holds VALUE: its name, or NULL. */
static const char *member_holding(PyObject *object, PyObject *value)
{
    for (PyTypeObject *type = Py_TYPE(object); type; type = type->tp_base)
        for (const PyMemberDef *m = type->tp_members; m && m->name; m++)
            if ((m->type == T_OBJECT || m->type == T_OBJECT_EX) &&
                *(PyObject **)((char *)object + m->offset) == value)
                return m->name;
    return NULL;
}

static void put_key(struct kymo_reftext *out, PyObject *key)
{
    int overflow = 1;
    long number = PyLong_CheckExact(key) ? PyLong_AsLongAndOverflow(key, &overflow) : 0;
    if (PyUnicode_CheckExact(key)) {
        kymo__reftext_put(out, "['");
        kymo__reftext_str(out, key);
        kymo__reftext_put(out, "']");
    } else if (!overflow) {
        kymo__reftext_index(out, number);
    } else {
        kymo__reftext_put(out, "[<");
        kymo__reftext_put(out, Py_TYPE(key)->tp_name);
        kymo__reftext_put(out, ">]");
    }
}

/* From the dict PARENT to VALUE; NAMES: it holds the attributes of the object before it. */
static void put_item(struct kymo_reftext *out, PyObject *parent, PyObject *value, bool names)
{
    PyObject *key, *held;
    Py_ssize_t at = 0;
    while (PyDict_Next(parent, &at, &key, &held)) {
        if (held != value)
            continue;
        if (names && PyUnicode_Check(key)) {
            kymo__reftext_put(out, ".");
            kymo__reftext_str(out, key);
        } else {
            put_key(out, key);
        }
        return;
    }
    kymo__reftext_put(out, ".<key>");
}

/* From PARENT to CHILD. Returns true when CHILD is the dict with PARENT's attributes, of which
   nothing is written. */
static bool put_step(struct kymo_reftext *out, PyObject *parent, PyObject *child, bool names)
{
    const char *member = NULL;
    PyObject *attribute = NULL;
    if (PyDict_Check(parent)) {
        put_item(out, parent, child, names);
    } else if (PyList_Check(parent) || PyTuple_Check(parent)) {
        PyObject **items = PySequence_Fast_ITEMS(parent);
        Py_ssize_t i = 0, count = Py_SIZE(parent);
        while (i < count && items[i] != child)
            i++;
        if (i < count)
            kymo__reftext_index(out, (long)i);
    } else if (PyCell_Check(parent)) {
        kymo__reftext_put(out, ".cell_contents");
    } else if (PyAnySet_Check(parent)) {
        kymo__reftext_put(out, ".<item>");
    } else if ((attribute = kymo__attribute_holding(parent, child))) {
        kymo__reftext_put(out, ".");
        kymo__reftext_str(out, attribute);
    } else if ((member = member_holding(parent, child))) {
        if (strcmp(member, "__dict__") == 0)
            return true;
        kymo__reftext_put(out, ".");
        kymo__reftext_put(out, member);
    } else if (PyDict_Check(child)) {
        return true;
    } else if ((PyObject *)Py_TYPE(parent) == child) {
        kymo__reftext_put(out, ".__class__");
    } else {
        kymo__reftext_put(out, ".<");
        kymo__reftext_put(out, Py_TYPE(child)->tp_name);
        kymo__reftext_put(out, ">");
    }
    return false;
}

static void put_root(struct kymo_reftext *out, const struct kymo_root *root)
{
    if (!root->code) {
        kymo__reftext_str(out, root->name);
        return;
    }
    kymo__reftext_put(out, "local ");
    kymo__reftext_str(out, root->name);
    kymo__reftext_put(out, " in ");
    kymo__reftext_str(out, KYMO_CODE_QUALNAME((PyCodeObject *)root->code));
    kymo__reftext_put(out, "(): ");
    kymo__reftext_str(out, root->name);
}

void kymo__refs_path(const struct kymo_refs *refs, uint32_t node, char *text, size_t size)
{
    struct kymo_reftext out = {text, size, 0};
    uint32_t path[DEEPEST], count = 0;
    bool names = false;
    text[0] = '\0';
    for (; node != KYMO__REFS_NONE; node = refs->nodes[node - 1].from) {
        /* Of a long path keep both ends: the root and what is next to the object. */
        if (count == DEEPEST)
            count--;
        path[count++] = node;
    }
    if (!count)
        return;
    const struct kymo_refs_node *at = &refs->nodes[path[count - 1] - 1];
    if (at->root)
        put_root(&out, &refs->roots[at->root - 1]);
    for (uint32_t i = count - 1; i-- > 0;) {
        const struct kymo_refs_node *next = &refs->nodes[path[i] - 1];
        if (next->from != path[i + 1]) {
            kymo__reftext_put(&out, " ... ");
            names = false;
        } else {
            names = put_step(&out, at->object, next->object, names);
        }
        at = next;
    }
}
