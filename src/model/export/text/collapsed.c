/* collapsed.c — see collapsed.h. A line is

       thread;outermost call;...;innermost call NANOSECONDS

   where the number is the innermost call's self time on that path. Names must not contain the
   separator. */
#include "collapsed.h"

#include "gather.h"
#include "print.h"

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

static int write_path(void *arg, const struct kymo_path *path)
{
    struct kymo_gathered *g = arg;
    if (!path->node->self)
        return 0;
    kymo__print_line(g->out, g->threads[path->thread], special);
    for (size_t i = 0; i < path->count; i++) {
        kymo__print(g->out, ";");
        if (path->callables[i] == KYMO__DEEPER)
            kymo__print(g->out, KYMO__DEEPER_NAME);
        else
            print_call(g->out, &g->survey->callables.all[path->callables[i]]);
    }
    kymo__print(g->out, " ");
    kymo__print_int(g->out, path->node->self);
    kymo__print(g->out, "\n");
    return 0;
}

int kymo__collapsed_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                          struct kymo_outfile *out)
{
    struct kymo_gathered g;
    int rc = kymo__gather(&g, capture, options, out, true);
    if (rc == 0)
        rc = kymo__gather_paths(&g, write_path, &g);
    kymo__gather_fini(&g);
    return rc;
}
