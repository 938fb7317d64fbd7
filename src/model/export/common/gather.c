/* gather.c — see gather.h. */
#include "gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "strtab.h"

enum { STEPS = 16384 };

const char *kymo__gather_metadata(const struct kymo_capture *capture, const char *key)
{
    const char *name, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &name, &value) == 0; i++)
        if (strcmp(name, key) == 0)
            return value;
    return "";
}

/* Find the script or module in COMMAND, such as "kymograph run -o x.kymo shop.py 3": the first word
   that ends in .py or follows -m. *LEN is its length, 0 if there is none. */
static const char *find_program(const char *command, size_t *len)
{
    bool module = false;
    for (const char *at = command; *at;) {
        size_t word = strcspn(at, " ");
        bool script = word > 3 && strncmp(at + word - 3, ".py", 3) == 0;
        if (module || script) {
            const char *name = at + word;
            while (script && name > at && name[-1] != '/')
                name--;
            name = script ? name : at;
            *len = (size_t)(at + word - name);
            return name;
        }
        module = word == 2 && strncmp(at, "-m", 2) == 0;
        at += word;
        at += strspn(at, " ");
    }
    *len = 0;
    return command;
}

/* Find what was run. A Python process is called "python", which says nothing. */
static int name_program(struct kymo_gathered *g)
{
    size_t len;
    const char *name = find_program(kymo__gather_metadata(g->capture, "command"), &len);
    g->process = kymo__gather_metadata(g->capture, "process_name");
    if (strstr(g->process, "python") != g->process || !len)
        return 0;
    g->program = kymo__alloc_text(name, len);
    g->process = g->program;
    return g->program ? 0 : -ENOMEM;
}

/* If the name is taken already, append the thread id. */
char *kymo__gather_title(const struct kymo_thread_info *info, struct kymo_strtab *taken)
{
    char id[40];
    int added = 1;
    snprintf(id, sizeof(id), "%sthread %" PRId64, *info->name ? " (" : "", info->tid);
    if (*info->name && kymo__strtab_add(taken, info->name, strlen(info->name), &added) < 0)
        return NULL;
    if (*info->name && added)
        return kymo__alloc_text(info->name, strlen(info->name));
    size_t size = strlen(info->name) + sizeof(id) + 24;
    char *title = kymo__alloc(size);
    if (!title)
        return NULL;
    /* The system may have reused the id. */
    for (unsigned again = 1;; again++) {
        int len = snprintf(title, size, "%s%s", info->name, id);
        if (again > 1)
            len += snprintf(title + len, size - (size_t)len, ", %u", again);
        if (*info->name)
            len += snprintf(title + len, size - (size_t)len, ")");
        if (kymo__strtab_add(taken, title, (size_t)len, &added) < 0) {
            kymo__free(title);
            return NULL;
        }
        if (added)
            return title;
    }
}

static char *title_memory(const struct kymo_gathered *g)
{
    static const char *const titles[KYMO_HEAP_SETS] = {
        [KYMO_HEAP_AT_PEAK] = "memory at the peak", [KYMO_HEAP_AT_END] = "memory at the end",
        [KYMO_HEAP_AT_TIME] = "memory at a time",   [KYMO_HEAP_OLD] = "old memory at the end",
        [KYMO_HEAP_ALL] = "memory allocated",       [KYMO_HEAP_TEMPORARY] = "temporary memory",
    };
    return kymo__alloc_text(titles[g->options->set], strlen(titles[g->options->set]));
}

static int name_threads(struct kymo_gathered *g)
{
    struct kymo_strtab taken = {0};
    int rc = 0;
    g->threads = kymo__alloc_zeroed((g->survey->thread_count + 1) * sizeof(*g->threads));
    if (!g->threads)
        return -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < g->survey->thread_count; i++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(g->capture, i, &info);
        if (!g->heap && !g->survey->threads[i].counts.slices)
            continue;
        g->threads[i] = g->heap ? title_memory(g) : kymo__gather_title(&info, &taken);
        rc = g->threads[i] ? 0 : -ENOMEM;
    }
    kymo__strtab_fini(&taken);
    return rc;
}

/* Reading is done; ask progress whether to go on and write. */
static int tell_progress(const struct kymo_gathered *g)
{
    const struct kymo_export_options *o = g->options;
    int rc = o->progress ? o->progress(o->progress_arg, g->info.records, g->info.records) : 0;
    return rc < 0 ? rc : 0;
}

static int gather_samples(struct kymo_gathered *g, const struct kymo_survey_options *calls)
{
    const struct kymo_samples_options samples = {
        .tally = {.from = calls->from,
                  .to = calls->to,
                  .chosen = calls->chosen,
                  .progress = calls->progress,
                  .progress_arg = calls->progress_arg},
        .nodes = calls->nodes,
        .by_thread = calls->by_thread,
        .native = g->options->native,
    };
    int rc = kymo__samples(g->capture, &samples, &g->samples);
    if (rc == 0)
        g->survey = g->samples->survey;
    return rc;
}

/* Blocks of memory as samples, all of the first thread. */
static int gather_memory(struct kymo_gathered *g, const struct kymo_survey_options *calls)
{
    const struct kymo_export_options *o = g->options;
    const struct kymo_heap_options wanted = {
        .size = sizeof(wanted),
        .at = o->set == KYMO_HEAP_AT_TIME ? o->at : INT64_MAX,
        .progress = o->progress,
        .progress_arg = o->progress_arg,
    };
    const struct kymo_samples_options options = {
        .tally = {.from = calls->from, .to = calls->to},
        .nodes = calls->nodes,
        .by_thread = calls->by_thread,
        .native = o->native,
    };
    struct kymo_tallies tallies;
    if (!kymo__may_have_heap(g->capture))
        return -ENODATA;
    int rc = o->set < KYMO_HEAP_SETS ? kymo_heap_new(g->capture, &wanted, &g->heap) : -EINVAL;
    if (rc == 0 && o->set == KYMO_HEAP_AT_TIME && g->heap->mode == KYMO_HEAP_LIVE &&
        !kymo__heap_shot_at(g->heap))
        rc = -ENODATA; /* only snapshots say what was held at a time */
    if (rc == 0)
        rc = kymo__heap_tallies(g->heap, o->set, &tallies);
    if (rc == 0)
        rc = kymo__samples_of(g->capture, &options, &tallies, &g->samples);
    if (rc == 0)
        g->survey = g->samples->survey;
    return rc;
}

/* Survey calls, samples or memory, whichever was selected. */
static int survey(struct kymo_gathered *g, const struct kymo_survey_options *options)
{
    int of = g->options->of;
    if (of == KYMO_OF_MEMORY)
        return gather_memory(g, options);
    if (of == KYMO_OF_SAMPLES)
        return g->info.samples ? gather_samples(g, options) : -ENODATA;
    int rc = kymo__survey(g->capture, options, &g->survey);
    bool memory = !g->info.samples && kymo__may_have_heap(g->capture);
    if (rc < 0 || of == KYMO_OF_CALLS || g->survey->counts.slices || (!g->info.samples && !memory))
        return rc;
    kymo__survey_free(g->survey);
    g->survey = NULL;
    return memory ? gather_memory(g, options) : gather_samples(g, options);
}

int kymo__gather(struct kymo_gathered *g, struct kymo_capture *capture,
                 const struct kymo_export_options *options, struct kymo_outfile *out,
                 bool by_thread)
{
    size_t threads = capture->reader->thread_count;
    *g = (struct kymo_gathered){
        .capture = capture, .options = options, .out = out, .info = {.size = sizeof(g->info)}};
    kymo_capture_info(capture, &g->info);
    int rc = name_program(g);
    if (rc < 0)
        return rc;
    bool *chosen = kymo__alloc_zeroed(threads + 1);
    if (!chosen)
        return -ENOMEM;
    for (size_t i = 0; i < threads; i++)
        chosen[i] = options->thread < 0 || options->thread == (int64_t)i;
    const struct kymo_survey_options wanted = {
        .from = options->from > 0 ? options->from : INT64_MIN,
        .to = options->to,
        .chosen = chosen,
        .nodes = KYMO__GATHER_NODES,
        .by_thread = by_thread,
        .progress = options->progress,
        .progress_arg = options->progress_arg,
    };
    rc = survey(g, &wanted);
    kymo__free(chosen);
    if (rc == 0)
        rc = tell_progress(g);
    return rc < 0 ? rc : name_threads(g);
}

void kymo__gather_fini(struct kymo_gathered *g)
{
    for (size_t i = 0; g->threads && i < g->survey->thread_count; i++)
        kymo__free(g->threads[i]);
    kymo__free(g->threads);
    kymo__free(g->program);
    kymo_heap_free(g->heap);
    if (g->samples)
        kymo__samples_free(g->samples);
    else
        kymo__survey_free(g->survey);
}

int kymo__gather_calls_only(const struct kymo_gathered *g)
{
    return g->samples ? -ENOTSUP : 0;
}

int kymo__gather_step(struct kymo_gathered *g)
{
    if (++g->steps % STEPS)
        return 0;
    return g->out->error ? g->out->error : tell_progress(g);
}

/* State of a walk over the paths. */
struct walk {
    struct kymo_gathered *g;
    int (*each)(void *arg, const struct kymo_path *path);
    void *arg;
    struct kymo_path path;
    uint32_t callables[KYMO__PATH_MOST + 2];
    struct kymo_node *deeper; /* by callable: calls of it below the longest path allowed */
    uint32_t *found;          /* the callables that occur there */
    size_t found_count;
};

static int give_stack(struct walk *w, const struct kymo_node *node, size_t count)
{
    w->callables[count - 1] = node->callable;
    w->path.node = node;
    w->path.count = count;
    int rc = w->each(w->arg, &w->path);
    return rc < 0 ? rc : kymo__gather_step(w->g);
}

static void add_deeper(struct walk *w, const struct kymo_node *node)
{
    struct kymo_node *sum = &w->deeper[node->callable];
    if (!sum->parent) { /* not seen yet: no call here is directly below the root, 0 */
        *sum = (struct kymo_node){.parent = node->parent, .callable = node->callable};
        w->found[w->found_count++] = node->callable;
    }
    sum->calls += node->calls;
    sum->resumes += node->resumes;
    sum->self = kymo__ns_add(sum->self, node->self);
}

/* The longest path ends: everything below it is known now. */
static int give_deeper(struct walk *w)
{
    int rc = 0;
    w->callables[KYMO__PATH_MOST] = KYMO__DEEPER;
    for (size_t i = 0; rc == 0 && i < w->found_count; i++) {
        struct kymo_node *sum = &w->deeper[w->found[i]];
        rc = give_stack(w, sum, KYMO__PATH_MOST + 2);
        sum->parent = 0;
    }
    w->found_count = 0;
    return rc;
}

static int walk_tree(struct walk *w)
{
    const struct kymo_tree *tree = &w->g->survey->tree;
    uint32_t depth = 0;
    int rc = 0;
    for (uint32_t at = 0; rc == 0 && (at = kymo__tree_next(tree, at, &depth));) {
        const struct kymo_node *node = &tree->nodes[at];
        size_t count = depth - 1; /* number of calls: the first level is threads */
        if (count <= KYMO__PATH_MOST)
            rc = give_deeper(w);
        if (count == 0)
            w->path.thread = node->callable;
        else if (count > KYMO__PATH_MOST)
            add_deeper(w, node);
        else if (rc == 0)
            rc = give_stack(w, node, count);
    }
    return rc < 0 ? rc : give_deeper(w);
}

int kymo__gather_paths(struct kymo_gathered *g,
                       int (*each)(void *arg, const struct kymo_path *path), void *arg)
{
    size_t callables = g->survey->callables.count;
    struct walk *w = kymo__alloc_zeroed(sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->g = g;
    w->each = each;
    w->arg = arg;
    w->path.callables = w->callables;
    w->deeper = kymo__alloc_zeroed(callables * sizeof(*w->deeper));
    w->found = kymo__alloc(callables * sizeof(*w->found));
    int rc = w->deeper && w->found ? walk_tree(w) : -ENOMEM;
    kymo__free(w->deeper);
    kymo__free(w->found);
    kymo__free(w);
    return rc;
}
