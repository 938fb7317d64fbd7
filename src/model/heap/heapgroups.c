/* heapgroups.c — see heapgroups.h. */
#include "heapgroups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* A frame of a stack, as a callable of its kind. */
struct place {
    const struct kymo_named_frame *named;
    enum kymo_origin origin;
};

/* Code of the system rather than of the program. */
static bool is_system(const char *module)
{
    return strncmp(module, "/lib", 4) == 0 || strncmp(module, "/usr/lib", 8) == 0 ||
           strstr(module, "/site-packages/") || strstr(module, "/dist-packages/") ||
           strstr(module, "/libpython");
}

/* Code that libraries give to the programs that are compiled with them: templates and inline
   functions of C++, generic functions of Rust. */
static bool is_compiled_in(const char *file)
{
    static const char *const folders[] = {"/usr/include/", "/usr/local/include/", "/usr/lib/",
                                          "/rustc/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (strncmp(file, folders[i], strlen(folders[i])) == 0)
            return true;
    return strstr(file, "/.cargo/registry/") != NULL;
}

static enum kymo_origin origin_of(const struct kymo_named_frame *named)
{
    const struct kymo_callable callable = {named->name, named->file, named->first_line,
                                           KYMO_CLASS_FUNCTION};
    if (named->kind == KYMO_FRAME_MANAGED)
        return kymo__origin(&callable);
    return is_system(named->module) || is_compiled_in(named->file) ? KYMO__LIBRARY : KYMO__OWN;
}

/* Is FRAME code that allocates for everybody: of the interpreter, or of libc? */
static bool serves_all(const struct kymo_stack_names *n, uint32_t frame)
{
    const struct kymo_named_frame *named = &n->named[n->first[frame]];
    const char *slash = named->kind == KYMO_FRAME_NATIVE ? strrchr(named->module, '/') : NULL;
    return kymo__stack_role(n, frame) != KYMO__ROLE_CODE ||
           (slash &&
            (strncmp(slash, "/libc.so", 8) == 0 || strncmp(slash, "/libstdc++.so", 13) == 0));
}

/* The innermost frame of a library, or of the program, for the stack that ends in NODE. */
static struct place choose_library(const struct kymo_stack_names *n, uint32_t node)
{
    const struct kymo_reader_stacks *stacks = &n->capture->reader->stacks;
    struct place first = {0};
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t frame = stacks->nodes[node].frame;
        const struct kymo_named_frame *named = &n->named[n->first[frame]];
        if (!first.named)
            first = (struct place){named, origin_of(named)};
        if (stacks->frames[frame].kind != KYMO_FRAME_NATIVE || !serves_all(n, frame))
            return (struct place){named, origin_of(named)};
    }
    return first;
}

/* Choose the frame of the stack that ends in NODE. Python lines come before native functions of the
   program: where there are both, the interpreter is among them. */
static struct place choose_place(const struct kymo_stack_names *n, uint32_t node, bool innermost)
{
    const struct kymo_reader_stacks *stacks = &n->capture->reader->stacks;
    struct place first = {0}, own = {0}, managed = {0};
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t frame = stacks->nodes[node].frame;
        bool native = stacks->frames[frame].kind == KYMO_FRAME_NATIVE;
        if (native && kymo__stack_role(n, frame) >= KYMO__ROLE_MACHINERY)
            continue;
        for (size_t i = n->first[frame]; i < n->first[frame + 1]; i++) {
            struct place place = {&n->named[i], origin_of(&n->named[i])};
            bool python = place.named->kind == KYMO_FRAME_MANAGED;
            if (!first.named)
                first = place;
            if (innermost)
                return first;
            if (python && !managed.named)
                managed = place;
            if (python && place.origin == KYMO__OWN)
                return place;
            if (!python && !own.named && place.origin == KYMO__OWN)
                own = place;
        }
    }
    return managed.named ? managed : own.named ? own : first;
}

struct kymo_callable kymo__heap_line(const struct kymo_stack_names *names, uint32_t stack,
                                     bool unfold)
{
    const struct kymo_reader_stacks *stacks = &names->capture->reader->stacks;
    struct place place = {0};
    if (stack)
        place = choose_place(names, kymo__stackdefs_find(stacks, stack), unfold);
    if (!place.named || place.named->kind == KYMO_FRAME_UNKNOWN)
        return (struct kymo_callable){"", "", 0, KYMO_CLASS_FUNCTION};
    return (struct kymo_callable){place.named->name, place.named->file, place.named->line,
                                  KYMO_CLASS_FUNCTION};
}

/* ---- libraries ---- */

/* The package that FILE belongs to: its folder or file below site-packages. */
static const char *package_of(const char *file, size_t *length)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++) {
        const char *found = strstr(file, packages[i]);
        if (!found)
            continue;
        found += strlen(packages[i]);
        *length = strcspn(found, "/");
        if (*length > 3 && strncmp(found + *length - 3, ".py", 3) == 0)
            *length -= 3;
        return found;
    }
    return NULL;
}

static const char *library_of(const struct place *place, size_t *length)
{
    const struct kymo_named_frame *named = place->named;
    bool python = named->kind == KYMO_FRAME_MANAGED;
    const char *package = package_of(python ? named->file : named->module, length);
    if (package)
        return package;
    const char *name = "(the program)";
    if (python && place->origin != KYMO__OWN)
        name = place->origin == KYMO__IMPORT ? "(imports)" : "(standard library)";
    else if (!python && *named->module)
        name = strrchr(named->module, '/') ? strrchr(named->module, '/') + 1 : named->module;
    *length = strlen(name);
    return name;
}

/* ---- groups ---- */

static int64_t group_for(struct kymo_heap_groups *g, const struct place *place, const char *name,
                         size_t length, const char *file, uint32_t line)
{
    struct kymo_buffer key = {0};
    int added = 0;
    int64_t id = kymo__buffer_add(&key, name, length) < 0 || kymo__buffer_add(&key, "", 1) < 0 ||
                         kymo__buffer_add(&key, file, strlen(file) + 1) < 0 ||
                         kymo__buffer_add_varint(&key, line) < 0
                     ? -ENOMEM
                     : kymo__strtab_add(&g->keys, (const char *)key.bytes, key.len, &added);
    kymo__buffer_fini(&key);
    if (id < 0 || !added)
        return id < 0 ? id : id - 1;
    int other;
    int64_t text = kymo__strtab_add(&g->texts, name, length, &other);
    if (text < 0 || kymo__array_grow(&g->all, &g->capacity, g->count, sizeof(*g->all)) < 0)
        return -ENOMEM;
    g->all[g->count++] = (struct kymo_heap_group){
        .name = kymo__strtab_get(&g->texts, (uint32_t)text)->text,
        .file = file,
        .line = line,
        .origin = place->named ? place->origin : KYMO__OWN,
    };
    return id - 1;
}

static int64_t group_of(struct kymo_heap_groups *g, const struct place *place, enum kymo_heap_by by)
{
    const struct kymo_named_frame *named = place->named;
    size_t length;
    if (!named || named->kind == KYMO_FRAME_UNKNOWN) {
        /* Unknown: the process was killed before it had written what the stack is. */
        const char *name = named ? "(unknown stack)" : "(no stack)";
        return group_for(g, place, name, strlen(name), "", 0);
    }
    if (by == KYMO__BY_LIBRARY) {
        const char *library = library_of(place, &length);
        return group_for(g, place, library, length, "", 0);
    }
    const char *file =
        *named->file || named->kind == KYMO_FRAME_MANAGED ? named->file : named->module;
    return group_for(g, place, named->name, strlen(named->name), file,
                     by == KYMO__BY_LINE ? named->line : named->first_line);
}

int kymo__heap_groups(struct kymo_heap_groups *g, const struct kymo_heap *h,
                      const struct kymo_stack_names *names, enum kymo_heap_by by, bool unfold)
{
    const struct kymo_reader_stacks *stacks = &h->capture->reader->stacks;
    *g = (struct kymo_heap_groups){0};
    for (uint32_t site = 0; site < h->replay.sites.count; site++) {
        if (!kymo__heap_counts(h, site))
            continue;
        uint32_t stack = h->replay.sites.all[site].stack;
        struct place place = {0};
        if (stack)
            place = by == KYMO__BY_LIBRARY
                        ? choose_library(names, kymo__stackdefs_find(stacks, stack))
                        : choose_place(names, kymo__stackdefs_find(stacks, stack), unfold);
        int64_t group = group_of(g, &place, by);
        if (group < 0)
            return (int)group;
        for (unsigned set = 0; set < KYMO_HEAP_SETS; set++) {
            struct kymo_heap_amount amount = kymo__heap_amount(h, set, site);
            kymo__amount_add(&g->all[group].amount[set], &amount);
        }
    }
    return 0;
}

void kymo__heap_groups_fini(struct kymo_heap_groups *g)
{
    kymo__free(g->all);
    kymo__strtab_fini(&g->keys);
    kymo__strtab_fini(&g->texts);
    *g = (struct kymo_heap_groups){0};
}

struct sorting {
    const struct kymo_heap_groups *groups;
    unsigned set;
};

static int by_amount(const void *a, const void *b, void *arg)
{
    const struct sorting *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct kymo_heap_amount *left = &s->groups->all[x].amount[s->set];
    const struct kymo_heap_amount *right = &s->groups->all[y].amount[s->set];
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    if (left->units != right->units)
        return left->units > right->units ? -1 : 1;
    return x < y ? -1 : x > y;
}

int kymo__heap_groups_order(const struct kymo_heap_groups *g, unsigned set, uint32_t **order,
                            size_t *count)
{
    struct sorting sorting = {g, set};
    *count = 0;
    *order = kymo__alloc((g->count + 1) * sizeof(**order));
    if (!*order)
        return -ENOMEM;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->all[i].amount[set].bytes || g->all[i].amount[set].units)
            (*order)[(*count)++] = i;
    qsort_r(*order, *count, sizeof(**order), by_amount, &sorting);
    return 0;
}

/* ---- tallies ---- */

static int by_node(const void *a, const void *b)
{
    const struct kymo_tally *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

int kymo__heap_tallies(const struct kymo_heap *h, unsigned set, struct kymo_tallies *t)
{
    *t = (struct kymo_tallies){.period = 1, .period_known = true};
    t->all = kymo__alloc((h->order_count[set] + 1) * sizeof(*t->all));
    if (!t->all)
        return -ENOMEM;
    for (size_t i = 0; i < h->order_count[set]; i++) {
        uint32_t site = h->order[set][i];
        struct kymo_heap_amount amount = kymo__heap_amount(h, set, site);
        struct kymo_tally tally = {
            .node =
                kymo__stackdefs_find(&h->capture->reader->stacks, h->replay.sites.all[site].stack),
            .samples = amount.units / KYMO__HEAP_UNIT,
            .periods = amount.bytes,
        };
        t->all[t->count++] = tally;
        t->samples += tally.samples;
        t->periods += tally.periods;
    }
    qsort(t->all, t->count, sizeof(*t->all), by_node);
    return 0;
}
