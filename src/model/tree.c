/* tree.c — see tree.h. */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "atomic.h"
#include "hash.h"

int kymo__tree_init(struct kymo_tree *t, size_t most)
{
    *t = (struct kymo_tree){.most = most < UINT32_MAX ? most : UINT32_MAX, .slot_count = 1024};
    t->slots = kymo__alloc_zeroed(t->slot_count * sizeof(*t->slots));
    if (!t->slots || kymo__array_grow(&t->nodes, &t->capacity, 0, sizeof(*t->nodes)) < 0) {
        kymo__tree_fini(t);
        return -ENOMEM;
    }
    t->nodes[t->count++] = (struct kymo_node){0};
    return 0;
}

void kymo__tree_fini(struct kymo_tree *t)
{
    kymo__free(t->nodes);
    kymo__free(t->slots);
    *t = (struct kymo_tree){0};
}

static uint64_t path_of(uint32_t parent, uint32_t callable)
{
    return (uint64_t)parent << 32 | callable;
}

/* Where PATH is, or the free slot where it would be. */
static size_t slot_of(const struct kymo_tree *t, uint64_t path)
{
    size_t at = (size_t)(kymo__hash_word(path) >> 24) & (t->slot_count - 1);
    while (t->slots[at].node && t->slots[at].path != path)
        at = (at + 1) & (t->slot_count - 1);
    return at;
}

/* Twice as many slots. */
static int widen(struct kymo_tree *t)
{
    struct kymo_tree_slot *old = t->slots;
    struct kymo_tree_slot *slots = kymo__alloc_zeroed(2 * t->slot_count * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    t->slots = slots;
    t->slot_count *= 2;
    for (size_t i = 1; i < t->count; i++) {
        uint64_t path = path_of(t->nodes[i].parent, t->nodes[i].callable);
        slots[slot_of(t, path)] = (struct kymo_tree_slot){path, (uint32_t)i};
    }
    kymo__free(old);
    return 0;
}

static int64_t add(struct kymo_tree *t, uint32_t parent, uint32_t callable, size_t slot)
{
    int rc = kymo__array_grow(&t->nodes, &t->capacity, t->count, sizeof(*t->nodes));
    if (rc < 0)
        return rc;
    uint32_t node = (uint32_t)t->count++;
    t->nodes[node] = (struct kymo_node){
        .parent = parent, .callable = callable, .sibling = t->nodes[parent].child};
    t->nodes[parent].child = node;
    t->slots[slot] = (struct kymo_tree_slot){path_of(parent, callable), node};
    if (2 * t->count > t->slot_count) {
        rc = widen(t);
        if (rc < 0)
            return rc;
    }
    return node;
}

/* The child of PARENT for CALLABLE if it is among the first few, which are those entered
   last; else 0. *MORE: there are others. */
static uint32_t recent(struct kymo_tree *t, uint32_t parent, uint32_t callable, bool *more)
{
    enum { FEW = 6 };
    struct kymo_node *nodes = t->nodes;
    uint32_t before = 0, at = nodes[parent].child;
    for (int i = 0; at && i < FEW; i++) {
        if (nodes[at].callable == callable) {
            if (before) {
                nodes[before].sibling = nodes[at].sibling;
                nodes[at].sibling = nodes[parent].child;
                nodes[parent].child = at;
            }
            return at;
        }
        before = at;
        at = nodes[at].sibling;
    }
    *more = at != 0;
    return 0;
}

int64_t kymo__tree_enter(struct kymo_tree *t, uint32_t parent, uint32_t callable, bool *folded)
{
    bool more = false;
    *folded = false;
    uint32_t node = recent(t, parent, callable, &more);
    if (kymo__likely(node))
        return node;
    size_t at = slot_of(t, path_of(parent, callable));
    if (more && t->slots[at].node)
        return t->slots[at].node;
    if (t->count >= t->most) {
        *folded = true;
        return parent;
    }
    return add(t, parent, callable, at);
}

void kymo__tree_leave(struct kymo_tree *t, uint32_t at, bool folded, const struct kymo_slice *slice)
{
    struct kymo_node *node = &t->nodes[at];
    node->self = kymo__ns_add(node->self, slice->self);
    if (kymo__unlikely(folded)) {
        t->folded++;
        return;
    }
    bool resumed = slice->frame->enter == 1 || slice->frame->enter == 2;
    node->resumes += resumed;
    node->calls += !resumed;
    node->total = kymo__ns_add(node->total, slice->end - slice->frame->start);
}

int kymo__tree_merge(struct kymo_tree *t, const struct kymo_tree *other)
{
    uint32_t *here = kymo__alloc_zeroed(other->count * sizeof(*here));
    if (!here)
        return -ENOMEM;
    int rc = 0;
    t->folded += other->folded;
    for (size_t i = 1; i < other->count; i++) {
        const struct kymo_node *more = &other->nodes[i];
        bool folded;
        int64_t node = kymo__tree_enter(t, here[more->parent], more->callable, &folded);
        if (node < 0) {
            rc = (int)node;
            break;
        }
        here[i] = (uint32_t)node;
        t->nodes[node].self = kymo__ns_add(t->nodes[node].self, more->self);
        if (folded) {
            t->folded += more->calls + more->resumes;
            continue;
        }
        t->nodes[node].calls += more->calls;
        t->nodes[node].resumes += more->resumes;
        t->nodes[node].total = kymo__ns_add(t->nodes[node].total, more->total);
    }
    kymo__free(here);
    return rc;
}

/* Equal totals by callable, so that the order never depends on who found what first. */
static bool comes_first(const struct kymo_node *a, const struct kymo_node *b)
{
    return a->total != b->total ? a->total > b->total : a->callable < b->callable;
}

/* The two lists of siblings A and B, each in order, as one. */
static uint32_t join(struct kymo_node *nodes, uint32_t a, uint32_t b)
{
    uint32_t first = 0, *end = &first;
    while (a && b) {
        uint32_t *least = comes_first(&nodes[a], &nodes[b]) ? &a : &b;
        *end = *least;
        end = &nodes[*least].sibling;
        *least = *end;
    }
    *end = a ? a : b;
    return first;
}

void kymo__tree_sort(struct kymo_tree *t)
{
    /* Lists of 2^i siblings in order, as in any merge sort from below. */
    for (size_t i = 0; i < t->count; i++) {
        uint32_t sorted[32] = {0}, rest = t->nodes[i].child, all = 0;
        while (rest) {
            uint32_t one = rest;
            rest = t->nodes[one].sibling;
            t->nodes[one].sibling = 0;
            int size = 0;
            for (; sorted[size]; sorted[size++] = 0)
                one = join(t->nodes, sorted[size], one);
            sorted[size] = one;
        }
        for (int size = 0; size < 32; size++)
            if (sorted[size])
                all = join(t->nodes, sorted[size], all);
        t->nodes[i].child = all;
    }
}
