/* pprof_samples.c — samples as a pprof profile: every native frame is a location with its address,
   in the mapping of its file, whose build id lets other tools symbolize it too.

   Mapping M + 2 is module M of the reader, counted from 0. Frame F is location F + 1; its lines are
   its functions, inlined ones first. Two more locations represent hidden frames. Function C + 1 is
   callable C. */
#include <errno.h>

#include "alloc.h"
#include "pprof_parts.h"

static uint64_t location_of(const struct kymo_pprof *p, const struct kymo_shown *shown)
{
    const struct kymo_samples *s = p->g.samples;
    if (shown->named < s->named)
        return (uint64_t)shown->frame + 1;
    return p->g.capture->reader->stacks.frame_count + 1 + (shown->named - s->named);
}

void kymo__pprof_locations(struct kymo_pprof *p, uint32_t node, struct kymo_shown *shown)
{
    size_t count = kymo__samples_shown(p->g.samples, node, shown);
    uint64_t before = 0;
    p->inner.len = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t location = location_of(p, &shown[i]);
        /* A frame's functions are consecutive, starting with the most deeply inlined. */
        bool same = i > 0 && location == before && shown[i].named == shown[i - 1].named + 1;
        before = location;
        if (same)
            continue;
        p->used[location] = true;
        if (kymo__buffer_add_varint(&p->inner, location) < 0)
            p->failed = -ENOMEM;
    }
    kymo__pprof_bytes(p, &p->message, SAMPLE_LOCATION, p->inner.bytes, p->inner.len);
}

static void write_tally(struct kymo_pprof *p, const struct kymo_tally *tally,
                        struct kymo_shown *shown)
{
    const struct kymo_samples *s = p->g.samples;
    kymo__pprof_locations(p, tally->node, shown);
    p->inner.len = 0;
    if (kymo__buffer_add_varint(&p->inner, tally->samples) < 0 ||
        kymo__buffer_add_varint(&p->inner,
                                (uint64_t)kymo__tally_time(&s->tallies, tally->periods)) < 0)
        p->failed = -ENOMEM;
    kymo__pprof_bytes(p, &p->message, SAMPLE_VALUE, p->inner.bytes, p->inner.len);
    kymo__pprof_sample(p, tally->thread);
}

static int write_tallies(struct kymo_pprof *p)
{
    const struct kymo_tallies *t = &p->g.samples->tallies;
    struct kymo_shown *shown = kymo__alloc((KYMO__SHOWN_MOST + 1) * sizeof(*shown));
    int rc = shown ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        write_tally(p, &t->all[i], shown);
        rc = p->failed ? p->failed : kymo__gather_step(&p->g);
    }
    kymo__free(shown);
    return rc;
}

static void add_line(struct kymo_pprof *p, uint32_t named, bool *functions)
{
    const struct kymo_samples *s = p->g.samples;
    uint32_t callable = s->callable_of[named];
    uint32_t line = named < s->named ? s->names.named[named].line : 0;
    functions[callable] = true;
    p->inner.len = 0;
    kymo__pprof_varint(p, &p->inner, LINE_FUNCTION, (uint64_t)callable + 1);
    kymo__pprof_varint(p, &p->inner, LINE_LINE, line);
    kymo__pprof_bytes(p, &p->message, LOCATION_LINE, p->inner.bytes, p->inner.len);
}

/* Is the file name the only name of FRAME? Then other tools may find a better one. */
static bool nameless(const struct kymo_samples *s, uint32_t frame)
{
    return s->names.named[s->names.first[frame]].name[0] == '[';
}

static int write_locations(struct kymo_pprof *p, bool *functions, bool *named)
{
    const struct kymo_samples *s = p->g.samples;
    const struct kymo_reader_stacks *stacks = &p->g.capture->reader->stacks;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < stacks->frame_count + 2; i++) {
        const struct kymo_reader_frame *f = i < stacks->frame_count ? &stacks->frames[i] : NULL;
        if (!p->used[i + 1])
            continue;
        bool native = f && f->kind == KYMO_FRAME_NATIVE;
        kymo__pprof_varint(p, &p->message, LOCATION_ID, (uint64_t)i + 1);
        kymo__pprof_varint(p, &p->message, LOCATION_MAPPING,
                           native && f->module ? (uint64_t)f->module + 1 : 1);
        if (native) {
            uint64_t base = f->module ? stacks->modules[f->module - 1].base : 0;
            kymo__pprof_varint(p, &p->message, LOCATION_ADDRESS, base + f->address - 1);
        }
        if (!f)
            add_line(p, (uint32_t)(s->named + i - stacks->frame_count), functions);
        else
            for (size_t j = s->names.first[i]; j < s->names.first[i + 1]; j++)
                add_line(p, (uint32_t)j, functions);
        kymo__pprof_message(p, PROFILE_LOCATION);
        if (native && f->module && !nameless(s, i))
            named[f->module - 1] = true;
        rc = p->failed ? p->failed : kymo__gather_step(&p->g);
    }
    return rc;
}

static int write_functions(struct kymo_pprof *p, const bool *functions)
{
    const struct kymo_callables *callables = &p->g.survey->callables;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < callables->count; i++) {
        const struct kymo_callable *c = &callables->all[i];
        if (!functions[i])
            continue;
        uint64_t name = kymo__pprof_string(p, c->name), file = kymo__pprof_string(p, c->file);
        kymo__pprof_varint(p, &p->message, FUNCTION_ID, i + 1);
        kymo__pprof_varint(p, &p->message, FUNCTION_NAME, name);
        kymo__pprof_varint(p, &p->message, FUNCTION_FILE, file);
        kymo__pprof_varint(p, &p->message, FUNCTION_LINE, c->line);
        kymo__pprof_message(p, PROFILE_FUNCTION);
        rc = p->failed ? p->failed : kymo__gather_step(&p->g);
    }
    return rc;
}

static void write_mappings(struct kymo_pprof *p, const bool *named)
{
    const struct kymo_reader *r = p->g.capture->reader;
    for (size_t i = 0; i < r->stacks.module_count; i++) {
        const struct kymo_reader_module *m = &r->stacks.modules[i];
        uint64_t path = kymo__pprof_string(p, kymo__reader_string(r, m->path));
        uint64_t build_id = kymo__pprof_string(p, kymo__reader_string(r, m->build_id));
        kymo__pprof_varint(p, &p->message, MAPPING_ID, i + 2);
        kymo__pprof_varint(p, &p->message, MAPPING_START, m->low);
        kymo__pprof_varint(p, &p->message, MAPPING_LIMIT, m->high);
        kymo__pprof_varint(p, &p->message, MAPPING_OFFSET, m->low - m->base);
        kymo__pprof_varint(p, &p->message, MAPPING_FILE, path);
        kymo__pprof_varint(p, &p->message, MAPPING_BUILD_ID, build_id);
        kymo__pprof_varint(p, &p->message, MAPPING_HAS_FUNCTIONS, named[i]);
        kymo__pprof_message(p, PROFILE_MAPPING);
    }
}

int kymo__pprof_samples(struct kymo_pprof *p)
{
    const struct kymo_tallies *t = &p->g.samples->tallies;
    const struct kymo_reader_stacks *stacks = &p->g.capture->reader->stacks;
    p->used = kymo__alloc_zeroed(stacks->frame_count + 4);
    bool *functions = kymo__alloc_zeroed(p->g.survey->callables.count + 1);
    bool *named = kymo__alloc_zeroed(stacks->module_count + 1);
    int rc = p->used && functions && named ? 0 : -ENOMEM;
    if (rc == 0 && p->g.heap) {
        rc = kymo__pprof_memory(p);
    } else if (rc == 0) {
        const struct kymo_pprof_type types[] = {
            {"samples", "count"}, {t->of_wall * 2 > t->samples ? "wall" : "cpu", "nanoseconds"}};
        kymo__pprof_head(p, types, 2, (uint64_t)t->period);
        rc = write_tallies(p);
    }
    if (rc == 0)
        rc = write_locations(p, functions, named);
    if (rc == 0)
        rc = write_functions(p, functions);
    if (rc == 0) {
        write_mappings(p, named);
        rc = p->failed;
    }
    kymo__free(functions);
    kymo__free(named);
    return rc;
}
