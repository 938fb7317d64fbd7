/* chrome_slices.c — calls and spans as complete events, named as PyTorch's profiler would. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "chrome_parts.h"

enum { SLICE_MOST = 768 }; /* bytes of a slice behind its head, without its arguments */

/* ---- names ---- */

static int add_method(struct kymo_buffer *b, const char *name)
{
    const char *dot = strrchr(name, '.');
    int rc = kymo__json_text(b, "<built-in method ") | kymo__json_escaped(b, dot ? dot + 1 : name);
    if (dot) {
        char *type = kymo__alloc_text(name, (size_t)(dot - name));
        rc |= type ? kymo__json_text(b, " of ") | kymo__json_escaped(b, type) |
                         kymo__json_text(b, " object")
                   : -ENOMEM;
        kymo__free(type);
    }
    return rc | kymo__json_text(b, ">");
}

static int add_type(struct kymo_buffer *b, const struct kymo_callable *callable)
{
    bool type = callable->class == KYMO_CLASS_TYPE;
    int rc = kymo__json_text(b, type ? "<class '" : "<");
    if (*callable->file && strcmp(callable->file, "builtins") != 0)
        rc |= kymo__json_escaped(b, callable->file) | kymo__json_text(b, ".");
    rc |= kymo__json_escaped(b, callable->name);
    return rc | kymo__json_text(b, type ? "'>" : " object>");
}

/* The name of CALLABLE as Python or PyTorch's profiler would write it. */
static int add_name(struct kymo_buffer *b, const struct kymo_callable *callable)
{
    char line[16];
    int rc = 0;
    switch (callable->class) {
    case KYMO_CLASS_FUNCTION:
        snprintf(line, sizeof(line), "(%u): ", callable->line);
        if (*callable->file)
            rc = kymo__json_escaped(b, callable->file) | kymo__json_text(b, line);
        return rc | kymo__json_escaped(b, callable->name);
    case KYMO_CLASS_NATIVE:
        return kymo__json_text(b, "<built-in function ") | kymo__json_escaped(b, callable->name) |
               kymo__json_text(b, ">");
    case KYMO_CLASS_METHOD:
        return add_method(b, callable->name);
    case KYMO_CLASS_TYPE:
    case KYMO_CLASS_CALLABLE:
        return add_type(b, callable);
    case KYMO_CLASS_GC:
        return kymo__json_text(b, "Python GC");
    default:
        return kymo__json_escaped(b, callable->name);
    }
}

static const char call_head[] = ",\n{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"";
static const char span_head[] = ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"";

int kymo__chrome_heads(struct kymo_chrome *c)
{
    struct kymo_buffer b = {0};
    int rc = 0;
    c->heads = kymo__alloc_zeroed(c->callables.count * sizeof(*c->heads));
    if (!c->heads)
        return -ENOMEM;
    for (size_t i = 0; rc == 0 && i < c->callables.count; i++) {
        struct kymo_chrome_head *head = &c->heads[i];
        head->python = c->callables.all[i].class != KYMO_CLASS_NAME;
        b.len = 0;
        rc = kymo__json_text(&b, head->python ? call_head : span_head) |
             add_name(&b, &c->callables.all[i]) | kymo__json_text(&b, "\",");
        head->len = b.len;
        head->bytes = rc ? NULL : kymo__alloc_text((const char *)b.bytes, b.len);
        rc = head->bytes ? 0 : -ENOMEM;
    }
    kymo__buffer_fini(&b);
    return rc;
}

void kymo__chrome_heads_free(struct kymo_chrome *c)
{
    for (size_t i = 0; c->heads && i < c->callables.count; i++)
        kymo__free(c->heads[i].bytes);
    kymo__free(c->heads);
}

/* ---- slices ---- */

/* A frame's mark is the id of the nearest Python call at or above it, plus 1. */
int kymo__chrome_enter(void *arg, struct kymo_frame *frame, uint32_t depth)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_chrome_thread *t = thread->state;
    if (t->c->heads[kymo__callable_of(&t->c->callables, frame->key)].python)
        frame->mark = ++t->ids;
    else
        frame->mark = depth ? frame[-1].mark : 0;
    return 0;
}

static int add_number(struct kymo_crew_thread *thread, uint64_t value)
{
    char number[KYMO__JSON_NUMBER], *end = kymo__json_uint(number, value);
    return kymo__buffer_add(&thread->out, number, (size_t)(end - number));
}

static int add_text(struct kymo_crew_thread *thread, uint64_t value)
{
    const struct kymo_callables *all = &((struct kymo_chrome_thread *)thread->state)->c->callables;
    return kymo__json_text(&thread->out, "\"") |
           kymo__json_escaped(&thread->out, all->all[kymo__callable_text(all, value)].name) |
           kymo__json_text(&thread->out, "\"");
}

int kymo__chrome_args(struct kymo_crew_thread *thread, const struct kymo_call_arg *args,
                      unsigned count)
{
    struct kymo_chrome_thread *t = thread->state;
    int rc = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t index = kymo__callable_of(&t->c->callables, args[i].key);
        rc |= kymo__json_text(&thread->out, "\"") |
              kymo__json_escaped(&thread->out, t->c->callables.all[index].name) |
              kymo__json_text(&thread->out, "\":") |
              (args[i].text ? add_text(thread, args[i].value) : add_number(thread, args[i].value)) |
              kymo__json_text(&thread->out, ",");
    }
    return rc ? -ENOMEM : 0;
}

/* What is special about SLICE. */
static char *put_marks(char *at, const struct kymo_slice *slice)
{
    static const char *const leaves[] = {NULL, "yield", "unwind"};
    const struct kymo_frame *frame = slice->frame;
    if (frame->id) {
        at = KYMO__JSON_PUT(at, "\"Generator id\":");
        at = kymo__json_uint(at, frame->id);
        *at++ = ',';
    }
    if (frame->enter == 1)
        at = KYMO__JSON_PUT(at, "\"Enter\":\"resume\",");
    if (frame->enter == 2)
        at = KYMO__JSON_PUT(at, "\"Enter\":\"throw\",");
    if (slice->leave == 1 || slice->leave == 2)
        at += sprintf(at, "\"Leave\":\"%s\",", leaves[slice->leave]);
    if (slice->flags & KYMO__OPEN_AT_START)
        at = KYMO__JSON_PUT(at, "\"started\":false,");
    if (slice->flags & KYMO__OPEN_AT_END)
        at = KYMO__JSON_PUT(at, "\"finished\":false,");
    if (slice->flags & KYMO__END_LOST)
        at = KYMO__JSON_PUT(at, "\"End lost\":true,");
    return at;
}

static char *put_ids(char *at, const struct kymo_crew_thread *thread,
                     const struct kymo_slice *slice)
{
    const struct kymo_frame *frame = slice->frame;
    at = KYMO__JSON_PUT(at, "\"Python thread\":");
    at = kymo__json_uint(at, thread->info.index);
    at = KYMO__JSON_PUT(at, ",\"Python id\":");
    at = kymo__json_uint(at, frame->mark - 1);
    *at++ = ',';
    uint64_t parent = slice->depth ? frame[-1].mark : 0;
    if (parent) {
        at = KYMO__JSON_PUT(at, "\"Python parent id\":");
        at = kymo__json_uint(at, parent - 1);
        *at++ = ',';
    }
    return at;
}

/* A span that goes on beyond the call in which it began is told in parts. Who counts spans
   by category or by how their names begin must find one, so all but the last have others. */
static char *put_part(char *at, const struct kymo_chrome_head *head)
{
    const size_t before = sizeof(span_head) - 1;
    at = KYMO__JSON_PUT(at, ",\n{\"ph\":\"X\",\"cat\":\"user_annotation_part\",\"name\":\"part: ");
    return kymo__json_put(at, head->bytes + before, head->len - before);
}

int kymo__chrome_leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_chrome_thread *t = thread->state;
    const struct kymo_frame *frame = slice->frame;
    const struct kymo_chrome_head *head =
        &t->c->heads[kymo__callable_of(&t->c->callables, frame->key)];
    char *at = kymo__chrome_room(thread, head->len + SLICE_MOST);
    if (!at)
        return -ENOMEM;
    bool part = !head->python && slice->leave == 1 && !frame->id;
    at = kymo__unlikely(part) ? put_part(at, head) : kymo__json_put(at, head->bytes, head->len);
    at = kymo__json_put(at, t->place, t->place_len);
    at = kymo__json_time(at, kymo__ns_add(frame->start, t->c->shift));
    at = KYMO__JSON_PUT(at, ",\"dur\":");
    at = kymo__json_time(at, slice->end - frame->start);
    at = KYMO__JSON_PUT(at, ",\"args\":{");
    if (head->python)
        at = put_ids(at, thread, slice);
    if (kymo__unlikely(frame->id || frame->enter || slice->leave || slice->flags))
        at = put_marks(at, slice);
    if (kymo__unlikely(slice->arg_count)) {
        kymo__chrome_done(thread, at);
        if (kymo__chrome_args(thread, slice->args, slice->arg_count) < 0)
            return -ENOMEM;
        at = kymo__chrome_room(thread, 8);
        if (!at)
            return -ENOMEM;
    }
    at -= at[-1] == ','; /* the last comma */
    kymo__chrome_done(thread, KYMO__JSON_PUT(at, "}}"));
    return 0;
}
