/* flame.c — see flame.h.

   The page (viewer/flame) reads one object of JSON:

       title, start, duration, ending, lost, hidden, shortest, folded
       functions  [name, file, line, class, calls, resumes, self, total] of each
       threads    {name, busy, nodes} of each, the busiest first

   Nodes are six numbers each: function; how many levels up from the node before lies its
   sibling, 0 for a child of that; total, self, calls, resumes. Callers come before what they
   call, and siblings by their total. Times are nanoseconds.

   A browser should not get more nodes than it can hold: of too many the shortest are left out,
   which leaves no node without its caller, as nothing takes longer than that. */
#include "flame.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "gather.h"
#include "print.h"

enum { NODES_MOST = 200000 };

struct flame {
    struct kymo_gathered g;
    uint32_t *number;     /* by callable: of its function + 1; 0 when it was not called */
    kymo_ns shortest;     /* that is written */
    size_t shortest_left; /* how many of those that are just as short may still be written */
    uint64_t hidden;
};

static int longest_first(const void *a, const void *b)
{
    kymo_ns x = *(const kymo_ns *)a, y = *(const kymo_ns *)b;
    return x > y ? -1 : x < y;
}

/* Decide what is too short. */
static int limit(struct flame *f)
{
    const struct kymo_tree *tree = &f->g.survey->tree;
    size_t count = tree->count - 1; /* without the root */
    if (count <= NODES_MOST)
        return 0;
    kymo_ns *totals = kymo__alloc(count * sizeof(*totals));
    if (!totals)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        totals[i] = tree->nodes[i + 1].total;
    qsort(totals, count, sizeof(*totals), longest_first);
    f->hidden = count - NODES_MOST;
    f->shortest = totals[NODES_MOST - 1];
    f->shortest_left = NODES_MOST;
    for (size_t i = 0; totals[i] > f->shortest; i++)
        f->shortest_left--;
    kymo__free(totals);
    return 0;
}

/* Whether a node of TOTAL is to be written. Once one is not, none that is as short is, so that
   those below it are not either. */
static bool wanted(struct flame *f, kymo_ns total)
{
    if (total == f->shortest && f->hidden)
        return f->shortest_left && f->shortest_left--;
    return total >= f->shortest;
}

static void print_number(struct flame *f, uint64_t value, const char *after)
{
    kymo__print_uint(f->g.out, value);
    kymo__print(f->g.out, after);
}

static const char *ending_word(int ending)
{
    static const char *const words[] = {
        [KYMO_ENDED_CLEAN] = "clean",
        [KYMO_ENDED_RUNNING] = "running",
        [KYMO_ENDED_KILLED] = "killed",
        [KYMO_ENDED_FAILED] = "failed",
    };
    bool known = ending >= 0 && (size_t)ending < sizeof(words) / sizeof(words[0]);
    return known ? words[ending] : "unknown";
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
    kymo__print_json(out, ending_word(f->g.info.ending));
    kymo__print(out, ",\"lost\":");
    print_number(f, s->counts.missing, ",\"hidden\":");
    print_number(f, f->hidden, ",\"shortest\":");
    print_number(f, (uint64_t)f->shortest, ",\"folded\":");
    print_number(f, s->tree.folded, "");
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
        print_number(f, (uint64_t)cost->total, "]");
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
    uint32_t depth = 0, above = 1; /* of the node written last */
    bool first = true, first_node = true;
    int rc = 0;
    kymo__print(f->g.out, ",\n\"threads\":[");
    for (uint32_t at = 0; rc == 0 && (at = kymo__tree_next(tree, at, &depth));) {
        const struct kymo_node *node = &tree->nodes[at];
        if (depth == 1) {
            begin_thread(f, node, first);
            first = false;
            first_node = true;
            above = 1;
        } else if (wanted(f, node->total)) {
            kymo__print(f->g.out, first_node ? "" : ",");
            first_node = false;
            print_number(f, f->number[node->callable] - 1, ",");
            print_number(f, above + 1 - depth, ",");
            print_number(f, (uint64_t)node->total, ",");
            print_number(f, (uint64_t)node->self, ",");
            print_number(f, node->calls, ",");
            print_number(f, node->resumes, "");
            above = depth;
        }
        rc = kymo__gather_step(&f->g);
    }
    kymo__print(f->g.out, first ? "]}" : "]}]}");
    return rc;
}

int kymo__flame_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out)
{
    struct flame f = {0};
    int rc = kymo__gather(&f.g, capture, options, out, true);
    if (rc == 0)
        rc = limit(&f);
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
    if (rc == 0)
        kymo__print(out, kymo__flame_after);
    kymo__free(f.number);
    kymo__gather_fini(&f.g);
    return rc;
}
