/* fold.c — see fold.h. */
#include "fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* State while folding a survey. */
struct folding {
    const struct kymo_survey *from;
    struct kymo_fold *fold;
    uint8_t *origin;  /* that of the fold */
    bool *waits;      /* by callable */
    uint32_t *here;   /* by node of the survey: the node shown for it */
    uint32_t imports; /* the callable that represents imports */
    size_t capacity;  /* capacity of fold->waits */
};

/* Code generated at run time is in the file <string>. It is the program's own if the program itself
   is (python -c); otherwise it belongs to its caller, as C functions do: dataclasses and enum
   generate much of it. */
static bool program_is_string(const struct kymo_survey *from)
{
    const struct kymo_node *nodes = from->tree.nodes;
    for (uint32_t at = nodes[0].child; at; at = nodes[at].sibling)
        if (strcmp(from->callables.all[nodes[at].callable].file, "<string>") == 0)
            return true;
    return false;
}

static int classify(struct folding *f)
{
    const struct kymo_callables *all = &f->from->callables;
    bool own = false, string = program_is_string(f->from);
    f->origin = f->fold->origin = kymo__alloc(all->count + 1);
    f->waits = kymo__alloc((all->count + 1) * sizeof(*f->waits));
    if (!f->origin || !f->waits)
        return -ENOMEM;
    for (size_t i = 0; i < all->count; i++) {
        const struct kymo_function_cost *cost = f->from->functions.of[i];
        f->origin[i] = (uint8_t)kymo__origin(&all->all[i]);
        if (!string && f->origin[i] == KYMO__OWN && strcmp(all->all[i].file, "<string>") == 0)
            f->origin[i] = KYMO__BUILTIN;
        f->waits[i] = kymo__waits(&all->all[i]);
        own |= f->origin[i] == KYMO__OWN && all->all[i].class != KYMO_CLASS_GC && cost &&
               kymo__activations(cost);
    }
    f->imports = (uint32_t)all->count;
    f->origin[f->imports] = KYMO__IMPORT;
    f->waits[f->imports] = false;
    f->fold->only_imports = !own;
    f->fold->waited = kymo__alloc_zeroed((all->count + 1) * sizeof(*f->fold->waited));
    f->fold->node_waited = kymo__alloc_zeroed((f->from->tree.count + 1) * sizeof(kymo_ns));
    return f->fold->waited && f->fold->node_waited ? 0 : -ENOMEM;
}

/* Copy the callables and add the one that represents imports. */
static int copy_callables(struct folding *f)
{
    struct kymo_survey *shown = &f->fold->shown;
    const struct kymo_callables *all = &f->from->callables;
    size_t count = all->count + 1;
    f->fold->plain = false;
    shown->functions.of = NULL;
    shown->callables = (struct kymo_callables){.count = count};
    shown->callables.all = kymo__alloc(count * sizeof(*shown->callables.all));
    shown->functions.callables = &shown->callables;
    shown->functions.of = kymo__alloc_zeroed(count * sizeof(*shown->functions.of));
    if (!shown->callables.all || !shown->functions.of)
        return -ENOMEM;
    memcpy(shown->callables.all, all->all, all->count * sizeof(*all->all));
    shown->callables.all[f->imports] =
        (struct kymo_callable){.name = KYMO__IMPORTS, .file = "", .class = KYMO_CLASS_FUNCTION};
    return 0;
}

/* A module that runs as the program is its own code's only caller, even if it was installed. */
static bool is_script(const struct folding *f, const struct kymo_node *node)
{
    return !node->parent && strcmp(f->from->callables.all[node->callable].name, "<module>") == 0;
}

/* Is NODE shown, or does it count as part of the node around it? */
static bool is_shown(const struct folding *f, const struct kymo_node *node)
{
    const struct kymo_node *caller = &f->from->tree.nodes[node->parent];
    if (f->fold->unfold || !node->parent || f->origin[node->callable] == KYMO__OWN)
        return true;
    if (f->fold->only_imports)
        return !f->here || f->fold->shown.tree.nodes[f->here[node->parent]].callable != f->imports;
    return f->origin[caller->callable] == KYMO__OWN || is_script(f, caller);
}

/* Is everything shown as it is? Then nothing is copied: there may be millions of functions. Samples
   are always counted again, since there "primitive" means something else. */
static bool is_plain(const struct folding *f)
{
    const struct kymo_tree *tree = &f->from->tree;
    if (f->from->of_samples)
        return false;
    for (size_t i = 1; i < tree->count; i++) {
        const struct kymo_node *node = &tree->nodes[i];
        bool import = !f->fold->unfold && f->origin[node->callable] == KYMO__IMPORT;
        if (import || f->waits[node->callable] || !is_shown(f, node))
            return false;
    }
    return true;
}

static void show_plain(struct folding *f)
{
    struct kymo_survey *shown = &f->fold->shown;
    shown->tree = f->from->tree;
    for (size_t i = 1; i < shown->tree.count; i++) {
        const struct kymo_node *node = &shown->tree.nodes[i];
        unsigned class = kymo__class_known(shown->callables.all[node->callable].class);
        shown->self[class] = kymo__ns_add(shown->self[class], node->self);
        f->fold->work = kymo__ns_add(f->fold->work, node->self);
    }
}

static int add_wait(struct folding *f, uint32_t caller, const struct kymo_node *node)
{
    struct kymo_fold *fold = f->fold;
    int rc = kymo__array_grow(&fold->waits, &f->capacity, fold->wait_count, sizeof(*fold->waits));
    if (rc < 0)
        return rc;
    fold->waits[fold->wait_count++] = (struct kymo_fold_wait){
        .callable = node->callable,
        .from = caller ? fold->shown.tree.nodes[caller].callable : 0,
        .root = !caller,
        .calls = node->calls,
        .time = node->self,
    };
    fold->node_waited[caller] = kymo__ns_add(fold->node_waited[caller], node->self);
    fold->waiting = kymo__ns_add(fold->waiting, node->self);
    return 0;
}

static int add_node(struct folding *f, uint32_t at)
{
    const struct kymo_node *node = &f->from->tree.nodes[at];
    struct kymo_survey *shown = &f->fold->shown;
    uint32_t caller = f->here[node->parent];
    f->here[at] = caller;
    if (f->waits[node->callable])
        return add_wait(f, caller, node);
    unsigned class = kymo__class_known(f->from->callables.all[node->callable].class);
    shown->self[class] = kymo__ns_add(shown->self[class], node->self);
    f->fold->work = kymo__ns_add(f->fold->work, node->self);
    if (is_shown(f, node)) {
        bool import = !f->fold->unfold && f->origin[node->callable] == KYMO__IMPORT, full;
        int64_t there =
            kymo__tree_enter(&shown->tree, caller, import ? f->imports : node->callable, &full);
        if (there < 0)
            return (int)there;
        f->here[at] = (uint32_t)there;
        shown->tree.nodes[there].calls += node->calls;
        shown->tree.nodes[there].resumes += node->resumes;
    } else {
        f->fold->folded = true;
    }
    struct kymo_node *kept = &shown->tree.nodes[f->here[at]];
    kept->self = kymo__ns_add(kept->self, node->self);
    return 0;
}

/* The child of NODE for CALLABLE, or NULL. */
static struct kymo_node *child_of(struct kymo_tree *tree, uint32_t node, uint32_t callable)
{
    for (uint32_t at = tree->nodes[node].child; at; at = tree->nodes[at].sibling)
        if (tree->nodes[at].callable == callable)
            return &tree->nodes[at];
    return NULL;
}

/* An operator may begin inside a library's function, such as the __enter__ of a context manager, and
   continue in the program. Where only what follows is shown, that is where it was called. */
static void move_calls(struct folding *f, const struct kymo_node *begun, uint32_t shown_in)
{
    struct kymo_tree *tree = &f->fold->shown.tree;
    uint64_t left = begun->calls;
    for (uint32_t at = shown_in; left && at; at = tree->nodes[at].parent) {
        struct kymo_node *on = child_of(tree, tree->nodes[at].parent, begun->callable);
        uint64_t moved = !on ? 0 : left < on->resumes ? left : on->resumes;
        if (moved) {
            on->calls += moved;
            on->resumes -= moved;
            left -= moved;
        }
    }
}

static void move_all_calls(struct folding *f)
{
    const struct kymo_tree *from = &f->from->tree;
    for (size_t i = 1; i < from->count; i++) {
        const struct kymo_node *node = &from->nodes[i];
        bool hidden = f->here[i] == f->here[node->parent];
        if (hidden && node->calls &&
            f->from->callables.all[node->callable].class == KYMO_CLASS_OPERATOR)
            move_calls(f, node, f->here[i]);
    }
}

/* Fold the tree. Parents come before children, so one pass finds the shown nodes and one sums
   up. */
static int fold_tree(struct folding *f)
{
    const struct kymo_tree *from = &f->from->tree;
    struct kymo_tree *tree = &f->fold->shown.tree;
    int rc = kymo__tree_init(tree, from->count + 1);
    f->here = kymo__alloc_zeroed((from->count + 1) * sizeof(*f->here));
    if (rc < 0 || !f->here)
        return -ENOMEM;
    for (size_t i = 1; rc == 0 && i < from->count; i++)
        rc = add_node(f, (uint32_t)i);
    if (rc == 0)
        move_all_calls(f);
    for (size_t i = tree->count; rc == 0 && i-- > 1;) {
        struct kymo_node *node = &tree->nodes[i], *caller = &tree->nodes[node->parent];
        node->total = kymo__ns_add(node->total, node->self);
        caller->total = kymo__ns_add(caller->total, node->total);
        if (f->fold->node_waited[i]) /* pages that stay zero cost nothing */
            f->fold->node_waited[node->parent] =
                kymo__ns_add(f->fold->node_waited[node->parent], f->fold->node_waited[i]);
    }
    tree->folded = from->folded;
    tree->most = from->most;
    return rc;
}

/* What is left of a function's cost. */
struct counted {
    uint64_t calls, resumes, primitive;
    kymo_ns self, total;
    uint32_t active;
};

/* Sum up each function's cost from the tree, by callable. */
static void count_functions(struct folding *f, struct counted *counted)
{
    struct kymo_fold *fold = f->fold;
    const struct kymo_tree *tree = &fold->shown.tree;
    const struct kymo_node *nodes = tree->nodes;
    uint32_t depth = 0, depth_before = 0, before = 0;
    for (uint32_t at = 0; (at = kymo__tree_next(tree, at, &depth)); before = at) {
        for (; depth_before >= depth && depth_before; depth_before--) {
            counted[nodes[before].callable].active--;
            before = nodes[before].parent;
        }
        depth_before = depth;
        struct counted *cost = &counted[nodes[at].callable];
        cost->calls += nodes[at].calls;
        cost->resumes += nodes[at].resumes;
        cost->self = kymo__ns_add(cost->self, nodes[at].self);
        if (cost->active++)
            continue;
        cost->primitive += nodes[at].calls;
        cost->total = kymo__ns_add(cost->total, nodes[at].total);
        if (fold->node_waited[at])
            fold->waited[nodes[at].callable] =
                kymo__ns_add(fold->waited[nodes[at].callable], fold->node_waited[at]);
    }
}

static bool is_same(const struct kymo_function_cost *cost, const struct counted *counted)
{
    return cost && cost->calls == counted->calls && cost->resumes == counted->resumes &&
           cost->primitive == counted->primitive && cost->self == counted->self &&
           cost->total == counted->total;
}

/* The survey's COST of a callable of CLASS, or NULL, with what was COUNTED again. */
static struct kymo_function_cost changed_cost(const struct kymo_function_cost *cost, unsigned class,
                                              const struct counted *counted)
{
    struct kymo_function_cost changed = cost ? *cost : (struct kymo_function_cost){0};
    changed.calls = counted->calls;
    changed.resumes = counted->resumes;
    changed.primitive = counted->primitive;
    changed.self = counted->self;
    changed.total = counted->total;
    changed.active = 0;
    /* The tree does not have single activations: those shown get the mean of all. */
    if (cost && kymo__activations(cost))
        changed.sum = (kymo_ns)((double)cost->sum / (double)kymo__occasions(cost, class) *
                                (double)kymo__occasions(&changed, class));
    return changed;
}

/* There may be millions of functions. Folding leaves the costs of most unchanged; those share the
   survey's figures instead of copying them. */
static int fold_functions(struct folding *f)
{
    struct kymo_function_cost *const *from = f->from->functions.of, **of;
    size_t all = f->from->callables.count, count = all + 1, changed = 0;
    struct counted *counted = kymo__alloc_zeroed(count * sizeof(*counted));
    if (!counted)
        return -ENOMEM;
    count_functions(f, counted);
    for (size_t i = 0; i < count; i++)
        changed += !is_same(i < all ? from[i] : NULL, &counted[i]);
    f->fold->costs = kymo__alloc((changed + 1) * sizeof(*f->fold->costs));
    of = f->fold->shown.functions.of;
    changed = 0;
    for (size_t i = 0; f->fold->costs && i < count; i++) {
        struct kymo_function_cost *cost = i < all ? from[i] : NULL;
        if (is_same(cost, &counted[i])) {
            of[i] = cost;
            continue;
        }
        of[i] = &f->fold->costs[changed++];
        unsigned class = i < all ? f->from->callables.all[i].class : KYMO_CLASS_FUNCTION;
        *of[i] = changed_cost(cost, class, &counted[i]);
    }
    kymo__free(counted);
    return f->fold->costs ? 0 : -ENOMEM;
}

static int by_pair(const void *a, const void *b)
{
    const struct kymo_fold_wait *x = a, *y = b;
    if (x->callable != y->callable)
        return x->callable < y->callable ? -1 : 1;
    if (x->root != y->root)
        return x->root ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int by_time(const void *a, const void *b)
{
    const struct kymo_fold_wait *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time ? -1 : 1) : by_pair(a, b);
}

static void sum_waits(struct kymo_fold *fold)
{
    struct kymo_fold_wait *all = fold->waits;
    size_t kept = 0;
    if (!fold->wait_count)
        return;
    qsort(all, fold->wait_count, sizeof(*all), by_pair);
    for (size_t i = 0; i < fold->wait_count; i++) {
        if (!kept || by_pair(&all[kept - 1], &all[i]) != 0) {
            all[kept++] = all[i];
            continue;
        }
        all[kept - 1].calls += all[i].calls;
        all[kept - 1].time = kymo__ns_add(all[kept - 1].time, all[i].time);
    }
    fold->wait_count = kept;
    qsort(all, kept, sizeof(*all), by_time);
}

static int fold_all(struct folding *f)
{
    int rc = copy_callables(f);
    if (rc == 0)
        rc = fold_tree(f);
    if (rc < 0)
        return rc;
    kymo__tree_sort(&f->fold->shown.tree);
    rc = fold_functions(f);
    if (rc == 0)
        sum_waits(f->fold);
    return rc;
}

int kymo__fold(const struct kymo_survey *survey, bool unfold, struct kymo_fold **result)
{
    struct kymo_fold *fold = kymo__alloc_zeroed(sizeof(*fold));
    if (!fold)
        return -ENOMEM;
    fold->unfold = unfold;
    fold->shown = *survey;
    fold->plain = true; /* borrows everything so far */
    fold->shown.tree = (struct kymo_tree){0};
    memset(fold->shown.self, 0, sizeof(fold->shown.self));
    struct folding f = {.from = survey, .fold = fold};
    int rc = classify(&f);
    if (rc == 0 && is_plain(&f))
        show_plain(&f);
    else if (rc == 0)
        rc = fold_all(&f);
    kymo__free(f.waits);
    kymo__free(f.here);
    if (rc == 0)
        *result = fold;
    if (rc < 0)
        kymo__fold_free(fold);
    return rc;
}

void kymo__fold_free(struct kymo_fold *fold)
{
    if (!fold)
        return;
    if (!fold->plain) {
        kymo__free(fold->shown.callables.all);
        kymo__free(fold->shown.functions.of);
        kymo__tree_fini(&fold->shown.tree);
    }
    kymo__free(fold->origin);
    kymo__free(fold->costs);
    kymo__free(fold->waited);
    kymo__free(fold->node_waited);
    kymo__free(fold->waits);
    kymo__free(fold);
}
