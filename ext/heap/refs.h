/* refs.h — who refers to whom: the shortest path of references from a root to every object.

   A search in breadth, from the modules and from the local variables of all threads, through the
   same functions that the garbage collector uses. It creates no Python object and changes none; its
   memory is mapped and unmapped again. While it runs no other thread may run Python code. */
#ifndef KYMO_EXT_REFS_H
#define KYMO_EXT_REFS_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

enum { KYMO__REFS_NONE = 0 }; /* no node: nodes count from 1 */

/* A module of that name, or a local variable of that name in code. */
struct kymo_root {
    PyObject *name; /* str */
    PyObject *code; /* NULL for a module */
};

struct kymo_refs_node {
    PyObject *object;
    uint32_t from; /* the node that refers to it; KYMO__REFS_NONE for a root */
    uint32_t root; /* of a root: its number, from 1 */
};

struct kymo_refs {
    struct kymo_refs_node *nodes; /* node N at N - 1, nearest to a root first */
    uint32_t count, capacity;
    uint32_t *slots; /* nodes by the address of their object */
    uint32_t slot_count;
    struct kymo_root *roots;
    uint32_t root_count, root_capacity;
    uint32_t current;
    bool short_of_memory;
};

/* Search. MODULES is sys.modules, a dict. If memory runs out, objects are missing. */
void kymo__refs_find(struct kymo_refs *refs, PyObject *modules);
void kymo__refs_free(struct kymo_refs *refs);

/* The node of OBJECT, or KYMO__REFS_NONE. */
uint32_t kymo__refs_node(const struct kymo_refs *refs, const PyObject *object);

/* Write the path to NODE into the SIZE bytes at TEXT, such as "app.cache['x'][3].rows", ending with
   NUL; cut if it does not fit. */
void kymo__refs_path(const struct kymo_refs *refs, uint32_t node, char *text, size_t size);

#endif
