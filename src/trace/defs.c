/* defs.c — see defs.h. */
#include "defs.h"

#include <string.h>

#include "varint.h"

static const unsigned char numbers_of[] = {
    [KYMO__DEF_STRING] = 1,     [KYMO__DEF_MORE] = 1,        [KYMO__DEF_KEY] = 5,
    [KYMO__DEF_THREAD] = 4,     [KYMO__DEF_THREAD_NAME] = 2, [KYMO__DEF_THREAD_END] = 2,
    [KYMO__DEF_META] = 2,       [KYMO__DEF_CLOCK] = 3,       [KYMO__DEF_GAP] = 5,
    [KYMO__DEF_PROCESS] = 4,    [KYMO__DEF_RANGE] = 2,       [KYMO__DEF_MODULE] = 6,
    [KYMO__DEF_FRAME] = 4,      [KYMO__DEF_NODE] = 3,        [KYMO__DEF_STACK] = 2,
    [KYMO__DEF_SCHEMA] = 2,     [KYMO__DEF_TRACK] = 4,       [KYMO__DEF_TRACK_CLOCK] = 3,
    [KYMO__DEF_TRACK_TIME] = 3,
};

/* How many optional numbers TYPE may have; those that are 0 can be absent. */
static unsigned more_numbers(int type)
{
    return type == KYMO__DEF_THREAD;
}

static int has_text(int type)
{
    return type == KYMO__DEF_STRING || type == KYMO__DEF_MORE || type == KYMO__DEF_SCHEMA ||
           type == KYMO__DEF_NODE;
}

unsigned kymo__def_numbers(int type)
{
    return type > 0 && (size_t)type < sizeof(numbers_of) ? numbers_of[type] : 0;
}

uint8_t *kymo__def_put(uint8_t *out, const struct kymo_def *def)
{
    uint8_t body[KYMO__VARINT_MAX * KYMO__DEF_NUMBERS], *end = body;
    for (unsigned i = 0; i < kymo__def_numbers(def->type); i++)
        end = kymo__varint_put(end, def->number[i]);
    if (more_numbers(def->type) && def->number[kymo__def_numbers(def->type)])
        end = kymo__varint_put(end, def->number[kymo__def_numbers(def->type)]);
    size_t len = (size_t)(end - body), text = has_text(def->type) ? def->text_len : 0;
    *out++ = (uint8_t)def->type;
    out = kymo__varint_put(out, len + text);
    memcpy(out, body, len);
    out += len;
    if (text)
        memcpy(out, def->text, text);
    return out + text;
}

const uint8_t *kymo__def_get(const uint8_t *at, const uint8_t *end, struct kymo_def *def)
{
    *def = (struct kymo_def){0};
    uint64_t len;
    if (at >= end)
        return NULL;
    int type = *at++;
    at = kymo__varint_get(at, end, &len);
    if (!at || len > (size_t)(end - at))
        return NULL;
    const uint8_t *next = at + len;
    unsigned numbers = kymo__def_numbers(type);
    for (unsigned i = 0; i < numbers; i++) {
        at = kymo__varint_get(at, next, &def->number[i]);
        if (!at)
            return next;
    }
    if (!numbers)
        return next;
    if (more_numbers(type) && at < next && !kymo__varint_get(at, next, &def->number[numbers]))
        def->number[numbers] = 0;
    def->type = type;
    if (has_text(type)) {
        def->text = at;
        def->text_len = (size_t)(next - at);
    }
    return next;
}
