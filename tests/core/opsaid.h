/* opsaid.h — record operators with op.h, and read them as text. */
#ifndef OPSAID_H
#define OPSAID_H

#include <kymo/kymo.h>
#include <kymo/op.h>
#include <kymo/payload.h>
#include <stdarg.h>

#include "check.h"

static const char *path;
static char said[1 << 18]; /* what the capture says, a line for each event */
static size_t said_len;

static void begin(const char *name)
{
    path = check_path(name);
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options), .path = path}));
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(said + said_len, sizeof(said) - said_len, format, args);
    va_end(args);
    said_len += (size_t)len < sizeof(said) - said_len ? (size_t)len : 0;
}

static void say_value(const struct kymo_capture *capture, const struct kymo_value *v)
{
    struct kymo_value each = {.size = sizeof each}, list = *v;
    if (v->type >= KYMO_FIELD_LIST) {
        say("[");
        for (int i = 0; kymo_value_next(capture, &list, &each); i++) {
            say("%s", i ? " " : "");
            say_value(capture, &each);
        }
        say("]");
    } else if (v->type == KYMO_FIELD_NAME && !v->number) {
        say("''"); /* no name */
    } else if (v->type == KYMO_FIELD_TEXT || v->type == KYMO_FIELD_NAME) {
        say("'%.*s'", (int)v->length, v->text);
    } else if (v->type == KYMO_FIELD_FLOAT) {
        say("%g", v->real);
    } else if (v->type == KYMO_FIELD_INT) {
        say("%" PRId64, v->integer);
    } else {
        say("%" PRIu64, v->number);
    }
}

/* Fields that are empty lists are left out, as are those that are 0. */
static void say_fields(const struct kymo_capture *capture, const struct kymo_event *event)
{
    struct kymo_value v = {.size = sizeof v};
    for (unsigned i = 0; kymo_event_value(capture, event, i, &v) == 0; i++) {
        bool list = v.type >= KYMO_FIELD_LIST;
        if (list ? !v.length : !v.number && !v.integer)
            continue;
        say(" %s=", v.name);
        say_value(capture, &v);
    }
}

/* End the session and read it into `said`. Returns how many events are missing. */
static uint64_t finish(void)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof event};
    uint64_t missing = 0;
    CHECK_OK(kymo_stop());
    said_len = 0;
    said[0] = '\0';
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        switch (event.kind) {
        case KYMO_ENTER:
        case KYMO_LEAVE:
            say("%s %s %s\n", kymo_kind_word(event.kind), kymo_class_word(event.class_),
                event.name);
            break;
        case KYMO_PAYLOAD:
            say("%s:", event.name);
            say_fields(capture, &event);
            say("\n");
            break;
        case KYMO_GAP:
            missing += event.id;
            break;
        default:
            break;
        }
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return missing;
}

static struct kymo_op open_op(const char *name, const struct kymo_op_value *inputs, size_t count)
{
    return kymo_op_begin(&(struct kymo_operator){.size = sizeof(struct kymo_operator),
                                                 .name = name,
                                                 .id = 7,
                                                 .sequence = -1,
                                                 .inputs = inputs,
                                                 .input_count = count});
}

/* How often TEXT is in `said`. */
static size_t occurrences(const char *text)
{
    size_t count = 0;
    for (const char *at = said; (at = strstr(at, text)); at++)
        count++;
    return count;
}

#endif
