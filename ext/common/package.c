/* package.c — see core.h. */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "core.h"

static char folder[PATH_MAX]; /* ends with a slash; "": unknown */

void kymo__package_find(void)
{
    Dl_info place;
    if (!dladdr(folder, &place) || !place.dli_fname)
        return;
    const char *slash = strrchr(place.dli_fname, '/');
    size_t len = slash ? (size_t)(slash + 1 - place.dli_fname) : 0;
    if (len < sizeof folder)
        memcpy(folder, place.dli_fname, len);
}

bool kymo__package_has(const char *file)
{
    return folder[0] && strncmp(file, folder, strlen(folder)) == 0;
}

bool kymo__package_has_code(const PyCodeObject *code)
{
    PyObject *file = code->co_filename;
    size_t len = strlen(folder);
    if (!len || !PyUnicode_Check(file) || (size_t)PyUnicode_GET_LENGTH(file) < len)
        return false;
    size_t at = 0;
    for (Py_ssize_t i = 0; at < len; i++) {
        char bytes[4];
        size_t count = kymo__text_encode(PyUnicode_READ_CHAR(file, i), bytes);
        if (count > len - at || memcmp(folder + at, bytes, count) != 0)
            return false;
        at += count;
    }
    return true;
}
