/* pstats.c — see pstats.h.

   The file is one dictionary as Python's marshal writes it:

       {(file, line, name): (primitive calls, calls, self, total, {caller: figures}), ...}

   Times are in seconds. A caller's figures are (calls, primitive calls, self, total): the two
   counts are swapped, as in cProfile's output. Only marshal types that every Python 3 reads are
   used: { up to 0 a dictionary, ( a tuple and its length, u a text and its length in UTF-8, i a
   32-bit int, l a long in 15-bit digits, g a double. All are little-endian. */
#include "pstats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "buffer.h"
#include "edges.h"
#include "gather.h"
#include "strtab.h"
#include "utf8.h"

enum { FIGURES_MOST = 256, DIGIT_BITS = 15 };

struct pstats {
    struct kymo_gathered g;
    struct kymo_edges edges;
    struct kymo_strtab keys; /* as in the file; for callable C: key_of[C] */
    uint32_t *key_of;        /* 0 for callables that were not called */
    struct kymo_buffer label, key;
};

/* ---- marshal ---- */

static uint8_t *put_u32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        *at++ = (uint8_t)(v >> 8 * i);
    return at;
}

static uint8_t *put_uint(uint8_t *at, uint64_t v)
{
    if (v <= INT32_MAX) {
        *at++ = 'i';
        return put_u32(at, (uint32_t)v);
    }
    uint32_t digits = 0;
    for (uint64_t rest = v; rest; rest >>= DIGIT_BITS)
        digits++;
    *at++ = 'l';
    at = put_u32(at, digits);
    for (; v; v >>= DIGIT_BITS) {
        unsigned digit = (unsigned)(v & ((1u << DIGIT_BITS) - 1));
        *at++ = (uint8_t)digit;
        *at++ = (uint8_t)(digit >> 8);
    }
    return at;
}

static uint8_t *put_seconds(uint8_t *at, kymo_ns ns)
{
    double seconds = (double)ns / 1e9;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof(bits));
    *at++ = 'g';
    for (int i = 0; i < 8; i++)
        *at++ = (uint8_t)(bits >> 8 * i);
    return at;
}

static int add_text(struct kymo_buffer *b, const char *text, size_t len)
{
    uint8_t head[5] = {'u'};
    put_u32(head + 1, (uint32_t)len);
    int rc = kymo__buffer_add(b, head, sizeof(head));
    return rc == 0 && len ? kymo__buffer_add(b, text, len) : rc;
}

/* ---- keys ---- */

/* Add LEN bytes of TEXT, replacing what is not UTF-8. */
static int add_clean(struct kymo_buffer *b, const char *text, size_t len)
{
    const char *end = text + len;
    int rc = 0;
    while (rc == 0 && text < end) {
        char bytes[4];
        int n = kymo__utf8_encode(kymo__utf8_next(&text), bytes);
        rc = kymo__buffer_add(b, bytes, (size_t)n);
    }
    return rc;
}

static int add_plain(struct kymo_buffer *b, const char *text)
{
    return add_clean(b, text, strlen(text));
}

/* Add MODULE and a dot; "builtins" only if BUILTINS. */
static int add_module(struct kymo_buffer *b, const char *module, bool builtins)
{
    if (!*module || (!builtins && strcmp(module, "builtins") == 0))
        return 0;
    return add_plain(b, module) | add_plain(b, ".");
}

/* Add the name that cProfile would use for CALLABLE, which is not a Python function. */
static int add_label(struct kymo_buffer *b, const struct kymo_callable *callable)
{
    const char *name = callable->name, *file = callable->file, *dot = strrchr(name, '.');
    switch (callable->class) {
    case KYMO_CLASS_METHOD:
        if (!dot)
            break;
        return add_plain(b, "<method '") | add_plain(b, dot + 1) | add_plain(b, "' of '") |
               add_module(b, file, false) | add_clean(b, name, (size_t)(dot - name)) |
               add_plain(b, "' objects>");
    case KYMO_CLASS_TYPE:
        return add_plain(b, "<class '") | add_module(b, file, false) | add_plain(b, name) |
               add_plain(b, "'>");
    case KYMO_CLASS_CALLABLE:
        return add_plain(b, "<") | add_module(b, file, false) | add_plain(b, name) |
               add_plain(b, " object>");
    case KYMO_CLASS_NATIVE:
        break;
    default:
        return add_plain(b, name);
    }
    return add_plain(b, "<built-in method ") | add_module(b, file, true) | add_plain(b, name) |
           add_plain(b, ">");
}

static int make_key(struct pstats *p, uint32_t index)
{
    const struct kymo_callable *callable = &p->g.survey->callables.all[index];
    bool python = callable->class == KYMO_CLASS_FUNCTION;
    size_t plain = 0;
    int added = 0;
    p->label.len = 0;
    int rc = python ? add_plain(&p->label, callable->name) : add_label(&p->label, callable);
    plain = p->label.len;
    for (unsigned again = 1; rc == 0 && !added; again++) {
        /* Keep callables apart that differ in nothing a key can express. */
        char number[16];
        snprintf(number, sizeof(number), " (%u)", again);
        p->label.len = plain;
        rc |= again > 1 ? add_plain(&p->label, number) : 0;
        uint8_t head[] = {'(', 3, 0, 0, 0}, line[32];
        p->key.len = 0;
        rc |= kymo__buffer_add(&p->key, head, sizeof(head));
        if (python) {
            struct kymo_buffer file = {0};
            rc |= add_plain(&file, callable->file) |
                  add_text(&p->key, (const char *)file.bytes, file.len);
            kymo__buffer_fini(&file);
        } else {
            rc |= add_text(&p->key, "~", 1);
        }
        rc |= kymo__buffer_add(&p->key, line,
                               (size_t)(put_uint(line, python ? callable->line : 0) - line));
        rc |= add_text(&p->key, (const char *)p->label.bytes, p->label.len);
        if (rc < 0)
            break;
        int64_t id = kymo__strtab_add(&p->keys, (const char *)p->key.bytes, p->key.len, &added);
        if (id < 0)
            return (int)id;
        p->key_of[index] = (uint32_t)id;
    }
    return rc < 0 ? -ENOMEM : 0;
}

static void write_key(struct pstats *p, uint32_t callable)
{
    const struct kymo_str *key = kymo__strtab_get(&p->keys, p->key_of[callable]);
    kymo__outfile_add(p->g.out, key->text, key->len);
}

static int make_keys(struct pstats *p)
{
    const struct kymo_survey *s = p->g.survey;
    p->key_of = kymo__alloc_zeroed(s->callables.count * sizeof(*p->key_of));
    int rc = p->key_of ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < s->callables.count; i++)
        if (s->functions.of[i] && kymo__activations(s->functions.of[i]))
            rc = make_key(p, (uint32_t)i);
    return rc;
}

/* ---- figures ---- */

static void write_caller(struct pstats *p, const struct kymo_edge *edge)
{
    write_key(p, edge->caller);
    uint8_t *at = kymo__outfile_room(p->g.out, FIGURES_MOST);
    *at++ = '(';
    at = put_u32(at, 4);
    at = put_uint(at, edge->calls);
    at = put_uint(at, edge->primitive);
    at = put_seconds(at, edge->self);
    at = put_seconds(at, edge->total);
    p->g.out->used = (size_t)(at - p->g.out->bytes);
}

/* Write function INDEX. *NEXT is the first edge that leads to it, or a later one. */
static void write_function(struct pstats *p, uint32_t index, size_t *next)
{
    const struct kymo_function_cost *cost = p->g.survey->functions.of[index];
    write_key(p, index);
    uint8_t *at = kymo__outfile_room(p->g.out, FIGURES_MOST);
    *at++ = '(';
    at = put_u32(at, 5);
    at = put_uint(at, cost->primitive);
    at = put_uint(at, cost->calls);
    at = put_seconds(at, cost->self);
    at = put_seconds(at, cost->total);
    *at++ = '{';
    p->g.out->used = (size_t)(at - p->g.out->bytes);
    for (; *next < p->edges.count && p->edges.all[*next].callee == index; ++*next)
        write_caller(p, &p->edges.all[*next]);
    kymo__outfile_add(p->g.out, "0", 1);
}

static int write_functions(struct pstats *p)
{
    size_t next = 0;
    int rc = 0;
    kymo__outfile_add(p->g.out, "{", 1);
    for (uint32_t i = 0; rc == 0 && i < p->g.survey->callables.count; i++) {
        if (p->key_of[i])
            write_function(p, i, &next);
        rc = kymo__gather_step(&p->g);
    }
    kymo__outfile_add(p->g.out, "0", 1);
    return rc;
}

int kymo__pstats_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out)
{
    struct pstats p = {0};
    int rc = kymo__gather(&p.g, capture, options, out, false);
    if (rc == 0)
        rc = kymo__gather_calls_only(&p.g);
    if (rc == 0)
        rc = kymo__edges_init(&p.edges, &p.g.survey->tree);
    if (rc == 0)
        rc = make_keys(&p);
    if (rc == 0) {
        kymo__edges_by_callee(&p.edges);
        rc = write_functions(&p);
    }
    kymo__free(p.key_of);
    kymo__buffer_fini(&p.label);
    kymo__buffer_fini(&p.key);
    kymo__strtab_fini(&p.keys);
    kymo__edges_fini(&p.edges);
    kymo__gather_fini(&p.g);
    return rc;
}
