/* filters.c — which functions are recorded.

   A pattern with a slash or ending in .py is about files: a glob over the whole path, or
   over its end. Any other is about names: a glob over the qualified name, over module and
   name for C callables, or the name of a package or module, found as a part of the path.
   Asked once per function; the answer is remembered in the table of functions. */
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

static struct patterns include, exclude;
unsigned kymo__filter_version;

/* Is the directory that the first LEN bytes of FILE name a package? */
static bool is_package(const char *file, size_t len)
{
    char path[4096];
    if (len + sizeof "/__init__.py" > sizeof path)
        return false;
    memcpy(path, file, len);
    memcpy(path + len, "/__init__.py", sizeof "/__init__.py");
    return access(path, F_OK) == 0;
}

/* Is PART the package FILE lies in, the module it is, or, for C callables whose FILE is the
   name of a module, a part of that? Any other directory of the path may be called anything. */
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

static bool matches(const char *pattern, const char *file, const char *name)
{
    size_t len = strlen(pattern);
    if (strchr(pattern, '/') || (len > 3 && strcmp(pattern + len - 3, ".py") == 0)) {
        if (fnmatch(pattern, file, 0) == 0)
            return true;
        for (const char *at = strchr(file, '/'); at; at = strchr(at + 1, '/'))
            if (fnmatch(pattern, at + 1, 0) == 0)
                return true;
        return false;
    }
    if (fnmatch(pattern, name, 0) == 0 || has_part(file, pattern))
        return true;
    char whole[2048];
    snprintf(whole, sizeof whole, "%s.%s", file, name);
    return fnmatch(pattern, whole, 0) == 0;
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
    return !any(&exclude, file, name) && (!include.count || any(&include, file, name));
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

PyObject *kymo__filter_set(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *including, *excluding;
    if (!PyArg_ParseTuple(args, "OO:trace_filter", &including, &excluding))
        return NULL;
    if (kymo_running())
        Py_RETURN_NONE; /* the running session's stay; start will say that one runs */
    struct patterns new_include = {0}, new_exclude = {0};
    if (patterns_from(&new_include, including) < 0 || patterns_from(&new_exclude, excluding) < 0) {
        patterns_fini(&new_include);
        return NULL;
    }
    if (!same(&new_include, &include) || !same(&new_exclude, &exclude))
        kymo__filter_version++;
    patterns_fini(&include);
    patterns_fini(&exclude);
    include = new_include;
    exclude = new_exclude;
    Py_RETURN_NONE;
}
