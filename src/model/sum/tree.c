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
    *t = (struct kymo_tree){.most = most < UINT32_MAX ? most : UINT32_MAX};
    int rc = kymo__array_grow(&t->nodes, &t->capacity, 0, sizeof(*t->nodes));
    if (rc < 0)
        return rc;
    t->nodes[t->count++] = (struct kymo_node){0};
    return 0;
}

void kymo__tree_fini(struct kymo_tree *t)
{
    kymo__free(t->nodes);
    kymo__free(t->slots);
    *t = (struct kymo_tree){0};
}

enum {
    FEW = 6, /* children that are found without the table */
    SLOTS_FIRST = 64,
};

/* The slot of the child of PARENT for CALLABLE, or the free one where it belongs. */
static uint32_t *slot_of(const struct kymo_tree *t, uint32_t parent, uint32_t callable)
{
    size_t mask = t->slot_count - 1;
    uint64_t path = (uint64_t)parent << 32 | callable;
    for (size_t i = (size_t)(kymo__hash_word(path) >> 24);; i++) {
        uint32_t *slot = &t->slots[i & mask];
        const struct kymo_node *node = &t->nodes[*slot];
        if (!*slot || (node->callable == callable && node->parent == parent))
            return slot;
    }
}

/* Keep the table at most half full. */
static int widen_table(struct kymo_tree *t)
{
    if (2 * (t->slot_used + 1) <= t->slot_count)
        return 0;
    struct kymo_tree wider = *t;
    wider.slot_count = t->slot_count ? 2 * t->slot_count : SLOTS_FIRST;
    wider.slots = kymo__alloc_zeroed(wider.slot_count * sizeof(*wider.slots));
    if (!wider.slots)
        return -ENOMEM;
    for (size_t i = 0; i < t->slot_count; i++) {
        const struct kymo_node *node = &t->nodes[t->slots[i]];
        if (t->slots[i])
            *slot_of(&wider, node->parent, node->callable) = t->slots[i];
    }
    kymo__free(t->slots);
    *t = wider;
    return 0;
}

static void free_table(struct kymo_tree *t)
{
    kymo__free(t->slots);
    t->slots = NULL;
    t->slot_count = t->slot_used = 0;
}

/* Put the first COUNT children of PARENT into the table. */
static int enter_children(struct kymo_tree *t, uint32_t parent, int count)
{
    uint32_t at = t->nodes[parent].child;
    for (int i = 0; i < count; i++) {
        int rc = widen_table(t);
        if (rc < 0)
            return rc;
        uint32_t *slot = slot_of(t, parent, t->nodes[at].callable);
        t->slot_used += !*slot;
        *slot = at;
        at = t->nodes[at].sibling;
    }
    return 0;
}

/* PARENT has OTHERS children, or more than FEW. Most have few, and those are not in the table: in a
   large tree it would take more time than everything else. */
static int64_t tree_add(struct kymo_tree *t, uint32_t parent, uint32_t callable, int others)
{
    int rc = kymo__array_grow(&t->nodes, &t->capacity, t->count, sizeof(*t->nodes));
    if (rc < 0)
        return rc;
    uint32_t node = (uint32_t)t->count++;
    t->nodes[node] = (struct kymo_node){
        .parent = parent, .callable = callable, .sibling = t->nodes[parent].child};
    t->nodes[parent].child = node;
    if (others >= FEW)
        rc = enter_children(t, parent, others > FEW ? 1 : FEW + 1);
    return rc < 0 ? rc : (int64_t)node;
}

/* Return the child of PARENT for CALLABLE if it is among the first few, which are those entered
   last; else 0. *SEEN: how many there are, FEW + 1 if more than FEW. */
static uint32_t recent(struct kymo_tree *t, uint32_t parent, uint32_t callable, int *seen)
{
    struct kymo_node *nodes = t->nodes;
    uint32_t before = 0, at = nodes[parent].child;
    int i = 0;
    for (; at && i < FEW; i++) {
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
    *seen = i + (at != 0);
    return 0;
}

int64_t kymo__tree_enter(struct kymo_tree *t, uint32_t parent, uint32_t callable, bool *folded)
{
    int seen = 0;
    *folded = false;
    uint32_t node = recent(t, parent, callable, &seen);
    if (kymo__likely(node))
        return node;
    if (seen > FEW && t->slot_count && (node = *slot_of(t, parent, callable)) != 0)
        return node;
    if (t->count >= t->most) {
        *folded = true;
        return parent;
    }
    return tree_add(t, parent, callable, seen);
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

int kymo__tree_merge(struct kymo_tree *t, struct kymo_tree *other)
{
    if (t->count == 1 && !t->folded && t->most >= other->most) {
        /* If it is empty, take the other instead of copying it. */
        struct kymo_tree empty = *t;
        *t = *other;
        *other = empty;
        return 0;
    }
    free_table(other);
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

/* Equal totals are ordered by callable, so that the order does not depend on timing. */
static bool comes_first(const struct kymo_node *a, const struct kymo_node *b)
{
    return a->total != b->total ? a->total > b->total : a->callable < b->callable;
}

/* Merge the sorted sibling lists A and B. */
static uint32_t join_lists(struct kymo_node *nodes, uint32_t a, uint32_t b)
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
    /* Sorted lists of 2^i siblings: a bottom-up merge sort. */
    for (size_t i = 0; i < t->count; i++) {
        if (!t->nodes[i].child || !t->nodes[t->nodes[i].child].sibling)
            continue;
        uint32_t sorted[32] = {0}, rest = t->nodes[i].child, all = 0;
        while (rest) {
            uint32_t one = rest;
            rest = t->nodes[one].sibling;
            t->nodes[one].sibling = 0;
            int size = 0;
            for (; sorted[size]; sorted[size++] = 0)
                one = join_lists(t->nodes, sorted[size], one);
            sorted[size] = one;
        }
        for (int size = 0; size < 32; size++)
            if (sorted[size])
                all = join_lists(t->nodes, sorted[size], all);
        t->nodes[i].child = all;
    }
    free_table(t);
    struct kymo_node *fitting = kymo__realloc(t->nodes, t->count * sizeof(*fitting));
    if (fitting) {
        t->nodes = fitting;
        t->capacity = t->count;
    }
}
