/* filters.c — which functions are recorded.

   A pattern with a slash, or ending in .py, matches files: a glob for the whole path or its end.
   Any other pattern matches names: a glob for the qualified name, or module and name for C
   callables; or the name of a package or module that is part of the path. Evaluated once per
   function; the function table stores the result.

   The end of this file handles call sites, which the interpreter can be told not to report. A site
   that has only called filtered functions for a while is switched off. */
#include "tracer.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct patterns {
    char **text;
    size_t count;
};

struct kymo__filters {
    struct patterns include, exclude;
    bool chosen; /* by the user: not only Kymograph's own functions are excluded */
};

static struct kymo__filters in_use; /* of this session, or of the previous one */
unsigned kymo__filter_version;
bool kymo__filter_chosen;

/* Do the first LEN bytes of FILE name a directory that is a package? */
static bool is_package(const char *file, size_t len)
{
    char path[4096];
    if (len + sizeof "/__init__.py" > sizeof path)
        return false;
    memcpy(path, file, len);
    memcpy(path + len, "/__init__.py", sizeof "/__init__.py");
    return access(path, F_OK) == 0;
}

/* Is PART the package that contains FILE, the module FILE itself, or, for C callables, whose
   FILE is the name of a module, a part of that name? Other directories of the path may have any
   name. */
static bool has_part(const char *file, const char *part)
{
    size_t len = strlen(part);
    for (const char *at = file; at; at = strchr(at, '/'), at = at ? at + 1 : NULL) {
        if (strncmp(at, part, len) != 0)
            continue;
        const char *rest = at + len;
        if (*rest == '\0' || strcmp(rest, ".py") == 0 || (*rest == '.' && !strchr(file, '/')))
            return true;
        if (*rest == '/' && is_package(file, (size_t)(rest - file)))
            return true;
    }
    return false;
}

/* As fnmatch, which first converts both to wide characters, though most of our patterns differ from
   the text within a few bytes. */
static bool fits(const char *pattern, const char *text)
{
    size_t same = strcspn(pattern, "*?[\\");
    if (strncmp(pattern, text, same) != 0)
        return false;
    const char *rest = pattern + same;
    return strcmp(rest, "*") == 0 || fnmatch(rest, text + same, 0) == 0;
}

static bool matches(const char *pattern, const char *file, const char *name)
{
    size_t len = strlen(pattern);
    if (strchr(pattern, '/') || (len > 3 && strcmp(pattern + len - 3, ".py") == 0)) {
        if (fits(pattern, file))
            return true;
        for (const char *at = strchr(file, '/'); at; at = strchr(at + 1, '/'))
            if (fits(pattern, at + 1))
                return true;
        return false;
    }
    if (fits(pattern, name) || has_part(file, pattern))
        return true;
    if (!strchr("*?[\\", *pattern) && *pattern != *file)
        return false; /* composing both would take longer */
    char whole[2048];
    snprintf(whole, sizeof whole, "%s.%s", file, name);
    return fits(pattern, whole);
}

static bool any(const struct patterns *patterns, const char *file, const char *name)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (matches(patterns->text[i], file, name))
            return true;
    return false;
}

int kymo__filter_allows(const char *file, const char *name)
{
    return !any(&in_use.exclude, file, name) &&
           (!in_use.include.count || any(&in_use.include, file, name));
}

static void patterns_fini(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        free(patterns->text[i]);
    free(patterns->text);
    *patterns = (struct patterns){0};
}

static bool same(const struct patterns *a, const struct patterns *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++)
        equal = strcmp(a->text[i], b->text[i]) == 0;
    return equal;
}

/* Fill PATTERNS from a sequence of str. 0, or -1 with an exception. */
static int patterns_from(struct patterns *patterns, PyObject *sequence)
{
    PyObject *fast = PySequence_Fast(sequence, "patterns must be a sequence of str");
    if (!fast)
        return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
    patterns->text = calloc((size_t)count + 1, sizeof *patterns->text);
    for (Py_ssize_t i = 0; patterns->text && i < count; i++) {
        const char *text = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(fast, i));
        char *copy = text ? strdup(text) : NULL;
        if (!copy)
            break;
        patterns->text[patterns->count++] = copy;
    }
    Py_DECREF(fast);
    if ((Py_ssize_t)patterns->count == count)
        return 0;
    patterns_fini(patterns);
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    return -1;
}

struct kymo__filters *kymo__filters_new(PyObject *include, PyObject *exclude, bool chosen)
{
    struct kymo__filters *filters = calloc(1, sizeof *filters);
    if (!filters)
        return (void *)PyErr_NoMemory();
    if (patterns_from(&filters->include, include) < 0 ||
        patterns_from(&filters->exclude, exclude) < 0) {
        kymo__filters_free(filters);
        return NULL;
    }
    filters->chosen = chosen;
    return filters;
}

void kymo__filters_free(struct kymo__filters *filters)
{
    if (!filters)
        return;
    patterns_fini(&filters->include);
    patterns_fini(&filters->exclude);
    free(filters);
}

static PyObject *origin_in_use; /* owned, or NULL */

bool kymo__filters_are_of(const PyObject *origin)
{
    return origin == origin_in_use;
}

void kymo__filters_use(struct kymo__filters *filters, PyObject *origin)
{
    Py_XSETREF(origin_in_use, Py_XNewRef(origin));
    struct kymo__filters before = in_use;
    in_use = filters ? *filters : (struct kymo__filters){0};
    free(filters);
    if (!same(&before.include, &in_use.include) || !same(&before.exclude, &in_use.exclude))
        kymo__filter_version++;
    patterns_fini(&before.include);
    patterns_fini(&before.exclude);
    kymo__filter_chosen = in_use.chosen;
}

/* ---- call sites */

enum {
    PLACE_BITS = 16,
    ENOUGH = 64,   /* excluded calls in a row after which a site is switched off */
    IN_USE = 0xff, /* it has called something that is recorded: never switched off */
};

/* By hash: sites that share an entry stay on if one of them has to. */
static uint8_t places[1 << PLACE_BITS];
static bool places_known; /* some are not zero */

static uint8_t *place_of(const void *code, long offset)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)code ^ (uint64_t)offset << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return &places[hash >> (64 - PLACE_BITS)];
}

void kymo__places_begin(void)
{
    if (places_known)
        memset(places, 0, sizeof places);
    places_known = false;
}

void kymo__place_keep(const void *code, long offset)
{
    places_known = true;
    *place_of(code, offset) = IN_USE;
}

bool kymo__place_is_idle(const void *code, long offset)
{
    uint8_t *place = place_of(code, offset);
    places_known = true;
    if (*place < ENOUGH)
        ++*place;
    return *place == ENOUGH;
}
