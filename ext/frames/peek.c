/* peek.c — see peek.h. */
#include "peek.h"

#include <string.h>
#include <sys/mman.h>

#include "core.h"
#include "readable.h"

enum {
    ROOM = 64 << 20,      /* for all copies; untouched pages cost nothing */
    TEXT_MOST = 1 << 12,  /* characters of a name that are copied in a signal handler */
    LINES_MOST = 1 << 20, /* bytes of a line table */
};

static char *room;
static size_t used;

/* Allocate BYTES permanently, or return NULL. Uses an atomic add, so that a signal may interrupt
   it. */
static char *take_bytes(size_t bytes)
{
    char *memory = __atomic_load_n(&room, __ATOMIC_ACQUIRE);
    if (!memory) {
        char *none = NULL;
        void *made = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED)
            return NULL;
        memory = made;
        if (!__atomic_compare_exchange_n(&room, &none, memory, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            munmap(made, ROOM);
            memory = none;
        }
    }
    size_t at = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
    if (at + bytes <= ROOM)
        return memory + at;
    __atomic_fetch_sub(&used, bytes, __ATOMIC_RELAXED);
    return NULL;
}

/* With PAGES NULL, everything is known to be readable. */
static bool object_readable(struct kymo_pages *pages, const void *object, size_t bytes)
{
    return !pages || kymo__readable(pages, object, bytes);
}

static bool all_readable(struct kymo_pages *pages, const void *memory, size_t bytes)
{
    if (!pages)
        return true;
    uint64_t first = (uint64_t)(uintptr_t)memory / KYMO_PAGE_BYTES;
    uint64_t last = ((uint64_t)(uintptr_t)memory + bytes) / KYMO_PAGE_BYTES;
    for (uint64_t page = first; page <= last; page++)
        if (!kymo__page_readable(pages, page))
            return false;
    return true;
}

static const char *copy_text(struct kymo_pages *pages, PyObject *text)
{
    if (!object_readable(pages, text, sizeof(PyCompactUnicodeObject)) ||
        Py_TYPE(text) != &PyUnicode_Type || !PyUnicode_IS_COMPACT(text))
        return NULL;
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    int kind = (int)PyUnicode_KIND(text);
    if (length < 0)
        return NULL;
    if (length > TEXT_MOST && !pages)
        return NULL;
    if (length > TEXT_MOST)
        length = TEXT_MOST;
    const void *data = PyUnicode_DATA(text);
    size_t widest = PyUnicode_IS_ASCII(text) ? 1 : 4;
    char *copy = all_readable(pages, data, (size_t)length * (size_t)kind)
                     ? take_bytes((size_t)length * widest + 1)
                     : NULL;
    if (!copy)
        return NULL;
    char *to = copy;
    for (Py_ssize_t i = 0; i < length; i++)
        to += kymo__text_encode(PyUnicode_READ(kind, data, i), to);
    *to = '\0';
    return copy;
}

static bool copy_lines(struct kymo_pages *pages, PyObject *table, struct kymo_peeked *peeked)
{
    if (!object_readable(pages, table, sizeof(PyBytesObject)) || Py_TYPE(table) != &PyBytes_Type)
        return false;
    Py_ssize_t bytes = PyBytes_GET_SIZE(table);
    if (bytes < 0 || bytes > LINES_MOST ||
        !all_readable(pages, PyBytes_AS_STRING(table), (size_t)bytes))
        return false;
    char *copy = take_bytes((size_t)bytes);
    if (copy)
        memcpy(copy, PyBytes_AS_STRING(table), (size_t)bytes);
    peeked->lines = (const uint8_t *)copy;
    peeked->line_bytes = copy ? (uint32_t)bytes : 0;
    return copy != NULL;
}

bool kymo__peek_code(const PyCodeObject *code, bool careful, struct kymo_peeked *peeked)
{
    struct kymo_pages seen = {0}, *pages = careful ? &seen : NULL;
    if (!object_readable(pages, code, sizeof *code) || Py_TYPE(code) != &PyCode_Type)
        return false;
    *peeked = (struct kymo_peeked){
        .name = copy_text(pages, KYMO_CODE_QUALNAME(code)),
        .plain = copy_text(pages, code->co_name),
        .file = copy_text(pages, code->co_filename),
        .first_line = (uint32_t)code->co_firstlineno,
    };
    return peeked->name && peeked->plain && peeked->file &&
           copy_lines(pages, code->co_linetable, peeked);
}
