#include "text.h"

#include <string.h>
#include <wchar.h>

#include "memory.h"
#include "terminal.h"
#include "utf8.h"

/* C0, DEL and C1: terminals interpret all of them. */
static int is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

enum { CLEAN_MAX = 8 }; /* most bytes that a code point can become, with the final zero */

/* Write CODE to OUT, escaped for a terminal; returns its length. */
static int clean(uint32_t code, char *out)
{
    if (code == '\n')
        return sprintf(out, "\\n");
    if (code == '\t')
        return sprintf(out, "\\t");
    if (code == 0x1B)
        return sprintf(out, "\\e");
    if (is_control(code))
        return sprintf(out, "\\x%02x", code & 0xFF);
    if (kymo__utf8_is_unsafe(code))
        return sprintf(out, "\\u%04x", code & 0xFFFF);
    return kymo__utf8_encode(code, out);
}

size_t kymo__cli_plain(const char *s)
{
    size_t length = 0;
    while ((unsigned char)s[length] - 0x20u < 0x5Fu && s[length] != '"' && s[length] != '\\')
        length++;
    return length;
}

void kymo__cli_put_clean(FILE *out, const char *s)
{
    while (*s) {
        size_t length = kymo__cli_plain(s);
        fwrite_unlocked(s, 1, length, out);
        s += length;
        if (*s) {
            char form[CLEAN_MAX];
            length = (size_t)clean(kymo__utf8_next(&s), form);
            fwrite_unlocked(form, 1, length, out);
        }
    }
}

char *kymo__cli_clean(const char *s)
{
    /* No byte becomes more than four, as \x1b does. */
    char *text = kymo__cli_array(4 * strlen(s) + CLEAN_MAX, 1);
    int length = 0;
    while (*s)
        length += clean(kymo__utf8_next(&s), text + length);
    text[length] = '\0';
    return text;
}

/* wcwidth knows wide and combining characters once main has set a UTF-8 LC_CTYPE; for unknown
   characters, assume one cell. */
static int cells_of(uint32_t code)
{
    int cells = code < 0x80 ? 1 : wcwidth((wchar_t)code);
    return cells < 0 ? 1 : cells;
}

int kymo__cli_cells(const char *s)
{
    int cells = 0;
    while (*s)
        cells += cells_of(kymo__utf8_next(&s));
    return cells;
}

int kymo__cli_fit(const char *s, int cells)
{
    const char *start = s;
    while (*s) {
        const char *before = s;
        cells -= cells_of(kymo__utf8_next(&s));
        if (cells < 0)
            return (int)(before - start);
    }
    return (int)(s - start);
}

const char *kymo__cli_fit_end(const char *s, int cells)
{
    for (int over = kymo__cli_cells(s) - cells; over > 0 && *s;)
        over -= cells_of(kymo__utf8_next(&s));
    return s;
}

void kymo__cli_put_placed(const char *text, const char *place, int cells)
{
    enum { LEAST = 12 }; /* cells of a place that still say something */
    int used = kymo__cli_cells(text), left = cells - used - 2;
    if (used > cells) {
        printf("%.*s…", kymo__cli_fit(text, cells - 1), text);
        return;
    }
    fputs(text, stdout);
    bool fits = kymo__cli_cells(place) <= left;
    if (!*place || (!fits && left < LEAST))
        return;
    printf("  %s%s%s%s", kymo__cli_colour(CLI_DIM), fits ? "" : "…",
           fits ? place : kymo__cli_fit_end(place, left - 1), kymo__cli_colour(CLI_PLAIN));
}

/* On a terminal, print the start of a WORD that is longer than a line, such as a path, until the
   rest fits on one: after a slash where there is one, so that it is read more easily. Returns the
   rest. Anywhere else it stays whole. */
static const char *break_word(FILE *out, const char *word, int indent, int room)
{
    while (kymo__cli_terminal_width() > 0 && room > 0 && kymo__cli_cells(word) > room) {
        int fits = kymo__cli_fit(word, room), at = fits;
        while (at > fits / 2 && word[at - 1] != '/')
            at--;
        if (at <= fits / 2)
            at = fits;
        if (at <= 0)
            break;
        fprintf(out, "%.*s\n%*s", at, word, indent, "");
        word += at;
    }
    return word;
}

/* Print the word that begins at TEXT, on a new line if it does not fit. */
static int wrap_word(FILE *out, const char *word, int length, int indent, int width, int column)
{
    char *copy = kymo__cli_format("%.*s", length, word);
    int cells = kymo__cli_cells(copy);
    if (column > indent && column + 1 + cells > width) {
        fputc('\n', out);
        column = 0;
    }
    if (column < indent) {
        fprintf(out, "%*s", indent - column, "");
        column = indent;
    } else if (column > indent) {
        fputc(' ', out);
        column++;
    }
    const char *rest = column == indent ? break_word(out, copy, indent, width - indent) : copy;
    fputs(rest, out);
    column += kymo__cli_cells(rest);
    kymo__cli_free(copy);
    return column;
}

void kymo__cli_wrap(FILE *out, const char *text, int indent, int width, int start)
{
    int column = start;
    while (*text) {
        if (strncmp(text, "\n\n", 2) == 0) {
            fputs("\n\n", out);
            column = 0;
            text += 2;
            continue;
        }
        int length = (int)strcspn(text, " \n");
        if (length > 0)
            column = wrap_word(out, text, length, indent, width, column);
        text += length;
        if (*text == ' ' || (*text == '\n' && text[1] != '\n'))
            text++;
    }
    fputc('\n', out);
}
