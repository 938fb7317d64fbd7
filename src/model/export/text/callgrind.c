/* callgrind.c — see callgrind.h.

   Each function is a block: its file (fl) and name (fn), its self time at its first line, and for
   each function it calls the file (cfi), name (cfn), number of calls (calls) and time. Files and
   names are written in full once and then referred to by number in parentheses. */
#include "callgrind.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "edges.h"
#include "gather.h"
#include "print.h"
#include "strtab.h"

struct callgrind {
    struct kymo_gathered g;
    struct kymo_edges edges;
    struct kymo_strtab files; /* written so far; a file's number is its id */
    bool *named;              /* by callable: it has been written */
};

/* "LABEL(NUMBER)", and NAME if it is NEW. */
static void print_name(struct kymo_outfile *out, const char *label, uint64_t number,
                       const char *name, bool new)
{
    kymo__print(out, label);
    kymo__print(out, "(");
    kymo__print_uint(out, number);
    kymo__print(out, ")");
    if (new) {
        kymo__print(out, " ");
        kymo__print_line(out, name, "");
    }
    kymo__print(out, "\n");
}

static int print_function(struct callgrind *c, const char *file_label, const char *label,
                          uint32_t index)
{
    const struct kymo_callable *callable = &c->g.survey->callables.all[index];
    const char *file = *callable->file ? callable->file : "???";
    int new = 0;
    int64_t number = kymo__strtab_add(&c->files, file, strlen(file), &new);
    if (number < 0)
        return (int)number;
    print_name(c->g.out, file_label, (uint64_t)number, file, new);
    print_name(c->g.out, label, (uint64_t)index + 1, callable->name, !c->named[index]);
    c->named[index] = true;
    return 0;
}

static void print_cost(struct callgrind *c, uint32_t index, kymo_ns time)
{
    kymo__print_uint(c->g.out, c->g.survey->callables.all[index].line);
    kymo__print(c->g.out, " ");
    kymo__print_int(c->g.out, time);
    kymo__print(c->g.out, "\n");
}

static int print_call(struct callgrind *c, const struct kymo_edge *edge)
{
    int rc = print_function(c, "cfi=", "cfn=", edge->callee);
    kymo__print(c->g.out, "calls=");
    kymo__print_uint(c->g.out, edge->calls);
    kymo__print(c->g.out, " ");
    kymo__print_uint(c->g.out, c->g.survey->callables.all[edge->callee].line);
    kymo__print(c->g.out, "\n");
    print_cost(c, edge->caller, edge->total);
    return rc;
}

static int write_functions(struct callgrind *c)
{
    const struct kymo_survey *s = c->g.survey;
    const struct kymo_edges *edges = &c->edges;
    size_t next = 0; /* edges are ordered by caller, too */
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->callables.count; i++) {
        if (!s->functions.of[i] || !kymo__activations(s->functions.of[i]))
            continue;
        kymo__print(c->g.out, "\n");
        rc = print_function(c, "fl=", "fn=", i);
        print_cost(c, i, s->functions.of[i]->self);
        for (; rc == 0 && next < edges->count && edges->all[next].caller == i; next++)
            rc = print_call(c, &edges->all[next]);
        if (rc == 0)
            rc = kymo__gather_step(&c->g);
    }
    return rc;
}

static void write_head(struct callgrind *c)
{
    const struct kymo_survey *s = c->g.survey;
    struct kymo_outfile *out = c->g.out;
    kymo_ns all = 0;
    for (int i = 0; i < KYMO__CLASSES; i++)
        all = kymo__ns_add(all, s->self[i]);
    kymo__print(out, "# callgrind format\nversion: 1\ncreator: kymograph " KYMO_VERSION "\npid: ");
    kymo__print_int(out, c->g.info.pid);
    kymo__print(out, "\ncmd: ");
    kymo__print_line(out, c->g.process, "");
    if (s->tree.folded) {
        kymo__print(out, "\ndesc: Note: too many call paths; missing from callers: ");
        kymo__print_uint(out, s->tree.folded);
    }
    kymo__print(out, "\npositions: line\nevent: ns : Wall time in nanoseconds\nevents: ns\n"
                     "summary: ");
    kymo__print_int(out, all);
    kymo__print(out, "\n");
}

int kymo__callgrind_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                          struct kymo_outfile *out)
{
    struct callgrind c = {0};
    int rc = kymo__gather(&c.g, capture, options, out, false);
    if (rc == 0)
        rc = kymo__gather_calls_only(&c.g);
    if (rc == 0)
        rc = kymo__edges_init(&c.edges, &c.g.survey->tree);
    if (rc == 0) {
        c.named = kymo__alloc_zeroed(c.g.survey->callables.count);
        rc = c.named ? 0 : -ENOMEM;
    }
    if (rc == 0) {
        write_head(&c);
        rc = write_functions(&c);
    }
    kymo__free(c.named);
    kymo__strtab_fini(&c.files);
    kymo__edges_fini(&c.edges);
    kymo__gather_fini(&c.g);
    return rc;
}
