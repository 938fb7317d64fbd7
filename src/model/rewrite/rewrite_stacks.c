/* rewrite_stacks.c — see rewrite_stacks.h. */
#include "rewrite_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "stacks.h"
#include "writer.h"

kymo_ns kymo__sample_period(const struct kymo_capture *capture)
{
    long long period = atoll(kymo__sample_metadata(capture, KYMO__SAMPLE_PERIOD));
    return period > 0 ? period : 0;
}

int kymo__stack_copy_init(struct kymo_stack_copy *c, const struct kymo_capture *capture)
{
    const struct kymo_reader_stacks *s = &capture->reader->stacks;
    kymo_ns period = kymo__sample_period(capture);
    c->reader = capture->reader;
    c->scale = period && c->ids->period ? (uint64_t)(period / c->ids->period) : 1;
    c->module_of = kymo__alloc_zeroed((s->module_count + 1) * sizeof(uint32_t));
    c->frame_of = kymo__alloc_zeroed((s->frame_count + 1) * sizeof(uint32_t));
    c->node_of = kymo__alloc_zeroed((s->node_count + 1) * sizeof(uint32_t));
    c->stack_of = kymo__alloc_zeroed((s->node_count + 1) * sizeof(uint32_t));
    c->path = kymo__alloc((KYMO__STACK_DEEPEST + 2) * sizeof(uint32_t));
    return c->module_of && c->frame_of && c->node_of && c->stack_of && c->path ? 0 : -ENOMEM;
}

void kymo__stack_copy_fini(struct kymo_stack_copy *c)
{
    kymo__free(c->module_of);
    kymo__free(c->frame_of);
    kymo__free(c->node_of);
    kymo__free(c->stack_of);
    kymo__free(c->path);
}

static void define_node(struct kymo_stack_copy *c, int type, uint64_t id, uint64_t a, uint64_t b,
                        uint64_t d)
{
    kymo__writer_define(c->writer, &(struct kymo_def){.type = type, .number = {id, a, b, d}});
}

static uint32_t module_of(struct kymo_stack_copy *c, uint32_t module)
{
    if (!module)
        return 0;
    if (!c->module_of[module]) {
        const struct kymo_reader_module *m = &c->reader->stacks.modules[module - 1];
        uint64_t path = c->string(c->arg, m->path), build_id = c->string(c->arg, m->build_id);
        c->module_of[module] = ++c->ids->modules;
        kymo__writer_define(c->writer,
                            &(struct kymo_def){.type = KYMO__DEF_MODULE,
                                               .number = {c->module_of[module], m->base, m->low,
                                                          m->high, path, build_id}});
    }
    return c->module_of[module];
}

/* Return 0, which is never defined, for an unknown frame. */
static uint32_t frame_of(struct kymo_stack_copy *c, uint32_t frame)
{
    const struct kymo_reader_frame *f = &c->reader->stacks.frames[frame];
    if (f->kind == KYMO_FRAME_UNKNOWN)
        return 0;
    if (!c->frame_of[frame]) {
        bool native = f->kind == KYMO_FRAME_NATIVE;
        uint32_t of = native ? module_of(c, f->module) : c->key(c->arg, f->key);
        c->frame_of[frame] = ++c->ids->frames;
        define_node(c, KYMO__DEF_FRAME, c->frame_of[frame], !native, of,
                    native ? f->address : f->line);
    }
    return c->frame_of[frame];
}

static uint32_t node_of(struct kymo_stack_copy *c, uint32_t node)
{
    const struct kymo_reader_node *nodes = c->reader->stacks.nodes;
    size_t count = 0;
    for (uint32_t at = node; at && !c->node_of[at]; at = nodes[at].parent)
        c->path[count++] = at;
    while (count-- > 0) {
        const struct kymo_reader_node *n = &nodes[c->path[count]];
        uint32_t frame = frame_of(c, n->frame);
        c->node_of[c->path[count]] = ++c->ids->nodes;
        define_node(c, KYMO__DEF_NODE, c->ids->nodes, n->parent ? c->node_of[n->parent] : 0, frame,
                    0);
    }
    return c->node_of[node];
}

uint64_t kymo__stack_copy_sample(struct kymo_stack_copy *c, uint64_t value)
{
    uint32_t node = kymo__stackdefs_find(&c->reader->stacks, kymo__sample_stack(value));
    uint64_t periods = kymo__sample_periods(value) * c->scale;
    periods = periods < UINT32_MAX ? periods : UINT32_MAX;
    if (!c->stack_of[node] && node != KYMO__NODE_UNKNOWN) {
        uint32_t end = node_of(c, node);
        c->stack_of[node] = ++c->ids->stacks;
        define_node(c, KYMO__DEF_STACK, c->stack_of[node], end, 0, 0);
    }
    return periods << 32 | c->stack_of[node];
}
