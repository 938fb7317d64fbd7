/* collapsed.c — see collapsed.h. A line is

       thread;outermost call;...;innermost call NANOSECONDS

   where the number is the innermost call's self time on that path. Names must not contain the
   separator. The smallest paths of a large capture are summed up for their callers, see
   smallpaths.h. */
#include "collapsed.h"

#include <string.h>

#include "gather.h"
#include "print.h"
#include "smallpaths.h"

static const char special[] = ";";

static void print_call(struct kymo_outfile *out, const struct kymo_callable *callable)
{
    kymo__print_line(out, callable->name, special);
    if (!*callable->file)
        return;
    kymo__print(out, " (");
    kymo__print_line(out, callable->file, special);
    if (callable->line) {
        kymo__print(out, ":");
        kymo__print_uint(out, callable->line);
    }
    kymo__print(out, ")");
}

/* The bytes of a call, about. */
static size_t measure_call(const struct kymo_callable *callable)
{
    size_t file = strlen(callable->file);
    return 1 + strlen(callable->name) + (file ? file + 8 : 0);
}

struct collapsing {
    struct kymo_gathered g;
    struct kymo_small_paths small;
};

static void write_line(struct kymo_gathered *g, const struct kymo_path *path, const char *last,
                       kymo_ns time)
{
    kymo__print_line(g->out, g->threads[path->thread], special);
    for (size_t i = 0; i < path->count; i++) {
        kymo__print(g->out, ";");
        if (path->callables[i] == KYMO__DEEPER)
            kymo__print(g->out, KYMO__DEEPER_NAME);
        else
            print_call(g->out, &g->survey->callables.all[path->callables[i]]);
    }
    kymo__print(g->out, last);
    kymo__print(g->out, " ");
    kymo__print_int(g->out, time);
    kymo__print(g->out, "\n");
}

static int write_path(void *arg, const struct kymo_path *path)
{
    struct collapsing *c = arg;
    kymo_ns below = kymo__small_below(&c->small, path->node);
    if (path->node->self)
        write_line(&c->g, path, "", path->node->self);
    if (below)
        write_line(&c->g, path, ";" KYMO__SMALL_NAME, below);
    return 0;
}

int kymo__collapsed_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                          struct kymo_outfile *out)
{
    struct collapsing c = {0};
    int rc = kymo__gather(&c.g, capture, options, out, true);
    if (rc == 0)
        rc = kymo__small_paths(&c.small, c.g.survey, options->entries, measure_call);
    if (rc == 0)
        rc = kymo__gather_paths(&c.g, write_path, &c);
    kymo__small_paths_fini(&c.small);
    kymo__gather_fini(&c.g);
    return rc;
}
