/* chrome_lines.c — lines of calls in Kineto's form: `CallFrom`, and the line at which a function was
   entered in its name. Otherwise they are arguments like any other. */
#include <errno.h>
#include <string.h>

#include "chrome_parts.h"

const char *kymo__chrome_file(const struct kymo_chrome *c, const char *file)
{
    for (const char *const *prefix = c->prefixes; prefix && *prefix; prefix++) {
        size_t len = strlen(*prefix);
        if (strncmp(file, *prefix, len) == 0)
            return file + len;
    }
    return file;
}

char *kymo__chrome_put_head(char *at, const struct kymo_chrome_head *head, int64_t line)
{
    if (line < 0 || !head->line_len)
        return kymo__json_put(at, head->bytes, head->len);
    size_t after = head->line_at + head->line_len;
    at = kymo__json_put(at, head->bytes, head->line_at);
    at = kymo__json_uint(at, (uint64_t)line);
    return kymo__json_put(at, head->bytes + after, head->len - after);
}

int kymo__chrome_call_args(struct kymo_crew_thread *thread, const struct kymo_slice *slice,
                           const char *from)
{
    const struct kymo_chrome_thread *t = thread->state;
    int rc = 0;
    if (from)
        rc = kymo__json_text(&thread->out, "\"CallFrom\":\"") |
             kymo__json_escaped(&thread->out, kymo__chrome_file(t->c, from)) |
             kymo__json_text(&thread->out, "\",");
    for (unsigned i = 0; i < slice->arg_count; i++)
        if (!kymo__arg_is_line(&t->c->callables, &slice->args[i]))
            rc |= kymo__chrome_args(thread, &slice->args[i], 1);
    return rc ? -ENOMEM : 0;
}
