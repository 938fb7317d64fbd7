/* stacks.c — the public API for the stacks of a capture, frame by frame. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "decode.h"
#include "handout.h"
#include "stacknames.h"
#include "stacks.h"

static const struct kymo_stack_frame unknown = {.path = "", .build_id = "", .name = "", .file = ""};

static struct kymo_stack_frame frame_at(const struct kymo_reader *r, uint32_t index)
{
    const struct kymo_reader_frame *f = &r->stacks.frames[index];
    struct kymo_stack_frame frame = unknown;
    frame.kind = f->kind;
    if (f->kind == KYMO_FRAME_NATIVE) {
        frame.module = f->module;
        frame.address = f->address;
        if (f->module) {
            frame.path = kymo__reader_string(r, r->stacks.modules[f->module - 1].path);
            frame.build_id = kymo__reader_string(r, r->stacks.modules[f->module - 1].build_id);
        }
    } else if (f->kind == KYMO_FRAME_MANAGED) {
        frame.line = f->line;
        if (f->key < r->key_count) {
            frame.name = kymo__reader_string(r, r->keys[f->key].name);
            frame.file = kymo__reader_string(r, r->keys[f->key].file);
            frame.first_line = r->keys[f->key].line;
        }
    }
    return frame;
}

size_t kymo_capture_stack(const struct kymo_capture *capture, uint32_t stack,
                          struct kymo_stack_frame *frames, size_t count)
{
    const struct kymo_reader *r = capture->reader;
    const struct kymo_reader_stacks *s = &r->stacks;
    size_t found = 0;
    for (uint32_t at = kymo__stackdefs_find(s, stack); at; at = s->nodes[at].parent, found++)
        if (found < count)
            frames[found] = frame_at(r, s->nodes[at].frame);
    return found;
}

int kymo_capture_stack_at(const struct kymo_capture *capture, uint64_t index, uint32_t *stack)
{
    const struct kymo_reader_stacks *s = &capture->reader->stacks;
    if (index >= s->stack_count)
        return -ENOENT;
    *stack = s->stacks[index].id;
    return 0;
}

int kymo_capture_module_at(const struct kymo_capture *capture, uint32_t number,
                           struct kymo_capture_module *module)
{
    const struct kymo_reader *r = capture->reader;
    if (!number || number > r->stacks.module_count)
        return -ENOENT;
    const struct kymo_reader_module *m = &r->stacks.modules[number - 1];
    const struct kymo_capture_module full = {
        .path = kymo__reader_string(r, m->path),
        .build_id = kymo__reader_string(r, m->build_id),
        .base = m->base,
        .low = m->low,
        .high = m->high,
    };
    return kymo__hand_out(module, &full, sizeof(full));
}

size_t kymo_stack_named(const struct kymo_stack_names *names, uint32_t stack,
                        struct kymo_named_frame *frames, size_t count)
{
    const struct kymo_reader_stacks *s = &names->capture->reader->stacks;
    size_t found = 0;
    for (uint32_t at = kymo__stackdefs_find(s, stack); at; at = s->nodes[at].parent) {
        uint32_t frame = s->nodes[at].frame;
        for (size_t i = names->first[frame]; i < names->first[frame + 1]; i++, found++)
            if (found < count)
                frames[found] = names->named[i];
    }
    return found;
}

/* ---- how many samples there are ---- */

static uint64_t count_records(const struct kymo_record *records, size_t count)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < count; i++)
        samples += kymo__word_kind(records[i].word) == KYMO_SAMPLE;
    return samples;
}

static uint64_t count_run(struct kymo_reader *r, struct kymo_run *run, struct kymo_buffer *encoded,
                          struct kymo_decoder *decoder)
{
    struct kymo_record records[256];
    uint64_t samples = 0;
    int count;
    const struct kymo_live_run *live = kymo__run_live(run);
    struct kymo_block_header header;
    if (live)
        return count_records(live->records, live->length);
    if (run->damaged || kymo__reader_payload(r, run, &header, encoded) < 0)
        return 0;
    kymo__decode_block(decoder, &header, encoded->bytes, encoded->len);
    while ((count = kymo__decode_apart(decoder, records, 256)) > 0)
        samples += count_records(records, (size_t)count);
    return samples;
}

uint64_t kymo__count_samples(struct kymo_capture *capture)
{
    struct kymo_reader *r = capture->reader;
    if (capture->samples_known || !kymo__may_have_samples(capture))
        return capture->samples;
    struct kymo_buffer encoded = {0};
    struct kymo_decoder *decoder = kymo__alloc_zeroed(sizeof(*decoder));
    for (size_t i = 0; decoder && i < r->run_count; i++)
        capture->samples += count_run(r, &r->runs[i], &encoded, decoder);
    capture->samples_known = decoder != NULL;
    kymo__buffer_fini(&encoded);
    if (decoder)
        kymo__decode_fini(decoder);
    kymo__free(decoder);
    return capture->samples;
}

const char *kymo__sample_metadata(const struct kymo_capture *capture, const char *key)
{
    const char *name, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &name, &value) == 0; i++)
        if (strcmp(name, key) == 0)
            return value;
    return "";
}

bool kymo__may_have_samples(const struct kymo_capture *capture)
{
    return capture->reader->stacks.stack_count ||
           *kymo__sample_metadata(capture, KYMO__SAMPLE_PERIOD);
}
