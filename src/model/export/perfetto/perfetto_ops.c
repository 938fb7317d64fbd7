/* perfetto_ops.c — the arguments of operators as annotations. Lists are JSON, which Perfetto shows
   as arrays. */
#include <errno.h>

#include "alloc.h"
#include "perfetto_parts.h"

static int add_argument(void *arg, const struct kymo_op_arg *value)
{
    struct kymo_proto *out = arg;
    size_t note = kymo__proto_open(out, EVENT_ANNOTATION);
    kymo__proto_text(out, ANNOTATION_NAME, value->name);
    if (value->type == KYMO__OP_ARG_INT) {
        kymo__proto_uint(out, ANNOTATION_INT, (uint64_t)value->integer);
    } else {
        char *text = kymo__alloc_text(value->text, value->length);
        if (text)
            kymo__proto_text(
                out, value->type == KYMO__OP_ARG_JSON ? ANNOTATION_JSON : ANNOTATION_TEXT, text);
        else
            out->error = -ENOMEM;
        kymo__free(text);
    }
    kymo__proto_close(out, note);
    return out->error;
}

void kymo__perfetto_op(struct kymo_proto *out, const struct kymo_opcall *op)
{
    int rc = kymo__op_args(op, add_argument, out);
    if (rc < 0)
        out->error = rc;
}
