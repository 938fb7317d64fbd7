/* treebook.c — see treebook.h.

   Which frames of a stack are not shown depends on what is further in (stackbook.c: root_of). A
   branch remembers what would be shown if its frame were the innermost; a frame of the root hides
   the interpreter's frames further out. */
#include "treebook.h"

#include "alloc.h"
#include "merge.h"
#include "stacktree.h"

/* What is known about a node of the tree. */
struct kymo_book_branch {
    uint32_t frame;
    uint32_t shown; /* node in the capture of the frames that are shown, or 0: none is */
    uint32_t depth;
    bool managed;
    bool outermost; /* all managed frames down to this one are beside the root */
};

void kymo__treebook_init(struct kymo_treebook *tree, struct kymo_stackbook *book)
{
    *tree = (struct kymo_treebook){.book = book};
}

void kymo__treebook_fini(struct kymo_treebook *tree)
{
    kymo__free(tree->branches);
    kymo__free(tree->waiting);
    kymo__free(tree->path);
}

static size_t index_of(kymo_stack node)
{
    return node >> 1;
}

static kymo_stack node_at(size_t index)
{
    return (kymo_stack)(index << 1 | 1);
}

/* The node in the capture of the frames down to NODE: of all, or of those that are native. */
static int64_t define_path(struct kymo_treebook *tree, kymo_stack node, bool all)
{
    size_t count = 0;
    for (; node; node = kymo__stacktree_parent(node)) {
        int rc = kymo__array_grow(&tree->path, &tree->path_capacity, count, sizeof(*tree->path));
        if (rc < 0)
            return rc;
        tree->path[count++] = node;
    }
    int64_t defined = 0;
    while (defined >= 0 && count) {
        const struct kymo_book_branch *branch = &tree->branches[index_of(tree->path[--count])];
        if (all || !branch->managed)
            defined = kymo__book_node(tree->book, (uint32_t)defined, branch->frame);
    }
    return defined;
}

/* Define NODE, whose parent is defined. 0 or negative errno. */
static int define_branch(struct kymo_treebook *tree, kymo_stack node, bool end)
{
    static const struct kymo_book_branch none = {.outermost = true};
    int rc =
        kymo__array_grow(&tree->branches, &tree->capacity, tree->count, sizeof(*tree->branches));
    if (rc < 0)
        return rc;
    kymo_stack parent = kymo__stacktree_parent(node);
    const struct kymo_book_branch *outer = parent ? &tree->branches[index_of(parent)] : &none;
    struct kymo_frame frame = kymo__word_frame(kymo__stacktree_word(node));
    int64_t id = kymo__book_frame(tree->book, &frame, outer->depth, end);
    if (id < 0)
        return (int)id;
    struct kymo_book_branch branch = {.frame = (uint32_t)id,
                                      .depth = outer->depth + 1,
                                      .managed = frame.managed,
                                      .outermost = outer->outermost};
    bool runs = false, ours = false; /* the program; the profiler's */
    if (frame.managed) {
        enum kymo_book_kin kin = kymo__book_kin(tree->book, branch.frame);
        branch.outermost &= kin != KYMO__BOOK_OTHER;
        runs = branch.outermost || kin == KYMO__BOOK_ROOT;
        ours = kin == KYMO__BOOK_OURS;
    }
    int64_t shown = runs   ? define_path(tree, parent, false)
                    : ours ? outer->shown
                           : kymo__book_node(tree->book, outer->shown, branch.frame);
    if (shown < 0)
        return (int)shown;
    branch.shown = (uint32_t)shown;
    tree->branches[tree->count++] = branch;
    return 0;
}

/* Define every node that is complete. */
static void define_branches(struct kymo_treebook *tree, bool end)
{
    kymo_stack last = kymo__stacktree_last();
    for (size_t i = tree->count; last && i <= index_of(last); i++) {
        if (!kymo__stacktree_word(node_at(i))) {
            /* It is being added. At the end nobody is left who could: it has no children. */
            if (!end || kymo__array_grow(&tree->branches, &tree->capacity, tree->count,
                                         sizeof(*tree->branches)) < 0)
                return;
            tree->branches[tree->count++] = (struct kymo_book_branch){0};
        } else if (define_branch(tree, node_at(i), end) < 0) {
            return;
        }
    }
}

/* Define STACK, whose nodes are defined. */
static int define_leaf(struct kymo_treebook *tree, kymo_stack stack)
{
    const struct kymo_book_branch *branch = &tree->branches[index_of(stack)];
    /* A stack that would be empty is shown as it is. */
    int64_t node = branch->shown ? branch->shown : define_path(tree, stack, true);
    return node < 0 ? (int)node : kymo__book_stack(tree->book, stack, (uint32_t)node);
}

void kymo__treebook_add(struct kymo_treebook *tree, bool end)
{
    kymo_stack stack;
    while ((stack = kymo__stacktree_used()))
        if (kymo__array_grow(&tree->waiting, &tree->waiting_capacity, tree->waiting_count,
                             sizeof(*tree->waiting)) == 0)
            tree->waiting[tree->waiting_count++] = stack;
        else
            tree->given_up++;
    define_branches(tree, end);
    size_t kept = 0;
    for (size_t i = 0; i < tree->waiting_count; i++) {
        stack = tree->waiting[i];
        if (index_of(stack) >= tree->count || define_leaf(tree, stack) < 0)
            tree->waiting[kept++] = stack;
    }
    tree->waiting_count = kept;
}

bool kymo__treebook_waits(const struct kymo_treebook *tree)
{
    return tree->waiting_count != 0;
}
