/* refs.c — see refs.h: the search. */
#include "refs.h"

#include <string.h>
#include <sys/mman.h>

#include "core.h"

#include KYMO_LOCALS_HEADER

enum { NODES_FIRST = 1 << 16, NODES_MOST = 1 << 28, ROOTS_FIRST = 1 << 10 };

/* Make the array at *MEMORY, of *CAPACITY elements of SIZE bytes, twice as large. */
static bool grow_array(void **memory, uint32_t *capacity, size_t size, uint32_t first)
{
    uint32_t more = *capacity ? *capacity * 2 : first;
    void *made = more > NODES_MOST ? MAP_FAILED
                 : *capacity       ? mremap(*memory, *capacity * size, more * size, MREMAP_MAYMOVE)
                                   : mmap(NULL, more * size, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return false;
    *memory = made;
    *capacity = more;
    return true;
}

static uint32_t *slot_of(const struct kymo_refs *refs, const PyObject *object)
{
    uint32_t mask = refs->slot_count - 1;
    uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = (uint32_t)(hash >> 32) & mask;; i = (i + 1) & mask)
        if (!refs->slots[i] || refs->nodes[refs->slots[i] - 1].object == object)
            return &refs->slots[i];
}

/* Keep the table at most half full. */
static bool grow_slots(struct kymo_refs *refs)
{
    uint32_t count = refs->slot_count ? refs->slot_count * 2 : 2 * NODES_FIRST;
    void *made = mmap(NULL, count * sizeof *refs->slots, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return false;
    if (refs->slots)
        munmap(refs->slots, refs->slot_count * sizeof *refs->slots);
    refs->slots = made;
    refs->slot_count = count;
    for (uint32_t i = 0; i < refs->count; i++)
        *slot_of(refs, refs->nodes[i].object) = i + 1;
    return true;
}

static void add_object(struct kymo_refs *refs, PyObject *object, uint32_t from, uint32_t root)
{
    if (refs->short_of_memory)
        return;
    if ((refs->count == refs->capacity &&
         !grow_array((void **)&refs->nodes, &refs->capacity, sizeof *refs->nodes, NODES_FIRST)) ||
        (refs->count >= refs->slot_count / 2 && !grow_slots(refs))) {
        refs->short_of_memory = true;
        return;
    }
    uint32_t *slot = slot_of(refs, object);
    if (*slot)
        return;
    refs->nodes[refs->count++] = (struct kymo_refs_node){object, from, root};
    *slot = refs->count;
}

static void add_root(struct kymo_refs *refs, PyObject *object, struct kymo_root root)
{
    if (refs->root_count == refs->root_capacity &&
        !grow_array((void **)&refs->roots, &refs->root_capacity, sizeof root, ROOTS_FIRST))
        return;
    refs->roots[refs->root_count++] = root;
    add_object(refs, object, KYMO__REFS_NONE, refs->root_count);
}

static void add_local(void *arg, PyObject *code, PyObject *name, PyObject *value)
{
    if (!kymo__package_has_code((PyCodeObject *)code)) /* what keeps it alive is not the program */
        add_root(arg, value, (struct kymo_root){name, code});
}

static bool is_main(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "__main__") == 0;
}

/* Among paths of the same length the first root wins, so the program's own modules come first: the
   main one, then those imported last. */
static void add_modules(struct kymo_refs *refs, PyObject *modules)
{
    PyObject *name, *module;
    Py_ssize_t at = 0;
    while (PyDict_Next(modules, &at, &name, &module))
        if (PyUnicode_Check(name) && is_main(name))
            add_root(refs, module, (struct kymo_root){name, NULL});
    uint32_t begin = refs->count;
    for (at = 0; PyDict_Next(modules, &at, &name, &module);)
        if (PyUnicode_Check(name) && !is_main(name))
            add_root(refs, module, (struct kymo_root){name, NULL});
    for (uint32_t i = begin, j = refs->count; i + 1 < j; i++, j--) {
        struct kymo_refs_node other = refs->nodes[i];
        refs->nodes[i] = refs->nodes[j - 1];
        refs->nodes[j - 1] = other;
        *slot_of(refs, refs->nodes[i].object) = i + 1;
        *slot_of(refs, refs->nodes[j - 1].object) = j;
    }
}

static int visit_referent(PyObject *object, void *arg)
{
    struct kymo_refs *refs = arg;
    add_object(refs, object, refs->current, 0);
    return 0;
}

/* The collector would traverse it, or has only stopped tracking it because nothing in it can be part
   of a cycle, or because it is immortal. Other untracked objects may be half built. */
static bool may_traverse(PyObject *object)
{
    return PyObject_IS_GC(object) && Py_TYPE(object)->tp_traverse &&
           (PyObject_GC_IsTracked(object) || PyDict_CheckExact(object) ||
            PyTuple_CheckExact(object) || KYMO_UNTRACKED_FOR_GOOD(object));
}

void kymo__refs_find(struct kymo_refs *refs, PyObject *modules)
{
    *refs = (struct kymo_refs){0};
    add_modules(refs, modules);
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; state; state = PyThreadState_Next(state))
        kymo__locals(state, add_local, refs);
    for (uint32_t i = 0; i < refs->count; i++) {
        PyObject *object = refs->nodes[i].object;
        refs->current = i + 1;
        if (may_traverse(object))
            Py_TYPE(object)->tp_traverse(object, visit_referent, refs);
    }
}

void kymo__refs_free(struct kymo_refs *refs)
{
    if (refs->nodes)
        munmap(refs->nodes, refs->capacity * sizeof *refs->nodes);
    if (refs->slots)
        munmap(refs->slots, refs->slot_count * sizeof *refs->slots);
    if (refs->roots)
        munmap(refs->roots, refs->root_capacity * sizeof *refs->roots);
    *refs = (struct kymo_refs){0};
}

uint32_t kymo__refs_node(const struct kymo_refs *refs, const PyObject *object)
{
    return refs->slot_count ? *slot_of(refs, object) : KYMO__REFS_NONE;
}
