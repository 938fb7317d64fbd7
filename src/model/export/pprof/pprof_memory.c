/* pprof_memory.c — memory as a pprof profile, with the four values that Go's heap profiles have, in
   the same order. "In use" is what was alive at the chosen time, the peak unless another was
   asked for. */
#include <errno.h>

#include "alloc.h"
#include "fields.h"
#include "pprof_parts.h"

static void add_value(struct kymo_pprof *p, uint64_t value)
{
    if (kymo__buffer_add_varint(&p->inner, value) < 0)
        p->failed = -ENOMEM;
}

static void add_amount(struct kymo_pprof *p, struct kymo_heap_amount amount)
{
    add_value(p, (amount.units + KYMO__HEAP_UNIT / 2) / KYMO__HEAP_UNIT);
    add_value(p, amount.bytes);
}

static void add_label(struct kymo_pprof *p, uint64_t key, const char *value)
{
    uint64_t text = kymo__pprof_string(p, value);
    p->inner.len = 0;
    kymo__pprof_varint(p, &p->inner, LABEL_KEY, key);
    kymo__pprof_varint(p, &p->inner, LABEL_STR, text);
    kymo__pprof_bytes(p, &p->message, SAMPLE_LABEL, p->inner.bytes, p->inner.len);
}

int kymo__pprof_memory(struct kymo_pprof *p)
{
    static const struct kymo_pprof_type types[] = {{"alloc_objects", "count"},
                                                   {"alloc_space", "bytes"},
                                                   {"inuse_objects", "count"},
                                                   {"inuse_space", "bytes"}};
    const struct kymo_heap *h = p->g.heap;
    const struct kymo_reader *r = p->g.capture->reader;
    struct kymo_shown *shown = kymo__alloc((KYMO__SHOWN_MOST + 1) * sizeof(*shown));
    int rc = shown ? 0 : -ENOMEM;
    kymo__pprof_head(p, types, 4, h->rate ? h->rate : 1);
    uint64_t function = kymo__pprof_string(p, "function");
    uint64_t category = kymo__pprof_string(p, "category");
    for (uint32_t i = 0; rc == 0 && i < h->replay.sites.count; i++) {
        const struct kymo_heap_site *site = &h->replay.sites.all[i];
        struct kymo_heap_amount all = kymo__heap_amount(h, KYMO_HEAP_ALL, i);
        struct kymo_heap_amount used = kymo__heap_amount(h, p->g.options->set, i);
        if (!kymo__heap_counts(h, i) || !(all.units || used.units || used.bytes))
            continue;
        kymo__pprof_locations(p, kymo__stackdefs_find(&r->stacks, site->stack), shown);
        p->inner.len = 0;
        add_amount(p, all);
        add_amount(p, used);
        kymo__pprof_bytes(p, &p->message, SAMPLE_VALUE, p->inner.bytes, p->inner.len);
        add_label(p, function, kymo__key_name(r, site->function));
        add_label(p, category, kymo_heap_category_word(site->category));
        kymo__pprof_message(p, PROFILE_SAMPLE);
        rc = p->failed ? p->failed : kymo__gather_step(&p->g);
    }
    kymo__free(shown);
    return rc;
}
