/* samples.c — see samples.h.

   A stack becomes a path of the tree, starting with its outermost frame. Which native frames are
   shown depends on their neighbours: between two Python frames, the interpreter's own frames say
   nothing; inside the innermost one they may show what it does. So a reader node has two images in
   the tree, one for stacks that continue to a Python frame and one for the others. Each is computed
   once per thread. */
#include "samples.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "alloc.h"

enum { INSIDE, BETWEEN, IMAGES }; /* BETWEEN: a Python frame follows further in */

struct image {
    uint32_t stamp, node;
    bool folded; /* the tree is full */
};

struct making {
    struct kymo_samples *samples;
    const struct kymo_samples_options *options;
    const struct kymo_reader_stacks *stacks;
    struct kymo_survey *survey;
    struct image *images[IMAGES]; /* by node */
    uint32_t stamp;               /* images with this stamp are valid */
    uint32_t *path;               /* nodes on the way to one with an image */
    struct image top;             /* the parent of outermost frames */
    size_t capacity;              /* capacity of callables */
};

/* ---- functions ---- */

static int64_t add_callable(struct making *m, const char *name, const char *file, uint32_t line,
                            uint32_t class)
{
    struct kymo_callables *c = &m->survey->callables;
    struct kymo_buffer key = {0};
    int added = 0;
    int64_t id =
        kymo__buffer_add(&key, name, strlen(name) + 1) < 0 ||
                kymo__buffer_add(&key, file, strlen(file) + 1) < 0 ||
                kymo__buffer_add_varint(&key, line) < 0 || kymo__buffer_add_varint(&key, class) < 0
            ? -ENOMEM
            : kymo__strtab_add(&m->samples->functions, (const char *)key.bytes, key.len, &added);
    kymo__buffer_fini(&key);
    if (id < 0 || !added)
        return id;
    int rc = kymo__array_grow(&c->all, &m->capacity, c->count, sizeof(*c->all));
    if (rc < 0)
        return rc;
    c->all[c->count++] = (struct kymo_callable){name, file, line, class};
    return id;
}

/* Does FRAME collect garbage, itself or in what was inlined into it? */
static bool collects(const struct kymo_stack_names *n, uint32_t frame)
{
    for (size_t i = n->first[frame]; i < n->first[frame + 1]; i++)
        if (kymo__stack_collects(n, &n->named[i]))
            return true;
    return false;
}

static int64_t callable_for(struct making *m, const struct kymo_named_frame *named)
{
    if (kymo__stack_collects(&m->samples->names, named))
        return add_callable(m, "Python GC", "", 0, KYMO_CLASS_GC);
    bool python = named->kind == KYMO_FRAME_MANAGED;
    const char *file = *named->file || python ? named->file : named->module;
    if (named->kind == KYMO_FRAME_UNKNOWN)
        return 0;
    return add_callable(m, named->name, file, named->first_line,
                        python ? KYMO_CLASS_FUNCTION : KYMO_CLASS_NATIVE);
}

/* Give every function a number. */
static int find_callables(struct making *m)
{
    const struct kymo_stack_names *n = &m->samples->names;
    size_t count = n->first[m->stacks->frame_count];
    m->samples->callable_of = kymo__alloc((count + 2) * sizeof(*m->samples->callable_of));
    m->samples->role = kymo__alloc_zeroed(m->stacks->frame_count + 1);
    int rc = m->samples->callable_of && m->samples->role
                 ? kymo__array_grow(&m->survey->callables.all, &m->capacity, 0,
                                    sizeof(*m->survey->callables.all))
                 : -ENOMEM;
    if (rc < 0)
        return rc;
    m->survey->callables.all[m->survey->callables.count++] =
        (struct kymo_callable){.name = "(unknown)", .file = "", .class = KYMO__CLASS_OTHER};
    for (size_t i = 0; i < count; i++) {
        int64_t callable = callable_for(m, &n->named[i]);
        if (callable < 0)
            return (int)callable;
        m->samples->callable_of[i] = (uint32_t)callable;
    }
    for (uint32_t i = 0; i < m->stacks->frame_count; i++)
        if (m->stacks->frames[i].kind == KYMO_FRAME_NATIVE)
            m->samples->role[i] =
                collects(n, i) ? KYMO__ROLE_COLLECTOR : (uint8_t)kymo__stack_role(n, i);
    int64_t native = add_callable(m, "(native)", "", 0, KYMO_CLASS_NATIVE);
    int64_t deeper = native < 0 ? native : add_callable(m, "(deeper)", "", 0, KYMO_CLASS_NATIVE);
    if (deeper < 0)
        return (int)deeper;
    m->samples->named = count;
    m->samples->callable_of[count] = (uint32_t)native;
    m->samples->callable_of[count + 1] = (uint32_t)deeper;
    return 0;
}

/* ---- the tree ---- */

static int prepare_images(struct making *m)
{
    size_t nodes = m->stacks->node_count;
    m->samples->managed_outside = kymo__alloc_zeroed(nodes + 1);
    m->samples->path_of = kymo__alloc_zeroed((nodes + 1) * sizeof(*m->samples->path_of));
    m->path = kymo__alloc((KYMO__STACK_DEEPEST + 2) * sizeof(*m->path));
    for (int i = 0; i < IMAGES; i++)
        m->images[i] = kymo__alloc_zeroed((nodes + 1) * sizeof(*m->images[i]));
    if (!m->samples->managed_outside || !m->samples->path_of || !m->path || !m->images[INSIDE] ||
        !m->images[BETWEEN])
        return -ENOMEM;
    for (size_t i = 1; i < nodes; i++) {
        uint32_t parent = m->stacks->nodes[i].parent;
        m->samples->managed_outside[i] = parent && (m->samples->managed_outside[parent] ||
                                                    kymo__samples_managed(m->samples, parent));
    }
    return 0;
}

static int step_into(struct making *m, struct image *at, uint32_t callable)
{
    if (at->folded)
        return 0;
    int64_t node = kymo__tree_enter(&m->survey->tree, at->node, callable, &at->folded);
    if (node < 0)
        return (int)node;
    at->node = (uint32_t)node;
    return 0;
}

/* Move AT down to the image of NODE below it. */
static int descend(struct making *m, struct image *at, uint32_t node, int image)
{
    const struct kymo_stack_names *n = &m->samples->names;
    uint32_t frame = m->stacks->nodes[node].frame;
    int rc = 0;
    if (kymo__samples_shows(m->samples, node, image == BETWEEN))
        for (size_t i = n->first[frame + 1]; rc == 0 && i-- > n->first[frame];)
            rc = kymo__samples_skips(m->samples, frame, i)
                     ? 0
                     : step_into(m, at, m->samples->callable_of[i]);
    at->stamp = m->stamp;
    m->images[image][node] = *at;
    return rc;
}

/* Find the image for a stack that ends in NODE. */
static int image_of(struct making *m, uint32_t node, struct image *found)
{
    size_t length = 0;
    size_t outer = 0; /* how many nodes at the end of the path are BETWEEN */
    int image = INSIDE;
    *found = m->top;
    for (uint32_t at = node; at; at = m->stacks->nodes[at].parent) {
        if (kymo__samples_managed(m->samples, at))
            image = BETWEEN;
        if (m->images[image][at].stamp == m->stamp) {
            *found = m->images[image][at];
            break;
        }
        outer += image == BETWEEN;
        m->path[length++] = at;
    }
    int rc = 0;
    for (size_t i = length; rc == 0 && i-- > 0;)
        rc = descend(m, found, m->path[i], i >= length - outer ? BETWEEN : INSIDE);
    if (rc == 0 && found->node == m->top.node && !found->folded)
        rc = step_into(m, found,
                       m->samples->callable_of[m->samples->named]); /* none of its frames is
                                                                           shown */
    return rc;
}

static int begin_thread(struct making *m, uint32_t thread)
{
    m->stamp++;
    m->top = (struct image){.stamp = m->stamp};
    return m->options->by_thread ? step_into(m, &m->top, thread) : 0;
}

/* While the tree is built, a node's `resumes` counts the samples directly in it. */
static int make_tree(struct making *m)
{
    const struct kymo_tallies *t = &m->samples->tallies;
    struct kymo_survey *s = m->survey;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        const struct kymo_tally *tally = &t->all[i];
        struct kymo_survey_thread *thread = &s->threads[tally->thread];
        struct image at = {0};
        if (i == 0 || (m->options->by_thread && tally->thread != t->all[i - 1].thread))
            rc = begin_thread(m, tally->thread);
        if (rc == 0)
            rc = image_of(m, tally->node, &at);
        if (rc < 0)
            break;
        m->samples->path_of[tally->node] = at.node;
        kymo_ns time = kymo__tally_time(t, tally->periods);
        struct kymo_node *node = &s->tree.nodes[at.node];
        node->self = kymo__ns_add(node->self, time);
        node->resumes += tally->samples;
        s->tree.folded += at.folded ? tally->samples : 0;
        thread->busy = kymo__ns_add(thread->busy, time);
        thread->counts.slices += tally->samples;
        thread->calls += tally->samples;
    }
    return rc;
}

/* Children come after their parents. */
static void add_up(struct kymo_tree *tree)
{
    for (size_t i = tree->count; i-- > 1;) {
        struct kymo_node *node = &tree->nodes[i], *parent = &tree->nodes[node->parent];
        node->total = kymo__ns_add(node->total, node->self);
        node->calls += node->resumes;
        parent->total = kymo__ns_add(parent->total, node->total);
        parent->calls += node->calls;
    }
}

/* Sum up each function; one that occurs several times on a path counts once. */
static int add_functions(struct making *m)
{
    struct kymo_tree *tree = &m->survey->tree;
    struct kymo_functions *f = &m->survey->functions;
    uint32_t *open = NULL, depth = 0, first = m->options->by_thread ? 2 : 1;
    size_t count = 0, capacity = 0; /* of the open functions */
    int rc = 0;
    for (uint32_t at = 0; rc == 0 && (at = kymo__tree_next(tree, at, &depth));) {
        struct kymo_node *node = &tree->nodes[at];
        while (count && count + first > depth)
            f->of[open[--count]]->active--;
        if (depth < first)
            continue;
        rc = kymo__array_grow(&open, &capacity, count, sizeof(*open));
        if (rc == 0)
            rc = kymo__functions_enter(f, node->callable);
        if (rc < 0)
            break;
        open[count++] = node->callable;
        struct kymo_function_cost *cost = f->of[node->callable];
        cost->least = 0;
        cost->self = kymo__ns_add(cost->self, node->self);
        cost->primitive += node->resumes;
        if (cost->active == 1) {
            cost->total = kymo__ns_add(cost->total, node->total);
            cost->calls += node->calls;
        }
        unsigned class = m->survey->callables.all[node->callable].class;
        m->survey->self[class] = kymo__ns_add(m->survey->self[class], node->self);
        m->survey->called[class] += node->resumes;
        node->resumes = 0;
    }
    kymo__free(open);
    return rc;
}

/* ---- whole ---- */

static int make_samples(struct making *m)
{
    struct kymo_survey *s = m->survey;
    int rc = find_callables(m);
    if (rc == 0)
        rc = kymo__functions_init(&s->functions, &s->callables);
    s->of_samples = true;
    if (rc == 0)
        rc = kymo__asyncs_init(&s->asyncs, &s->callables);
    if (rc == 0)
        rc = kymo__tree_init(&s->tree, m->options->nodes);
    if (rc == 0) {
        s->counters = kymo__alloc_zeroed(s->callables.count * sizeof(void *));
        rc = s->counters ? prepare_images(m) : -ENOMEM;
    }
    if (rc == 0)
        rc = make_tree(m);
    if (rc < 0)
        return rc;
    add_up(&s->tree);
    rc = add_functions(m);
    for (size_t i = 0; i < s->thread_count; i++) {
        s->calls += s->threads[i].calls;
        s->counts.slices += s->threads[i].counts.slices;
    }
    kymo__tree_sort(&s->tree);
    return rc;
}

static void made(struct making *m)
{
    kymo__free(m->path);
    kymo__free(m->images[INSIDE]);
    kymo__free(m->images[BETWEEN]);
}

static struct kymo_survey *new_survey(struct kymo_capture *capture,
                                      const struct kymo_samples_options *o)
{
    /* Without the number of samples, for which everything would be read. */
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    struct kymo_survey *s = kymo__alloc_zeroed(sizeof(*s));
    kymo_capture_info(capture, &info);
    if (!s)
        return NULL;
    s->from = o->tally.from > info.start ? o->tally.from : info.start;
    s->to = o->tally.to < info.end ? o->tally.to : info.end;
    s->thread_count = capture->reader->thread_count;
    s->threads = kymo__alloc_zeroed((s->thread_count + 1) * sizeof(*s->threads));
    for (size_t i = 0; s->threads && i < s->thread_count; i++)
        s->threads[i].read = !o->tally.chosen || o->tally.chosen[i];
    if (s->threads)
        return s;
    kymo__free(s);
    return NULL;
}

int kymo__samples_of(struct kymo_capture *capture, const struct kymo_samples_options *options,
                     struct kymo_tallies *tallies, struct kymo_samples **samples)
{
    struct kymo_samples *s = kymo__alloc_zeroed(sizeof(*s));
    if (!s) {
        kymo__tally_fini(tallies);
        return -ENOMEM;
    }
    s->native = options->native;
    s->tallies = *tallies;
    *tallies = (struct kymo_tallies){0};
    struct making m = {.samples = s, .options = options, .stacks = &capture->reader->stacks};
    m.survey = s->survey = new_survey(capture, options);
    int rc = m.survey ? 0 : -ENOMEM;
    s->names_lent = options->like != NULL;
    if (s->names_lent)
        s->names = options->like->names;
    else if (rc == 0)
        rc = kymo__stack_names_init(&s->names, capture, KYMO_SYMBOL_FULL);
    if (rc == 0)
        rc = make_samples(&m);
    made(&m);
    if (rc < 0)
        kymo__samples_free(s);
    else
        *samples = s;
    return rc;
}

int kymo__samples(struct kymo_capture *capture, const struct kymo_samples_options *options,
                  struct kymo_samples **samples)
{
    struct kymo_tallies tallies;
    int rc = kymo__tally(&tallies, capture, &options->tally);
    if (rc == 0)
        return kymo__samples_of(capture, options, &tallies, samples);
    kymo__tally_fini(&tallies);
    return rc;
}

int kymo__samples_chosen(struct kymo_capture *capture, const struct kymo_export_options *options,
                         size_t nodes, struct kymo_samples **samples)
{
    size_t threads = capture->reader->thread_count;
    bool *chosen = kymo__alloc_zeroed(threads + 1);
    if (!chosen)
        return -ENOMEM;
    for (size_t i = 0; i < threads; i++)
        chosen[i] = options->thread < 0 || options->thread == (int64_t)i;
    const struct kymo_samples_options wanted = {
        .tally = {.from = options->from > 0 ? options->from : INT64_MIN,
                  .to = options->to,
                  .chosen = chosen,
                  .progress = options->progress,
                  .progress_arg = options->progress_arg},
        .nodes = nodes,
        .native = options->native,
    };
    int rc = kymo__samples(capture, &wanted, samples);
    kymo__free(chosen);
    return rc;
}

void kymo__samples_free(struct kymo_samples *s)
{
    if (!s)
        return;
    kymo__survey_free(s->survey);
    kymo__free(s->callable_of);
    kymo__free(s->path_of);
    kymo__free(s->role);
    kymo__free(s->managed_outside);
    if (!s->names_lent)
        kymo__stack_names_fini(&s->names);
    kymo__strtab_fini(&s->functions);
    kymo__tally_fini(&s->tallies);
    kymo__free(s);
}
