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

/* One that is not the first of its name gets its id too. */
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
    /* The system may have used an id again. */
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
        if (!g->survey->threads[i].counts.slices)
            continue;
        g->threads[i] = kymo__gather_title(&info, &taken);
        rc = g->threads[i] ? 0 : -ENOMEM;
    }
    kymo__strtab_fini(&taken);
    return rc;
}

/* Everything has been read; may it be written? */
static int tell(const struct kymo_gathered *g)
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

/* Calls or samples, whichever is meant. */
static int survey(struct kymo_gathered *g, const struct kymo_survey_options *options)
{
    int of = g->options->of;
    if (of == KYMO_OF_SAMPLES)
        return g->info.samples ? gather_samples(g, options) : -ENODATA;
    int rc = kymo__survey(g->capture, options, &g->survey);
    if (rc < 0 || of == KYMO_OF_CALLS || !g->info.samples || g->survey->counts.slices)
        return rc;
    kymo__survey_free(g->survey);
    g->survey = NULL;
    return gather_samples(g, options);
}

int kymo__gather(struct kymo_gathered *g, struct kymo_capture *capture,
                 const struct kymo_export_options *options, struct kymo_outfile *out,
                 bool by_thread)
{
    size_t threads = capture->reader->thread_count;
    *g = (struct kymo_gathered){.capture = capture,
                                .options = options,
                                .out = out,
                                .info = {.size = sizeof(g->info)},
                                .process = kymo__gather_metadata(capture, "process_name")};
    kymo_capture_info(capture, &g->info);
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
    int rc = survey(g, &wanted);
    kymo__free(chosen);
    if (rc == 0)
        rc = tell(g);
    return rc < 0 ? rc : name_threads(g);
}

void kymo__gather_fini(struct kymo_gathered *g)
{
    for (size_t i = 0; g->threads && i < g->survey->thread_count; i++)
        kymo__free(g->threads[i]);
    kymo__free(g->threads);
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
    return g->out->error ? g->out->error : tell(g);
}

/* While paths are walked along. */
struct walk {
    struct kymo_gathered *g;
    int (*each)(void *arg, const struct kymo_path *path);
    void *arg;
    struct kymo_path path;
    uint32_t callables[KYMO__PATH_MOST + 2];
    struct kymo_node
        *deeper;     /* by callable: calls of it below the path that is as long as may be */
    uint32_t *found; /* the callables of those there are */
    size_t found_count;
};

static int give(struct walk *w, const struct kymo_node *node, size_t count)
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
    if (!sum->parent) { /* which is not 0 for any call, as that is the root */
        *sum = (struct kymo_node){.parent = node->parent, .callable = node->callable};
        w->found[w->found_count++] = node->callable;
    }
    sum->calls += node->calls;
    sum->resumes += node->resumes;
    sum->self = kymo__ns_add(sum->self, node->self);
}

/* The longest path ends: now all below it is known. */
static int give_deeper(struct walk *w)
{
    int rc = 0;
    w->callables[KYMO__PATH_MOST] = KYMO__DEEPER;
    for (size_t i = 0; rc == 0 && i < w->found_count; i++) {
        struct kymo_node *sum = &w->deeper[w->found[i]];
        rc = give(w, sum, KYMO__PATH_MOST + 2);
        sum->parent = 0;
    }
    w->found_count = 0;
    return rc;
}

static int walk(struct walk *w)
{
    const struct kymo_tree *tree = &w->g->survey->tree;
    uint32_t depth = 0;
    int rc = 0;
    for (uint32_t at = 0; rc == 0 && (at = kymo__tree_next(tree, at, &depth));) {
        const struct kymo_node *node = &tree->nodes[at];
        size_t count = depth - 1; /* of calls: the first level are threads */
        if (count <= KYMO__PATH_MOST)
            rc = give_deeper(w);
        if (count == 0)
            w->path.thread = node->callable;
        else if (count > KYMO__PATH_MOST)
            add_deeper(w, node);
        else if (rc == 0)
            rc = give(w, node, count);
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
    int rc = w->deeper && w->found ? walk(w) : -ENOMEM;
    kymo__free(w->deeper);
    kymo__free(w->found);
    kymo__free(w);
    return rc;
}
