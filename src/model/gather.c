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
    const struct kymo_survey_options survey = {
        .from = options->from > 0 ? options->from : INT64_MIN,
        .to = options->to,
        .chosen = chosen,
        .nodes = KYMO__GATHER_NODES,
        .by_thread = by_thread,
        .progress = options->progress,
        .progress_arg = options->progress_arg,
    };
    int rc = kymo__survey(capture, &survey, &g->survey);
    kymo__free(chosen);
    return rc < 0 ? rc : name_threads(g);
}

void kymo__gather_fini(struct kymo_gathered *g)
{
    for (size_t i = 0; g->threads && i < g->survey->thread_count; i++)
        kymo__free(g->threads[i]);
    kymo__free(g->threads);
    kymo__survey_free(g->survey);
}

int kymo__gather_step(struct kymo_gathered *g)
{
    const struct kymo_export_options *o = g->options;
    if (++g->steps % STEPS)
        return 0;
    if (g->out->error)
        return g->out->error;
    return o->progress ? o->progress(o->progress_arg, g->info.records, g->info.records) : 0;
}

int kymo__gather_paths(struct kymo_gathered *g,
                       int (*each)(void *arg, const struct kymo_path *path), void *arg)
{
    const struct kymo_tree *tree = &g->survey->tree;
    uint32_t *callables = kymo__alloc((KYMO__PATH_MOST + 2) * sizeof(*callables));
    if (!callables)
        return -ENOMEM;
    struct kymo_path path = {.callables = callables};
    int rc = 0;
    uint32_t depth = 0;
    for (uint32_t at = 0; rc == 0 && (at = kymo__tree_next(tree, at, &depth));) {
        const struct kymo_node *node = &tree->nodes[at];
        if (depth == 1) {
            path.thread = node->callable;
            continue;
        }
        size_t count = depth - 1;
        if (count > KYMO__PATH_MOST) {
            callables[KYMO__PATH_MOST] = KYMO__DEEPER;
            count = KYMO__PATH_MOST + 2;
        }
        callables[count - 1] = node->callable;
        path.node = node;
        path.count = count;
        rc = each(arg, &path);
        if (rc >= 0)
            rc = kymo__gather_step(g);
    }
    kymo__free(callables);
    return rc < 0 ? rc : 0;
}
