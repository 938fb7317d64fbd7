/* payload.h — events that carry more than a number: fields with names and types.

   A source defines a schema once per session: the names and types of its fields. Events then
   carry only the values, and every reader (dump, query, the exports, the Python API) shows
   them by name without knowing the source.

       static const struct kymo_field fields[] = {
           {"size", KYMO_FIELD_UINT}, {"address", KYMO_FIELD_ADDRESS}, {"stack", KYMO_FIELD_STACK}};
       struct kymo_schema malloc_schema;
       kymo_schema_define(&malloc_schema, "malloc", fields, 3);

       unsigned char room[64];
       struct kymo_payload payload;
       kymo_payload_begin(&payload, room, sizeof(room));
       kymo_payload_uint(&payload, size);
       kymo_payload_uint(&payload, (uintptr_t)address);
       kymo_payload_uint(&payload, stack);
       kymo_note(&malloc_schema, &payload);

   Recording takes no lock, allocates nothing and makes no system call. Values are put in the
   order of the fields, all of them. Addresses and ids are stored in the file as differences to
   the event before, so the note above takes about four bytes. */
#ifndef KYMO_PAYLOAD_H
#define KYMO_PAYLOAD_H

#include <kymo/lane.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Field types. Each comment names the function that adds a value of that type. */
enum kymo_field_type {
    KYMO_FIELD_UINT = 1,    /* kymo_payload_uint */
    KYMO_FIELD_INT = 2,     /* kymo_payload_int */
    KYMO_FIELD_FLOAT = 3,   /* kymo_payload_float */
    KYMO_FIELD_TEXT = 4,    /* kymo_payload_bytes: UTF-8 */
    KYMO_FIELD_BYTES = 5,   /* kymo_payload_bytes: anything */
    KYMO_FIELD_ADDRESS = 6, /* kymo_payload_uint, shown in hexadecimal */
    KYMO_FIELD_STACK = 7,   /* kymo_payload_uint: a stack id from kymo_stack_record */
    KYMO_FIELD_THREAD = 8,  /* kymo_payload_uint: a system thread id */
    KYMO_FIELD_TASK = 9,    /* kymo_payload_uint: a task, generator or coroutine */
    KYMO_FIELD_ID = 10,     /* kymo_payload_uint: any other id; usually close to the previous one */
    KYMO_FIELD_NAME = 11,   /* kymo_payload_uint: a key from kymo_name_key; shown as the name */

    /* Add this to a type for a list: start it with kymo_payload_count and the number of values. For
       a list of lists, start each inner list the same way. */
    KYMO_FIELD_LIST = 0x10,
    KYMO_FIELD_LISTS = 0x20,
};

#define KYMO_FIELDS_MOST 64     /* fields in a schema */
#define KYMO_SCHEMAS_MOST 1023  /* schemas in a session */
#define KYMO_PAYLOAD_MOST 32768 /* bytes in a payload */

struct kymo_field {
    const char *name; /* UTF-8; copied */
    int type;         /* enum kymo_field_type */
};

/* A schema of one session. Plain data; all zero means no schema, and recording with it does
   nothing. */
struct kymo_schema {
    uint32_t key;     /* key of its name */
    uint32_t number;  /* schema number, from 1 */
    uint32_t session; /* the session that defined it */
};

/* Define a schema called NAME with COUNT FIELDS for the running session and fill SCHEMA. The same
   name and fields give the same schema again. NAME and the fields' names are copied. Takes a lock:
   call it when the session starts, or once at first use. Returns 0, -EINVAL for a bad type or too
   many fields, -ENOSPC if there are too many schemas or no memory, or KYMO_EIDLE. SCHEMA is written
   only on success. Any thread. */
KYMO_API int kymo_schema_define(struct kymo_schema *schema, const char *name,
                                const struct kymo_field *fields, size_t count);

/* Return the key of NAME in the running session, for fields of type KYMO_FIELD_NAME, or 0 if no
   session runs or there is no room. NAME must stay unchanged until kymo_stop, as for marking
   calls. */
KYMO_API uint32_t kymo_name_key(const char *name);

/* A payload under construction, in the caller's memory. */
struct kymo_payload {
    unsigned char *bytes;
    uint32_t size, used;
    uint32_t over; /* 1: a value did not fit */
};

/* Start an empty payload in the SIZE bytes at ROOM; at most KYMO_PAYLOAD_MOST of them are used. A
   number takes up to 10 bytes. A value that does not fit makes the payload invalid: the event is
   recorded without it, and the loss is counted. */
KYMO_INLINE void kymo_payload_begin(struct kymo_payload *p, void *room, size_t size)
{
    p->bytes = (unsigned char *)room;
    p->size = size < KYMO_PAYLOAD_MOST ? (uint32_t)size : KYMO_PAYLOAD_MOST;
    p->used = p->over = 0;
}

KYMO_INLINE void kymo_payload_uint(struct kymo_payload *p, uint64_t value)
{
    uint32_t used = p->used;
    if (__builtin_expect(p->size - used < 10, 0)) {
        uint64_t rest = value;
        uint32_t need = 1;
        while (rest >>= 7)
            need++;
        if (p->size - used < need) {
            p->over = 1;
            return;
        }
    }
    while (value >= 0x80) {
        p->bytes[used++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    p->bytes[used++] = (unsigned char)value;
    p->used = used;
}

KYMO_INLINE void kymo_payload_int(struct kymo_payload *p, int64_t value)
{
    kymo_payload_uint(p, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

KYMO_INLINE void kymo_payload_float(struct kymo_payload *p, double value)
{
    if (p->size - p->used < sizeof(value)) {
        p->over = 1;
        return;
    }
    memcpy(p->bytes + p->used, &value, sizeof(value));
    p->used += (uint32_t)sizeof(value);
}

/* Add LEN bytes, for fields of type text or bytes. */
KYMO_INLINE void kymo_payload_bytes(struct kymo_payload *p, const void *bytes, size_t len)
{
    kymo_payload_uint(p, len);
    if (p->over || p->size - p->used < len) {
        p->over = 1;
        return;
    }
    memcpy(p->bytes + p->used, bytes, len);
    p->used += (uint32_t)len;
}

KYMO_INLINE void kymo_payload_text(struct kymo_payload *p, const char *string)
{
    kymo_payload_bytes(p, string, strlen(string));
}

/* Start a list of COUNT values, or of COUNT lists. */
KYMO_INLINE void kymo_payload_count(struct kymo_payload *p, size_t count)
{
    kymo_payload_uint(p, count);
}

/* Record an instant now, named like SCHEMA, with PAYLOAD. Any thread. An event that cannot be
   recorded is counted as missing. A payload that is too long, or does not match its schema, is
   dropped. */
KYMO_API void kymo_note(const struct kymo_schema *schema, const struct kymo_payload *payload);

/* Like kymo_note, but at TICKS, a value from kymo_ticks. */
KYMO_API void kymo_note_at(const struct kymo_schema *schema, const struct kymo_payload *payload,
                           uint64_t ticks);

/* Attach PAYLOAD to the event that this thread recorded last, like kymo_arg: the begin or end of a
   span, an instant, an async span. An event may have several payloads. */
KYMO_API void kymo_attach(const struct kymo_schema *schema, const struct kymo_payload *payload);

/* ------------------------------------------------------------- reading --- */

/* A value in a payload, or a number or text attached to an event. */
struct kymo_value {
    size_t size;
    const char *name; /* the field's name; lent until kymo_close */
    int type;         /* enum kymo_field_type, lists included; 0 past the last field */
    uint64_t number;  /* UINT, ADDRESS, STACK, THREAD, TASK, ID; NAME: the key */
    int64_t integer;  /* INT */
    double real;      /* FLOAT */
    const char *text; /* TEXT, NAME: `length` bytes, no terminating zero. BYTES too. */
    size_t length;    /* bytes of `text`; for a list, the number of values */
    /* For a list: its encoded values. Read them with kymo_value_next. */
    const unsigned char *at, *end;
};

/* Fill VALUE, whose size the caller sets first, with field INDEX of the payload of EVENT, which
   came from a cursor of CAPTURE. EVENT and VALUE are lent until the cursor moves on. Returns 0, or
   -ENOENT past the last field and for an event without a payload. */
KYMO_API int kymo_event_value(const struct kymo_capture *capture, const struct kymo_event *event,
                              unsigned index, struct kymo_value *value);

/* Store the next value of LIST, or the next inner list, in VALUE, whose size the caller sets first.
   Returns 1, or 0 at the end. */
KYMO_API int kymo_value_next(const struct kymo_capture *capture, struct kymo_value *list,
                             struct kymo_value *value);

#ifdef __cplusplus
}
#endif
#endif
