/* escape.c — see escape.h. */
#include "escape.h"

#include <stdint.h>
#include <stdio.h>

#include "utf8.h"

static bool is_markup(uint32_t code)
{
    return code == '<' || code == '>' || code == '&';
}

const char *kymo__escape_json(const char **text, bool in_script, char form[KYMO__ESCAPE_FORM],
                              size_t *len)
{
    const char *start = *text, *at = start;
    while ((unsigned char)*at - 0x20u < 0x5fu && *at != '"' && *at != '\\' &&
           !(in_script && is_markup((unsigned char)*at)))
        at++;
    if (at > start) {
        *text = at;
        *len = (size_t)(at - start);
        return start;
    }
    uint32_t code = kymo__utf8_next(text);
    if (code == '"' || code == '\\')
        *len = (size_t)sprintf(form, "\\%c", (char)code);
    else if (kymo__utf8_is_unsafe(code) || (in_script && is_markup(code)))
        *len = (size_t)sprintf(form, "\\u%04x", code & 0xffff);
    else
        *len = (size_t)kymo__utf8_encode(code, form);
    return form;
}
