/* flame.c — see flame.h.

   The page (viewer/flame) reads one object of JSON:

       title, start, duration, ending, lost, hidden, shortest, folded
       samples    0: it is about calls. Otherwise calls below are samples, of which there are so
                  many, and times their periods
       unit       "bytes": it is about memory; samples are blocks and times are bytes. Then there is
                  memory, which flame_memory.c writes
       functions  [name, file, line, class, calls, resumes, self, total, origin, waits] of each:
                  enum kymo_origin, and 1 for those that wait
       threads    {name, busy, nodes} of each, the busiest first

   Nodes are those of flame_nodes.h with total, self, calls and resumes. Times are nanoseconds.

   A page about calls also has the page of the timeline inside of a template element, which the
   browser leaves alone until the script puts it in the place of the flame graph. A parser skips the
   html, head and body tags that are inside of a template. */
#include "flame.h"

#include <errno.h>

#include "alloc.h"
#include "flame_memory.h"
#include "flame_nodes.h"
#include "gather.h"
#include "origin.h"
#include "pages.h"
#include "print.h"
#include "timeline_html.h"

struct flame {
    struct kymo_gathered g;
    struct kymo_flame_nodes nodes;
    uint32_t *number; /* by callable: its function's number + 1; 0 if it was not called */
};

static void print_number(struct flame *f, uint64_t value, const char *after)
{
    kymo__print_uint(f->g.out, value);
    kymo__print(f->g.out, after);
}

static void write_head(struct flame *f)
{
    const struct kymo_survey *s = f->g.survey;
    struct kymo_outfile *out = f->g.out;
    kymo__print(out, "{\"title\":");
    kymo__print_json(out, f->g.process);
    kymo__print(out, ",\"start\":");
    kymo__print_int(out, kymo__ns_add(f->g.info.wall_start, s->from - f->g.info.start));
    kymo__print(out, ",\"duration\":");
    kymo__print_int(out, s->to > s->from ? s->to - s->from : 0);
    kymo__print(out, ",\"ending\":");
    kymo__print_json(out, kymo_ending_word((unsigned)f->g.info.ending));
    kymo__print(out, ",\"lost\":");
    print_number(f, s->counts.missing, ",\"hidden\":");
    print_number(f, f->nodes.hidden, ",\"shortest\":");
    print_number(f, (uint64_t)f->nodes.shortest, ",\"folded\":");
    print_number(f, s->tree.folded, ",\"samples\":");
    print_number(f, f->g.samples ? f->g.samples->tallies.samples : 0, "");
    if (f->g.heap)
        kymo__flame_memory(&f->g);
}

static int write_functions(struct flame *f)
{
    const struct kymo_survey *s = f->g.survey;
    struct kymo_outfile *out = f->g.out;
    uint32_t count = 0;
    int rc = 0;
    kymo__print(out, ",\n\"functions\":[");
    for (size_t i = 0; rc == 0 && i < s->callables.count; i++) {
        const struct kymo_function_cost *cost = s->functions.of[i];
        const struct kymo_callable *callable = &s->callables.all[i];
        if (!cost || !kymo__activations(cost))
            continue;
        f->number[i] = ++count;
        kymo__print(out, count > 1 ? ",\n[" : "\n[");
        kymo__print_json(out, callable->name);
        kymo__print(out, ",");
        kymo__print_json(out, callable->file);
        kymo__print(out, ",");
        print_number(f, callable->line, ",");
        print_number(f, callable->class, ",");
        print_number(f, cost->calls, ",");
        print_number(f, cost->resumes, ",");
        print_number(f, (uint64_t)cost->self, ",");
        print_number(f, (uint64_t)cost->total, ",");
        /* Who waits while holding memory still holds it. */
        print_number(f, kymo__origin(callable),
                     kymo__waits(callable) && !f->g.heap ? ",1]" : ",0]");
        rc = kymo__gather_step(&f->g);
    }
    kymo__print(out, "]");
    return rc;
}

static void begin_thread(struct flame *f, const struct kymo_node *node, bool first)
{
    kymo__print(f->g.out, first ? "\n{\"name\":" : "]},\n{\"name\":");
    kymo__print_json(f->g.out, f->g.threads[node->callable]);
    kymo__print(f->g.out, ",\"busy\":");
    print_number(f, (uint64_t)node->total, ",\"nodes\":[");
}

static int write_threads(struct flame *f)
{
    const struct kymo_tree *tree = &f->g.survey->tree;
    uint32_t depth = 0;
    bool first = true;
    int rc = 0;
    kymo__print(f->g.out, ",\n\"threads\":[");
    for (uint32_t at = 0; rc == 0 && (at = kymo__tree_next(tree, at, &depth));) {
        const struct kymo_node *node = &tree->nodes[at];
        if (depth == 1) {
            begin_thread(f, node, first);
            first = false;
            kymo__flame_nodes_below(&f->nodes, depth);
        } else if (kymo__flame_nodes_next(&f->nodes, f->g.out, node, f->number[node->callable] - 1,
                                          depth)) {
            kymo__print(f->g.out, ",");
            print_number(f, (uint64_t)node->total, ",");
            print_number(f, (uint64_t)node->self, ",");
            print_number(f, node->calls, ",");
            print_number(f, node->resumes, "");
        }
        rc = kymo__gather_step(&f->g);
    }
    kymo__print(f->g.out, first ? "]}" : "]}]}");
    return rc;
}

static int stop_with_export(void *arg)
{
    return kymo__gather_step(arg);
}

/* The timeline, in what the flame graph leaves of the page's size. */
static int write_timeline(struct flame *f, bool *chosen)
{
    const struct kymo_export_options *options = f->g.options;
    const kymo_ns origin = f->g.info.start, most = (kymo_ns)1 << 61;
    struct kymo_callables callables;
    int rc = kymo__callables_init(&callables, f->g.capture);
    if (rc < 0)
        return rc;
    const struct kymo_shown_capture shown = {
        .capture = f->g.capture,
        .callables = &callables,
        .info = &f->g.info,
        .path = f->g.process,
        .origin = origin,
        .from = options->from > origin ? options->from - origin : 0,
        .to = options->to < kymo__ns_add(origin, most) ? options->to - origin : most,
        .chosen = chosen,
        .stop = stop_with_export,
        .stop_arg = &f->g,
    };
    uint64_t bytes = options->bytes ? options->bytes : KYMO__PAGE_BYTES;
    uint64_t used = f->g.out->written + f->g.out->used;
    kymo_ns shortest;
    kymo__print(f->g.out, "<template id=\"timeline\">");
    rc = kymo__timeline_html_write(f->g.out, &shown, 1, bytes > used ? bytes - used : 0, &shortest);
    kymo__print(f->g.out, "</template>\n");
    kymo__callables_fini(&callables);
    return rc;
}

/* The same of the thread that was chosen, if there is one. */
static int add_timeline(struct flame *f)
{
    int64_t thread = f->g.options->thread;
    bool *chosen = thread < 0 ? NULL : kymo__alloc_zeroed(f->g.capture->reader->thread_count + 1);
    if (thread >= 0 && !chosen)
        return -ENOMEM;
    if (chosen)
        chosen[thread] = true;
    int rc = write_timeline(f, chosen);
    kymo__free(chosen);
    return rc;
}

int kymo__flame_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out)
{
    struct flame f = {0};
    int rc = kymo__gather(&f.g, capture, options, out, true);
    if (rc == 0)
        rc = kymo__flame_nodes_init(&f.nodes, &f.g.survey->tree);
    if (rc == 0) {
        f.number = kymo__alloc_zeroed(f.g.survey->callables.count * sizeof(*f.number));
        rc = f.number ? 0 : -ENOMEM;
    }
    if (rc == 0) {
        kymo__print(out, kymo__flame_before);
        write_head(&f);
        rc = write_functions(&f);
    }
    if (rc == 0)
        rc = write_threads(&f);
    if (rc == 0) {
        kymo__print(out, kymo__flame_between);
        rc = add_timeline(&f);
    }
    if (rc == 0)
        kymo__print(out, kymo__flame_after);
    kymo__free(f.number);
    kymo__gather_fini(&f.g);
    return rc;
}
