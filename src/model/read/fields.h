/* fields.h — iterate over the fields of a payload, and convert any argument to text.

   A field is an argument like a number or text attached to an event: code that shows arguments
   shows fields too. */
#ifndef KYMO_FIELDS_H
#define KYMO_FIELDS_H

#include "calls.h"

struct kymo_fields {
    const struct kymo_reader_schema *schema; /* NULL: fields cannot be read */
    uint32_t key;
    unsigned next;
    const uint8_t *at, *end;
};

/* Start with the fields of EVENT, a payload. It has none if its schema is unknown. */
void kymo__fields_begin(struct kymo_fields *fields, const struct kymo_reader *reader,
                        const struct kymo_event *event);

/* The same for LEN bytes of a payload with schema KEY. */
void kymo__fields_of(struct kymo_fields *fields, const struct kymo_reader *reader, uint32_t key,
                     const uint8_t *bytes, size_t len);

/* Read the next field; it is lent as long as the event is. */
bool kymo__fields_next(struct kymo_fields *fields, struct kymo_call_arg *arg);

/* Append the value of ARG as JSON: a number, a string, or an array. Addresses are strings in
   hexadecimal, and bytes are strings of hexadecimal digits. 0 or -ENOMEM. */
int kymo__arg_json(struct kymo_buffer *out, const struct kymo_reader *reader,
                   const struct kymo_call_arg *arg);

/* Append all fields of EVENT, a payload, as a JSON object, ended by a zero byte that is not
   counted. 0 or -ENOMEM. */
int kymo__payload_json(struct kymo_buffer *out, const struct kymo_reader *reader,
                       const struct kymo_event *event);

/* Append the value of ARG without a string's quotes, followed by a zero byte that is not
   counted. */
int kymo__arg_show(struct kymo_buffer *out, const struct kymo_reader *reader,
                   const struct kymo_call_arg *arg);

/* The name of KEY, which may be any number; "(unknown)" if the file does not define it. */
const char *kymo__key_name(const struct kymo_reader *reader, uint64_t key);

#endif
