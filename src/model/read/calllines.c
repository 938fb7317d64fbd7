/* calllines.c — see calllines.h. */
#include "calllines.h"

#include <string.h>

static bool has_name(const struct kymo_callables *callables, const struct kymo_call_arg *arg,
                     const char *name)
{
    const struct kymo_callable *callable = &callables->all[kymo__callable_of(callables, arg->key)];
    return callable->class == KYMO_CLASS_NAME && strcmp(callable->name, name) == 0;
}

static bool is_from(const struct kymo_callables *callables, const struct kymo_call_arg *arg)
{
    return arg->type == KYMO_FIELD_NAME && has_name(callables, arg, "called from");
}

static bool is_line(const struct kymo_callables *callables, const struct kymo_call_arg *arg)
{
    return arg->type == KYMO_FIELD_UINT && arg->value <= UINT32_MAX &&
           has_name(callables, arg, "line");
}

bool kymo__arg_is_line(const struct kymo_callables *callables, const struct kymo_call_arg *arg)
{
    return is_from(callables, arg) || is_line(callables, arg);
}

struct kymo_call_lines kymo__call_lines(const struct kymo_callables *callables,
                                        const struct kymo_slice *slice, bool first)
{
    struct kymo_call_lines lines = {.line = -1};
    first |= slice->flags & KYMO__OPEN_AT_START && slice->frame->enter != KYMO__ENTER_OPEN;
    for (unsigned i = 0; i < slice->arg_count; i++) {
        const struct kymo_call_arg *arg = &slice->args[i];
        if (is_from(callables, arg))
            lines.from = callables->all[kymo__callable_text(callables, arg->value)].name;
        else if (!first && is_line(callables, arg))
            lines.line = (int64_t)arg->value;
    }
    return lines;
}
