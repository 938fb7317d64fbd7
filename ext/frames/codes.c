/* codes.c — see codes.h. */
#include "codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core.h"
#include "linetable.h"
#include "peek.h"

#define CODES_MAX (1u << 20)
#define SLOT_BITS 21 /* twice as many slots */

struct code {
    const PyCodeObject *address; /* NULL: it has died */
    const char *name, *plain, *file;
    const uint8_t *lines;
    uint32_t line_bytes;
    uint32_t first_line;
    uint32_t settled; /* of enum settled */
    uint64_t cursor;  /* in `lines`, see linetable.h */
};

/* The members above are set; the number means nothing; someone is working on it. */
enum settled { NOT_SETTLED, SETTLED, NOTHING, SETTLING };

static struct code *codes;  /* number N at N - 1 */
static uint32_t *slots;     /* numbers by address; 0: never used */
static uint32_t code_count; /* numbers given, perhaps more than fit */
static uint64_t unnamed;
static uint32_t settled_count;
KYMO_SECTION(settle_section);

/* Reserve memory for the maximum; untouched pages cost nothing. Two threads may do this at once;
   the second one's memory is freed. */
static bool reserve_memory(void **memory, size_t bytes)
{
    if (__atomic_load_n(memory, __ATOMIC_ACQUIRE))
        return true;
    void *none = NULL;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return false;
    if (!__atomic_compare_exchange_n(memory, &none, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        munmap(made, bytes);
    return true;
}

static bool ready(void)
{
    return reserve_memory((void **)&codes, sizeof *codes * CODES_MAX) &&
           reserve_memory((void **)&slots, sizeof *slots << SLOT_BITS);
}

/* Functions that are neighbours in memory are neighbours here: a page of slots for 64 KiB of addresses, so
   that few pages are touched. */
static size_t first_slot(const PyCodeObject *address)
{
    enum { PAGE_BITS = 10, STRIDE_BITS = 6 };
    uint64_t at = (uintptr_t)address >> STRIDE_BITS;
    uint64_t page =
        (at >> PAGE_BITS) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS + PAGE_BITS);
    return (size_t)(page << PAGE_BITS | (at & ((1u << PAGE_BITS) - 1)));
}

static const PyCodeObject *address_of(uint32_t number)
{
    return __atomic_load_n(&codes[number - 1].address, __ATOMIC_ACQUIRE);
}

/* Return the number of ADDRESS, or 0. Then *END is a slot for it, and *HELD its content: 0, or the
   number of a dead code object. So a new object at an address replaces the old one. */
static uint32_t find_number(const PyCodeObject *address, size_t *end, uint32_t *held)
{
    bool dead = false;
    for (size_t i = first_slot(address);; i++) {
        size_t at = i & (((size_t)1 << SLOT_BITS) - 1);
        uint32_t number = __atomic_load_n(&slots[at], __ATOMIC_ACQUIRE);
        const PyCodeObject *here = number ? address_of(number) : NULL;
        if (number && here == address)
            return number;
        if (!here && !dead) {
            *end = at;
            *held = number;
            dead = true;
        }
        if (!number)
            return 0;
    }
}

uint32_t kymo__code_number(const PyCodeObject *address, bool *fresh)
{
    *fresh = false;
    if (!ready())
        return 0;
    size_t at;
    uint32_t held, number = find_number(address, &at, &held), mine = 0;
    while (!number) {
        if (!mine) {
            mine = __atomic_fetch_add(&code_count, 1u, __ATOMIC_ACQ_REL) + 1;
            if (mine > CODES_MAX) {
                __atomic_fetch_sub(&code_count, 1u, __ATOMIC_ACQ_REL);
                __atomic_fetch_add(&unnamed, 1u, __ATOMIC_RELAXED);
                return 0;
            }
            __atomic_store_n(&codes[mine - 1].address, address, __ATOMIC_RELEASE);
        }
        if (__atomic_compare_exchange_n(&slots[at], &held, mine, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            *fresh = true;
            return mine;
        }
        number = find_number(address, &at, &held);
    }
    /* Another thread was first: the number taken means nothing and needs no settling. */
    if (mine) {
        __atomic_store_n(&codes[mine - 1].settled, (uint32_t)NOTHING, __ATOMIC_RELEASE);
        __atomic_store_n(&codes[mine - 1].address, (const PyCodeObject *)NULL, __ATOMIC_RELEASE);
    }
    return number;
}

static const char *copy_text(PyObject *text)
{
    PyObject *owner = NULL;
    const char *utf8 = kymo__text_utf8(text, &owner);
    char *copy = utf8 ? strdup(utf8) : NULL;
    Py_XDECREF(owner);
    PyErr_Clear();
    return copy ? copy : "(unknown)";
}

/* Claim a code before settling it: a signal handler may be doing the same. */
static bool claim_code(struct code *code)
{
    uint32_t expected = NOT_SETTLED;
    return __atomic_compare_exchange_n(&code->settled, &expected, (uint32_t)SETTLING, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Copy the name of CODE, which is alive. Inside the section. */
static void settle_code(struct code *code)
{
    PyCodeObject *object = (PyCodeObject *)code->address;
    if (!object || !claim_code(code))
        return;
    code->name = copy_text(KYMO_CODE_QUALNAME(object));
    code->plain = copy_text(object->co_name);
    code->file = copy_text(object->co_filename);
    code->first_line = (uint32_t)object->co_firstlineno;
    size_t bytes = (size_t)PyBytes_GET_SIZE(object->co_linetable);
    uint8_t *lines = malloc(bytes ? bytes : 1);
    if (lines) {
        memcpy(lines, PyBytes_AS_STRING(object->co_linetable), bytes);
        code->lines = lines;
        code->line_bytes = (uint32_t)bytes;
    }
    __atomic_store_n(&code->settled, (uint32_t)SETTLED, __ATOMIC_RELEASE);
}

void kymo__code_peek(uint32_t number, bool careful)
{
    if (!number || number > kymo__codes_count())
        return;
    struct code *code = &codes[number - 1];
    const PyCodeObject *object = address_of(number);
    if (!object || __atomic_load_n(&code->settled, __ATOMIC_RELAXED) || !claim_code(code))
        return;
    struct kymo_peeked peeked;
    bool seen = kymo__peek_code(object, careful, &peeked);
    if (seen) {
        code->name = peeked.name;
        code->plain = peeked.plain;
        code->file = peeked.file;
        code->first_line = peeked.first_line;
        code->lines = peeked.lines;
        code->line_bytes = peeked.line_bytes;
    }
    __atomic_store_n(&code->settled, (uint32_t)(seen ? SETTLED : NOT_SETTLED), __ATOMIC_RELEASE);
}

void kymo__codes_settle(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    KYMO_SECTION_LOCK(settle_section);
    uint32_t count = kymo__codes_count();
    bool all = true;
    for (uint32_t i = settled_count; i < count; i++) {
        /* A number may have been handed out whose address is not stored yet. */
        all = all && (codes[i].settled || codes[i].address);
        settle_code(&codes[i]);
        if (all)
            settled_count = i + 1;
    }
    KYMO_SECTION_UNLOCK(settle_section);
    PyErr_Restore(type, value, trace);
}

uint64_t kymo__codes_unnamed(void)
{
    return __atomic_load_n(&unnamed, __ATOMIC_RELAXED);
}

void kymo__code_died(PyCodeObject *object)
{
    size_t at;
    uint32_t held, number;
    if (!__atomic_load_n(&slots, __ATOMIC_ACQUIRE) || !kymo__codes_count() ||
        !(number = find_number(object, &at, &held)))
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    KYMO_SECTION_LOCK(settle_section);
    /* Two threads that met it at the same moment may have given it two numbers. */
    for (; number; number = find_number(object, &at, &held)) {
        settle_code(&codes[number - 1]);
        __atomic_store_n(&codes[number - 1].address, (const PyCodeObject *)NULL, __ATOMIC_RELEASE);
    }
    KYMO_SECTION_UNLOCK(settle_section);
    PyErr_Restore(type, value, trace);
    /* Another function may get this address, and stacks with it would look the same. */
    kymo_interpreter_forget();
}

uint32_t kymo__codes_count(void)
{
    uint32_t count = __atomic_load_n(&code_count, __ATOMIC_ACQUIRE);
    return count < CODES_MAX ? count : CODES_MAX;
}

int kymo__code_name(uint32_t number, uint32_t unit, struct kymo_named *named)
{
    if (!number || number > kymo__codes_count())
        return -ENOENT;
    struct code *code = &codes[number - 1];
    uint32_t settled = __atomic_load_n(&code->settled, __ATOMIC_ACQUIRE);
    if (settled != SETTLED)
        return settled == NOTHING ? -ENOENT : -EAGAIN;
    named->name = code->name;
    named->plain = code->plain;
    named->file = code->file;
    named->first_line = code->first_line;
    named->line =
        kymo__line_of(code->lines, code->line_bytes, code->first_line, unit, &code->cursor);
    return 0;
}
