/* diff.c — see diff.h. */
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "nearfile.h"

enum { NOBODY = 0 };

/* A function that was called and has no partner yet. */
struct waiting {
    const struct kymo_callable *callable;
    const char *file; /* the part of its path compared now */
    uint32_t number;  /* its callable in its own survey */
    int side;
    bool taken;
};

/* Returns 0 if the two may be the same function. */
static int compare_waiting(const struct waiting *a, const struct waiting *b)
{
    int order = strcmp(a->callable->name, b->callable->name);
    order = order ? order : strcmp(a->file, b->file);
    return order ? order
                 : (a->callable->class > b->callable->class) -
                       (a->callable->class < b->callable->class);
}

static int by_place(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    int order = compare_waiting(x, y);
    if (order || x->side != y->side)
        return order ? order : x->side - y->side;
    if (x->callable->line != y->callable->line)
        return x->callable->line < y->callable->line ? -1 : 1;
    /* A stable order for files that now look alike. */
    order = strcmp(x->callable->file, y->callable->file);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* State of the matching: which function of the diff a callable is. */
struct matching {
    struct kymo_diff *diff;
    const struct kymo_survey *surveys[2];
    uint32_t *function_of[2]; /* by callable; 0 if none yet */
    struct waiting *waiting;
    size_t count;
};

static void describe_cost(struct kymo_diff_cost *cost, const struct kymo_function_cost *from,
                          unsigned class)
{
    *cost = (struct kymo_diff_cost){
        .calls = from->calls,
        .resumes = from->resumes,
        .self = from->self,
        .total = from->total,
        .mean = kymo__mean(from, class),
    };
}

/* Record that W is function NUMBER of the diff. */
static void settle_match(struct matching *m, struct waiting *w, uint32_t number)
{
    struct kymo_diff_function *function = &m->diff->functions[number];
    if (!function->in[0] || w->side == 1)
        function->as = *w->callable;
    function->in[w->side] = true;
    describe_cost(&function->cost[w->side], m->surveys[w->side]->functions.of[w->number],
                  w->callable->class);
    m->function_of[w->side][w->number] = number;
    w->taken = true;
}

static void pair(struct matching *m, struct waiting *a, struct waiting *b)
{
    uint32_t number = (uint32_t)m->diff->count++;
    settle_match(m, a, number);
    settle_match(m, b, number);
}

/* Pair the A functions at W with the B functions after them; all look alike. */
static void pair_group(struct matching *m, struct waiting *w, size_t a, size_t b)
{
    struct waiting *other = w + a;
    for (size_t i = 0, j = 0; a != b && i < a && j < b;) {
        uint32_t x = w[i].callable->line, y = other[j].callable->line;
        if (x == y)
            pair(m, &w[i++], &other[j++]);
        else if (x < y)
            i++;
        else
            j++;
    }
    for (size_t i = 0, j = 0; i < a && j < b;) {
        if (w[i].taken)
            i++;
        else if (other[j].taken)
            j++;
        else
            pair(m, &w[i++], &other[j++]);
    }
}

static void pair_all(struct matching *m, enum kymo_nearness nearness)
{
    for (size_t i = 0; i < m->count; i++)
        m->waiting[i].file = kymo__near_part(m->waiting[i].callable->file, nearness);
    if (m->count)
        qsort(m->waiting, m->count, sizeof(*m->waiting), by_place);
    for (size_t i = 0; i < m->count;) {
        size_t a = 0, b = 0;
        while (i + a + b < m->count && compare_waiting(&m->waiting[i], &m->waiting[i + a + b]) == 0)
            m->waiting[i + a + b].side == 0 ? a++ : b++;
        pair_group(m, &m->waiting[i], a, b);
        i += a + b;
    }
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++)
        if (!m->waiting[i].taken)
            m->waiting[kept++] = m->waiting[i];
    m->count = kept;
}

/* Collect every function called on either side. */
static int collect_functions(struct matching *m)
{
    size_t most = 1;
    for (int side = 0; side < 2; side++)
        most += m->surveys[side]->callables.count;
    m->waiting = kymo__alloc(most * sizeof(*m->waiting));
    m->diff->functions = kymo__alloc_zeroed(most * sizeof(*m->diff->functions));
    m->diff->callables = kymo__alloc_zeroed(most * sizeof(*m->diff->callables));
    if (!m->waiting || !m->diff->functions || !m->diff->callables)
        return -ENOMEM;
    m->diff->callables[NOBODY] = (struct kymo_callable){.name = "(unknown)", .file = ""};
    m->diff->count = NOBODY + 1;
    for (int side = 0; side < 2; side++) {
        const struct kymo_survey *s = m->surveys[side];
        m->function_of[side] = kymo__alloc_zeroed(s->callables.count * sizeof(uint32_t));
        if (!m->function_of[side])
            return -ENOMEM;
        for (uint32_t i = 0; i < s->callables.count; i++)
            if (s->functions.of[i] && kymo__activations(s->functions.of[i]))
                m->waiting[m->count++] =
                    (struct waiting){.callable = &s->callables.all[i], .number = i, .side = side};
    }
    return 0;
}

static int match_functions(struct matching *m)
{
    int rc = collect_functions(m);
    if (rc < 0)
        return rc;
    for (int nearness = KYMO__NEAR_WHOLE; nearness < KYMO__NEAR_STEPS; nearness++)
        pair_all(m, nearness);
    for (size_t i = 0; i < m->count; i++)
        settle_match(m, &m->waiting[i], (uint32_t)m->diff->count++);
    for (size_t i = 1; i < m->diff->count; i++) {
        const struct kymo_diff_function *function = &m->diff->functions[i];
        m->diff->callables[i] = function->as;
        for (int side = 0; side < 2; side++) {
            m->diff->self[side] = kymo__ns_add(m->diff->self[side], function->cost[side].self);
            m->diff->calls[side] += function->cost[side].calls;
        }
    }
    return 0;
}

/* Add the paths of one survey to the common tree. */
static int add_paths(struct matching *m, int side)
{
    struct kymo_diff *d = m->diff;
    const struct kymo_tree *tree = &m->surveys[side]->tree;
    uint32_t *here = kymo__alloc_zeroed((tree->count + 1) * sizeof(*here));
    if (!here)
        return -ENOMEM;
    int64_t node = 0;
    for (size_t i = 1; i < tree->count && node >= 0; i++) {
        const struct kymo_node *from = &tree->nodes[i];
        bool folded;
        node = kymo__tree_enter(&d->tree, here[from->parent], m->function_of[side][from->callable],
                                &folded);
        if (node < 0)
            break;
        here[i] = (uint32_t)node;
        struct kymo_diff_cost *cost = &d->paths[node][side];
        cost->calls += from->calls;
        cost->resumes += from->resumes;
        cost->self = kymo__ns_add(cost->self, from->self);
        cost->total = kymo__ns_add(cost->total, from->total);
    }
    kymo__free(here);
    return node < 0 ? (int)node : 0;
}

int kymo__diff_init(struct kymo_diff *diff, const struct kymo_survey *before,
                    const struct kymo_survey *after)
{
    struct matching m = {.diff = diff, .surveys = {before, after}};
    *diff = (struct kymo_diff){0};
    int rc = match_functions(&m);
    size_t most = before->tree.count + after->tree.count + 1;
    if (rc == 0)
        rc = kymo__tree_init(&diff->tree, most);
    if (rc == 0) {
        diff->paths = kymo__alloc_zeroed(most * sizeof(*diff->paths));
        rc = diff->paths ? 0 : -ENOMEM;
    }
    for (int side = 0; rc == 0 && side < 2; side++)
        rc = add_paths(&m, side);
    kymo__free(m.waiting);
    kymo__free(m.function_of[0]);
    kymo__free(m.function_of[1]);
    if (rc < 0)
        kymo__diff_fini(diff);
    return rc;
}

void kymo__diff_fini(struct kymo_diff *diff)
{
    kymo__free(diff->functions);
    kymo__free(diff->callables);
    kymo__free(diff->paths);
    kymo__tree_fini(&diff->tree);
    *diff = (struct kymo_diff){0};
}
