/* json.h — writes JSON, one value after another, commas included.

   KEY is NULL inside an array and at the top level. Strings are always written as valid UTF-8:
   each invalid sequence becomes U+FFFD. */
#ifndef KYMO_JSON_H
#define KYMO_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cli_json {
    FILE *out;
    int depth;
    char close[8]; /* by depth: '}' or ']' */
    bool more[8];  /* by depth: a value was written */
};

void kymo__cli_json_object(struct cli_json *json, const char *key);
void kymo__cli_json_array(struct cli_json *json, const char *key);
void kymo__cli_json_end(struct cli_json *json); /* the innermost object or array */

void kymo__cli_json_string(struct cli_json *json, const char *key, const char *value);
void kymo__cli_json_int(struct cli_json *json, const char *key, int64_t value);
void kymo__cli_json_uint(struct cli_json *json, const char *key, uint64_t value);
void kymo__cli_json_bool(struct cli_json *json, const char *key, bool value);
/* VALUE is already JSON. */
void kymo__cli_json_raw(struct cli_json *json, const char *key, const char *value);
void kymo__cli_json_null(struct cli_json *json, const char *key);

/* The shortest text that reads back as VALUE. JSON has no infinities and no NaN:
   they become the strings "Infinity", "-Infinity" and "NaN". */
void kymo__cli_json_double(struct cli_json *json, const char *key, double value);

#endif
