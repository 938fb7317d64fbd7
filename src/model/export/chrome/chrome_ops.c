/* chrome_ops.c — what operators have besides a slice: arguments, and arrows to their backward
   operators. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "chrome_parts.h"
#include "fields.h"

static int add_argument(void *arg, const struct kymo_op_arg *value)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_buffer *b = &thread->out;
    char number[24];
    int rc =
        kymo__json_text(b, "\"") | kymo__json_escaped(b, value->name) | kymo__json_text(b, "\":");
    const struct kymo_call_arg text = {
        .type = KYMO_FIELD_TEXT, .bytes = (const uint8_t *)value->text, .length = value->length};
    switch (value->type) {
    case KYMO__OP_ARG_INT:
        snprintf(number, sizeof(number), "%" PRId64, value->integer);
        rc |= kymo__json_text(b, number);
        break;
    case KYMO__OP_ARG_TEXT:
        rc |= kymo__arg_json(b, thread->capture->reader, &text);
        break;
    case KYMO__OP_ARG_JSON:
        rc |= kymo__buffer_add(b, value->text, value->length);
        break;
    }
    return rc | kymo__json_text(b, ",") ? -ENOMEM : 0;
}

int kymo__chrome_op(struct kymo_crew_thread *thread, const struct kymo_opcall *op)
{
    return kymo__op_args(op, add_argument, thread);
}

int kymo__chrome_arrow(struct kymo_crew_thread *thread, const struct kymo_op_arrow *arrow,
                       kymo_ns when)
{
    const struct kymo_chrome_thread *t = thread->state;
    enum { ARROW_MOST = 256 };
    char *at = kymo__chrome_room(thread, ARROW_MOST);
    if (!at)
        return -ENOMEM;
    at += sprintf(at, ",\n{\"ph\":\"%s,\"id\":%" PRIu64 ",",
                  arrow->end ? "f\",\"bp\":\"e\"" : "s\"", arrow->number);
    at = kymo__json_put(at, t->place, t->place_len);
    at = kymo__json_time(at, kymo__ns_add(when, t->c->shift));
    at = KYMO__JSON_PUT(at, ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"}");
    kymo__chrome_done(thread, at);
    return 0;
}
