/* chrome_slices.c — calls and spans as complete events. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "chrome_ids.h"
#include "chrome_parts.h"
#include "fields.h"

enum { SLICE_MOST = 768 }; /* bytes of a slice after its head, without its arguments */

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

/* Write the name of CALLABLE for people. A narrow box shows only the start, so the function comes
   first and its location after it. */
static int add_plain_name(struct kymo_buffer *b, const struct kymo_callable *callable)
{
    char line[16] = "";
    if (callable->class == KYMO_CLASS_GC)
        return kymo__json_text(b, "Python GC");
    int rc = kymo__json_escaped(b, callable->name);
    if (callable->class == KYMO_CLASS_NAME || !*callable->file)
        return rc;
    if (callable->line)
        snprintf(line, sizeof(line), ":%u", callable->line);
    return rc | kymo__json_text(b, " (") | kymo__json_escaped(b, callable->file) |
           kymo__json_text(b, line) | kymo__json_text(b, ")");
}

/* NAME without the classes and functions around it. */
static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot[1] ? dot + 1 : name;
}

/* Write "file(line): name", and into HEAD where the line is. */
static int add_function_name(struct kymo_buffer *b, const struct kymo_chrome *c,
                             const struct kymo_callable *callable, struct kymo_chrome_head *head)
{
    char line[16];
    int rc = kymo__json_escaped(b, kymo__chrome_file(c, callable->file)) | kymo__json_text(b, "(");
    head->line_at = b->len;
    head->line_len = (size_t)snprintf(line, sizeof(line), "%u", callable->line);
    return rc | kymo__json_text(b, line) | kymo__json_text(b, "): ") |
           kymo__json_escaped(b, last_part(callable->name));
}

/* Write the name of CALLABLE, whose head is HEAD, as PyTorch's profiler would. */
static int add_kineto_name(struct kymo_buffer *b, const struct kymo_chrome *c,
                           const struct kymo_callable *callable, struct kymo_chrome_head *head)
{
    switch (callable->class) {
    case KYMO_CLASS_FUNCTION:
        if (!*callable->file) /* named by the program: "nn.Module: Linear_0" */
            return kymo__json_escaped(b, callable->name);
        return add_function_name(b, c, callable, head);
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
static const char operator_head[] = ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"";
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
        uint32_t class = c->callables.all[i].class;
        const struct kymo_callable *callable = &c->callables.all[i];
        head->python = class != KYMO_CLASS_NAME && class != KYMO_CLASS_OPERATOR;
        head->object = class == KYMO_CLASS_CALLABLE;
        head->of_object = kymo__callable_runs_object(callable);
        b.len = 0;
        rc = kymo__json_text(&b, head->python                   ? call_head
                                 : class == KYMO_CLASS_OPERATOR ? operator_head
                                                                : span_head) |
             (c->kineto ? add_kineto_name(&b, c, callable, head) : add_plain_name(&b, callable)) |
             kymo__json_text(&b, "\",");
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

static const struct kymo_chrome_head *head_of(const struct kymo_chrome *c,
                                              const struct kymo_open_call *frame)
{
    return &c->heads[kymo__callable_of(&c->callables, frame->key)];
}

bool kymo__chrome_hides_object(const struct kymo_chrome *c, const struct kymo_open_call *frame)
{
    const struct kymo_open_call *around = frame - 1;
    return head_of(c, frame)->of_object && head_of(c, around)->object &&
           frame->number == around->number + 1;
}

/* A frame's mark is the number of the nearest Python call at or above it that is written, or 0. */
int kymo__chrome_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_chrome_thread *t = thread->state;
    kymo__op_track_enter(&t->ops, depth);
    if (head_of(t->c, frame)->python)
        frame->mark = frame->number;
    else
        frame->mark = depth ? frame[-1].mark : 0;
    if (t->c->kineto && depth && kymo__chrome_hides_object(t->c, frame))
        frame[-1].mark = depth > 1 ? frame[-2].mark : 0;
    return 0;
}

int kymo__chrome_args(struct kymo_crew_thread *thread, const struct kymo_call_arg *args,
                      unsigned count)
{
    struct kymo_chrome_thread *t = thread->state;
    int rc = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t index = kymo__callable_of(&t->c->callables, args[i].key);
        if (kymo__op_owns_arg(&t->c->ops, &args[i]))
            continue;
        rc |= kymo__json_text(&thread->out, "\"") |
              kymo__json_escaped(&thread->out, t->c->callables.all[index].name) |
              kymo__json_text(&thread->out, "\":") |
              kymo__arg_json(&thread->out, thread->capture->reader, &args[i]) |
              kymo__json_text(&thread->out, ",");
    }
    return rc ? -ENOMEM : 0;
}

/* Write what is unusual about SLICE. */
static char *put_marks(char *at, const struct kymo_slice *slice)
{
    const struct kymo_open_call *frame = slice->frame;
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
        at += sprintf(at, "\"Leave\":\"%s\",", kymo_detail_word(KYMO_LEAVE, slice->leave));
    if (slice->flags & KYMO__OPEN_AT_START)
        at = KYMO__JSON_PUT(at, "\"started\":false,");
    if (slice->flags & KYMO__OPEN_AT_END)
        at = KYMO__JSON_PUT(at, "\"finished\":false,");
    if (slice->flags & KYMO__END_LOST)
        at = KYMO__JSON_PUT(at, "\"End lost\":true,");
    return at;
}

/* The id of the call NUMBER of THREAD. Ids of several threads alternate, so that none depends on
   how much the others recorded; Kineto's have no gaps. */
static char *put_id(char *at, const struct kymo_crew_thread *thread, uint64_t number)
{
    const struct kymo_chrome *c = ((const struct kymo_chrome_thread *)thread->state)->c;
    const uint32_t index = thread->info.index;
    return kymo__json_uint(at, c->ids ? kymo__chrome_python_id(c->ids, index, number)
                                      : (number - 1) * c->threads + index);
}

static char *put_ids(char *at, const struct kymo_crew_thread *thread,
                     const struct kymo_slice *slice)
{
    const struct kymo_open_call *frame = slice->frame;
    const struct kymo_chrome_thread *t = thread->state;
    if (!t->c->kineto) {
        at = KYMO__JSON_PUT(at, "\"Python thread\":");
        at = kymo__json_uint(at, thread->info.index);
        *at++ = ',';
    }
    at = KYMO__JSON_PUT(at, "\"Python id\":");
    at = put_id(at, thread, frame->mark);
    *at++ = ',';
    uint64_t parent = slice->depth ? frame[-1].mark : 0;
    if (parent) {
        at = KYMO__JSON_PUT(at, "\"Python parent id\":");
        at = put_id(at, thread, parent);
        *at++ = ',';
    }
    return at;
}

/* Kineto numbers events. FRAME is a CALL of a function or not. */
static char *put_index(char *at, const struct kymo_crew_thread *thread,
                       const struct kymo_open_call *frame, bool call)
{
    const struct kymo_chrome_thread *t = thread->state;
    at = KYMO__JSON_PUT(at, "\"Ev Idx\":");
    at =
        kymo__json_uint(at, kymo__chrome_index(t->c->ids, thread->info.index, frame->number, call));
    *at++ = ',';
    return at;
}

/* Where the name begins in the head of a span or an operator. */
static size_t name_at(bool is_op)
{
    return is_op ? sizeof(operator_head) - 1 : sizeof(span_head) - 1;
}

/* A profiler's step often begins at the end of a function that the loop calls. Its first part says
   nothing, and tools that look for "ProfilerStep#" anywhere in a name would count it. */
static bool is_step(const struct kymo_chrome_head *head, size_t name)
{
    static const char step[] = "ProfilerStep#";
    return head->len > name + sizeof(step) &&
           memcmp(head->bytes + name, step, sizeof(step) - 1) == 0;
}

/* A span that outlives the call in which it began is written in parts. Tools that count spans by
   category or name prefix must find exactly one, so all parts but the last use other ones. */
static char *put_part(char *at, const struct kymo_chrome_head *head, size_t name)
{
    at = KYMO__JSON_PUT(at, ",\n{\"ph\":\"X\",\"cat\":\"user_annotation_part\",\"name\":\"part: ");
    return kymo__json_put(at, head->bytes + name, head->len - name);
}

/* The overload of OP, ".Tensor", as long as it is a plain word; *LEN is 0 if there is none. */
static const char *overload_of(const struct kymo_opcall *op, size_t *len)
{
    enum { MOST = 100 };
    size_t name = strlen(op->name);
    const char *text = op->schema ? op->schema : "";
    *len = 0;
    if (strncmp(text, op->name, name) != 0 || text[name] != '.')
        return "";
    size_t word = strspn(text + name + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_");
    *len = word && word < MOST ? word + 1 : 0;
    return text + name;
}

/* An operator of user scope is a span. */
static char *put_operator(char *at, const struct kymo_chrome_head *head,
                          const struct kymo_opcall *op, bool overloads)
{
    const size_t before = name_at(true);
    if (op->scope != KYMO__OP_USER_SCOPE && overloads) {
        const size_t end = 2; /* the quote and the comma after the name */
        size_t len;
        const char *overload = overload_of(op, &len);
        at = kymo__json_put(at, head->bytes, head->len - end);
        at = kymo__json_put(at, overload, len);
        return kymo__json_put(at, head->bytes + head->len - end, end);
    }
    if (op->scope != KYMO__OP_USER_SCOPE)
        return kymo__json_put(at, head->bytes, head->len);
    at = KYMO__JSON_PUT(at, span_head);
    return kymo__json_put(at, head->bytes + before, head->len - before);
}

/* Write the arguments of operator OP, which may be any length. */
static char *put_op_args(char *at, struct kymo_crew_thread *thread, const struct kymo_slice *slice,
                         const struct kymo_opcall *op)
{
    uint64_t parent = slice->depth ? slice->frame[-1].mark : 0;
    if (parent && op->scope != KYMO__OP_USER_SCOPE) {
        at = KYMO__JSON_PUT(at, "\"Python parent id\":");
        at = put_id(at, thread, parent);
        *at++ = ',';
    }
    kymo__chrome_done(thread, at);
    return kymo__chrome_op(thread, op) < 0 ? NULL : kymo__chrome_room(thread, SLICE_MOST);
}

int kymo__chrome_leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_chrome_thread *t = thread->state;
    const struct kymo_open_call *frame = slice->frame;
    const struct kymo_chrome_head *head = head_of(t->c, frame);
    const struct kymo_opcall *op = NULL;
    if (!head->python || kymo__unlikely(kymo__op_track_is_open(&t->ops))) {
        int rc = kymo__op_track_leave(&t->ops, &t->c->ops, thread->info.index, slice, &op);
        if (rc < 0)
            return rc;
    }
    if (kymo__unlikely(head->object && frame->mark != frame->number))
        return 0; /* hidden */
    char *at = kymo__chrome_room(thread, head->len + KYMO__CHROME_LINE + SLICE_MOST);
    if (!at)
        return -ENOMEM;
    struct kymo_call_lines lines = {.line = -1};
    if (kymo__unlikely(slice->arg_count) && head->python && t->c->kineto)
        lines = kymo__call_lines(&t->c->callables, slice, t->c->first_lines);
    bool is_op = op && kymo__op_is(&t->c->ops.keys, frame->key);
    bool part = !head->python && slice->leave == KYMO__LEAVE_YIELD && !frame->id;
    if (kymo__unlikely(part) && is_step(head, name_at(is_op)))
        return 0;
    if (kymo__unlikely(part))
        at = put_part(at, head, name_at(is_op));
    else if (is_op)
        at = put_operator(at, head, op, t->c->overloads);
    else
        at = kymo__chrome_put_head(at, head, lines.line);
    at = kymo__json_put(at, t->place, t->place_len);
    at = kymo__json_time(at, kymo__ns_add(frame->start, t->c->shift));
    at = KYMO__JSON_PUT(at, ",\"dur\":");
    at = kymo__json_time(at, slice->end - frame->start);
    at = KYMO__JSON_PUT(at, ",\"args\":{");
    if (head->python)
        at = put_ids(at, thread, slice);
    else if (op && !part && t->c->linked && !(at = put_op_args(at, thread, slice, op)))
        return -ENOMEM;
    if (t->c->kineto && !part)
        at = put_index(at, thread, frame, head->python);
    if (kymo__unlikely(frame->id || frame->enter || slice->leave || slice->flags))
        at = put_marks(at, slice);
    if (kymo__unlikely(slice->arg_count)) {
        kymo__chrome_done(thread, at);
        int rc = head->python && t->c->kineto
                     ? kymo__chrome_call_args(thread, slice, lines.from)
                     : kymo__chrome_args(thread, slice->args, slice->arg_count);
        if (rc < 0)
            return rc;
        at = kymo__chrome_room(thread, 8);
        if (!at)
            return -ENOMEM;
    }
    at -= at[-1] == ','; /* the last comma */
    kymo__chrome_done(thread, KYMO__JSON_PUT(at, "}}"));
    const struct kymo_op_arrow *arrow =
        is_op ? kymo__op_arrow_at(&t->c->ops, thread->info.index, frame->number) : NULL;
    return arrow ? kymo__chrome_arrow(thread, arrow, frame->start) : 0;
}
