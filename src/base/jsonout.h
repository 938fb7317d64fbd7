/* jsonout.h — writes JSON, one value after another, commas included.

   KEY is NULL inside an array and at the top level. Strings are always written as valid UTF-8:
   each invalid sequence becomes U+FFFD. */
#ifndef KYMO_JSONOUT_H
#define KYMO_JSONOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct kymo_jsonout {
    FILE *out;
    int depth;
    char close[8]; /* by depth: '}' or ']' */
    bool more[8];  /* by depth: a value was written */
};

void kymo__jsonout_object(struct kymo_jsonout *json, const char *key);
void kymo__jsonout_array(struct kymo_jsonout *json, const char *key);
void kymo__jsonout_end(struct kymo_jsonout *json); /* the innermost object or array */

void kymo__jsonout_string(struct kymo_jsonout *json, const char *key, const char *value);
void kymo__jsonout_int(struct kymo_jsonout *json, const char *key, int64_t value);
void kymo__jsonout_uint(struct kymo_jsonout *json, const char *key, uint64_t value);
void kymo__jsonout_bool(struct kymo_jsonout *json, const char *key, bool value);
/* VALUE is already JSON. */
void kymo__jsonout_raw(struct kymo_jsonout *json, const char *key, const char *value);
void kymo__jsonout_null(struct kymo_jsonout *json, const char *key);

/* The shortest text that reads back as VALUE. JSON has no infinities and no NaN:
   they become the strings "Infinity", "-Infinity" and "NaN". */
void kymo__jsonout_double(struct kymo_jsonout *json, const char *key, double value);

#endif
