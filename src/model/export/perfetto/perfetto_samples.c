/* perfetto_samples.c — samples as packets of Perfetto's own profiler, with their stacks.

   Definitions are written into a sequence when first needed: callstack N + 1 is node N of the
   reader, frame F + 1 a named frame, name C + 1 a callable. Mapping M is module M. Readers require
   a mapping for every frame, so Python functions get one for their file, numbered after the
   modules. */
#include <errno.h>

#include "alloc.h"
#include "perfetto_parts.h"
#include "stacks.h"

enum {
    INTERNED_FUNCTION = 5,
    INTERNED_FRAME = 6,
    INTERNED_STACK = 7,
    INTERNED_BUILD_ID = 16,
    INTERNED_PATH = 17,
    INTERNED_MAPPING = 19,

    FRAME_ID = 1,
    FRAME_FUNCTION = 2,
    FRAME_MAPPING = 3,
    FRAME_PC = 4,

    STACK_ID = 1,
    STACK_FRAME = 2,

    MAPPING_ID = 1,
    MAPPING_BUILD_ID = 2,
    MAPPING_OFFSET = 8,
    MAPPING_START = 4,
    MAPPING_END = 5,
    MAPPING_PATH = 7,

    PACKET_SAMPLE = 66,
    SAMPLE_PID = 2,
    SAMPLE_TID = 3,
    SAMPLE_STACK = 4,
    SAMPLE_MODE = 5,
    MODE_USER = 2,
};

/* What a sequence already defines about stacks. */
struct kymo_perfetto_known {
    bool *nodes, *frames, *callables, *mappings; /* by node, named frame, callable, mapping */
    struct kymo_shown shown[KYMO__SHOWN_MOST + 1];
};

static struct kymo_perfetto_known *known_new(const struct kymo_perfetto_thread *t)
{
    const struct kymo_samples *s = t->p->samples;
    const struct kymo_reader_stacks *stacks = &s->names.capture->reader->stacks;
    size_t callables = s->survey->callables.count;
    struct kymo_perfetto_known *known = kymo__alloc_zeroed(sizeof(*known));
    if (!known)
        return NULL;
    known->nodes = kymo__alloc_zeroed(stacks->node_count + 1);
    known->frames = kymo__alloc_zeroed(s->named + 3);
    known->callables = kymo__alloc_zeroed(callables + 1);
    known->mappings = kymo__alloc_zeroed(stacks->module_count + callables + 2);
    if (known->nodes && known->frames && known->callables && known->mappings)
        return known;
    kymo__perfetto_known_free(known);
    return NULL;
}

void kymo__perfetto_known_free(struct kymo_perfetto_known *known)
{
    if (!known)
        return;
    kymo__free(known->nodes);
    kymo__free(known->frames);
    kymo__free(known->callables);
    kymo__free(known->mappings);
    kymo__free(known);
}

static void add_text(struct kymo_proto *out, unsigned field, uint64_t id, const char *text)
{
    size_t entry = kymo__proto_open(out, field);
    kymo__proto_uint(out, NAME_ID, id);
    kymo__proto_text(out, NAME_TEXT, text);
    kymo__proto_close(out, entry);
}

static void add_mapping(struct kymo_proto *out, const struct kymo_reader *r, uint64_t id,
                        const char *file)
{
    const struct kymo_reader_module *m =
        id <= r->stacks.module_count ? &r->stacks.modules[id - 1] : NULL;
    uint8_t build_id[KYMO__MODULE_ID_MOST];
    uint32_t len = m ? kymo__build_id(kymo__reader_string(r, m->build_id), build_id) : 0;
    add_text(out, INTERNED_PATH, id, m ? kymo__reader_string(r, m->path) : file);
    if (len) {
        size_t entry = kymo__proto_open(out, INTERNED_BUILD_ID);
        kymo__proto_uint(out, NAME_ID, id);
        kymo__proto_bytes(out, NAME_TEXT, build_id, len);
        kymo__proto_close(out, entry);
    }
    size_t mapping = kymo__proto_open(out, INTERNED_MAPPING);
    kymo__proto_uint(out, MAPPING_ID, id);
    if (len)
        kymo__proto_uint(out, MAPPING_BUILD_ID, id);
    if (m) {
        kymo__proto_uint(out, MAPPING_OFFSET, m->low - m->base);
        kymo__proto_uint(out, MAPPING_START, m->low);
        kymo__proto_uint(out, MAPPING_END, m->high);
    }
    kymo__proto_uint(out, MAPPING_PATH, id);
    kymo__proto_close(out, mapping);
}

/* Define what SHOWN needs, unless the sequence has it. */
static void add_frame(struct kymo_proto *out, const struct kymo_samples *s,
                      struct kymo_perfetto_known *known, const struct kymo_shown *shown)
{
    const struct kymo_reader *r = s->names.capture->reader;
    const struct kymo_reader_frame *f =
        shown->named < s->named ? &r->stacks.frames[shown->frame] : &r->stacks.frames[0];
    uint32_t callable = s->callable_of[shown->named];
    bool native = f->kind == KYMO_FRAME_NATIVE;
    uint64_t mapping =
        native && f->module ? f->module : r->stacks.module_count + 1 + (uint64_t)callable;
    if (known->frames[shown->named])
        return;
    known->frames[shown->named] = true;
    if (!known->callables[callable])
        add_text(out, INTERNED_FUNCTION, (uint64_t)callable + 1,
                 s->survey->callables.all[callable].name);
    known->callables[callable] = true;
    if (!known->mappings[mapping])
        add_mapping(out, r, mapping, s->survey->callables.all[callable].file);
    known->mappings[mapping] = true;
    size_t frame = kymo__proto_open(out, INTERNED_FRAME);
    kymo__proto_uint(out, FRAME_ID, (uint64_t)shown->named + 1);
    kymo__proto_uint(out, FRAME_FUNCTION, (uint64_t)callable + 1);
    kymo__proto_uint(out, FRAME_MAPPING, mapping);
    kymo__proto_uint(out, FRAME_PC, native ? f->address - 1 : f->line);
    kymo__proto_close(out, frame);
}

static void add_stack(struct kymo_proto *out, struct kymo_perfetto_thread *t, uint32_t node)
{
    const struct kymo_samples *s = t->p->samples;
    struct kymo_shown *shown = t->sampled->shown;
    size_t count = kymo__samples_shown(s, node, shown);
    size_t packet = kymo__perfetto_packet(out, t),
           interned = kymo__proto_open(out, PACKET_INTERNED);
    for (size_t i = 0; i < count; i++)
        add_frame(out, s, t->sampled, &shown[i]);
    size_t stack = kymo__proto_open(out, INTERNED_STACK);
    kymo__proto_uint(out, STACK_ID, (uint64_t)node + 1);
    while (count-- > 0)
        kymo__proto_uint(out, STACK_FRAME, (uint64_t)shown[count].named + 1);
    kymo__proto_close(out, stack);
    kymo__proto_close(out, interned);
    kymo__proto_close(out, packet);
    t->sampled->nodes[node] = true;
}

int kymo__perfetto_sample(struct kymo_proto *out, struct kymo_crew_thread *thread,
                          const struct kymo_event *event)
{
    struct kymo_perfetto_thread *t = thread->state;
    if (!t->p->samples)
        return 0;
    uint32_t node = kymo__stackdefs_find(&t->p->samples->names.capture->reader->stacks,
                                         kymo__sample_stack(event->id));
    if (!t->sampled && !(t->sampled = known_new(t)))
        return -ENOMEM;
    if (!t->sampled->nodes[node])
        add_stack(out, t, node);
    size_t packet = kymo__perfetto_packet_at(out, t, event->time);
    size_t sample = kymo__proto_open(out, PACKET_SAMPLE);
    kymo__proto_uint(out, SAMPLE_PID, (uint64_t)thread->pid);
    kymo__proto_uint(out, SAMPLE_TID, thread->tid);
    kymo__proto_uint(out, SAMPLE_STACK, (uint64_t)node + 1);
    kymo__proto_uint(out, SAMPLE_MODE, MODE_USER);
    kymo__proto_close(out, sample);
    kymo__proto_close(out, packet);
    return out->error;
}
