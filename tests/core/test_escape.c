/* Any text becomes the inside of a JSON string. */
#include "escape.h"

#include <kymo/kymo.h>

#include "check.h"

static const char *escaped(const char *text, bool in_script)
{
    static char out[256];
    char form[KYMO__ESCAPE_FORM];
    size_t used = 0, len;
    while (*text) {
        const char *piece = kymo__escape_json(&text, in_script, form, &len);
        memcpy(out + used, piece, len);
        used += len;
    }
    out[used] = '\0';
    return out;
}

static void what_json_reserves_is_escaped(void)
{
    CHECK_STR(escaped("", false), "");
    CHECK_STR(escaped("plain <b>&amp;", false), "plain <b>&amp;");
    CHECK_STR(escaped("a\"b\\c", false), "a\\\"b\\\\c");
    CHECK_STR(escaped("\n\t\x01\x7f", false), "\\u000a\\u0009\\u0001\\u007f");
}

static void other_scripts_are_kept_and_invalid_utf8_is_replaced(void)
{
    CHECK_STR(escaped("é☃😀", false), "é☃😀");
    CHECK_STR(escaped("a\xff"
                      "b",
                      false),
              "a\xEF\xBF\xBD"
              "b");
}

static void characters_special_to_terminals_or_javascript_are_escaped(void)
{
    CHECK_STR(escaped("\xE2\x80\xA8|\xE2\x80\xA9|\xC2\x85|\x1b[2J", false),
              "\\u2028|\\u2029|\\u0085|\\u001b[2J");
    CHECK_STR(escaped("\xE2\x80\xAE|\xE2\x80\x8F|\xE2\x81\xA6", true), "\\u202e|\\u200f|\\u2066");
}

static void in_a_script_nothing_ends_it(void)
{
    CHECK_STR(escaped("</script>&\"", true), "\\u003c/script\\u003e\\u0026\\\"");
    CHECK_STR(escaped("é☃", true), "é☃");
}

static const struct check_case cases[] = {
    CHECK_CASE(what_json_reserves_is_escaped),
    CHECK_CASE(other_scripts_are_kept_and_invalid_utf8_is_replaced),
    CHECK_CASE(characters_special_to_terminals_or_javascript_are_escaped),
    CHECK_CASE(in_a_script_nothing_ends_it),
};
CHECK_MAIN(cases)
