/* belongings.c — see belongings.h. */
#include "belongings.h"

#include <kymo/memory.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    SLOTS_FIRST = 1 << 16,
    READ_MOST = 16 << 10, /* of a block: larger ones have items or data */
    PENDING_MOST = 1024,
    WORDS_MOST = READ_MOST / sizeof(uintptr_t),
};

struct block {
    uintptr_t at;
    uint64_t size;
    kymo_stack stack; /* 0: unknown */
    bool stays;       /* nobody can free it now */
};

/* Blocks of one object that are still to be read; if they are too many, some are not. */
struct pending {
    struct block blocks[PENDING_MOST];
    size_t count;
};

/* ---- who has an owner ---- */

static uint64_t *slot_of(const struct kymo_belongings *owned, uint64_t address)
{
    size_t mask = owned->slot_count - 1;
    for (size_t i = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;;
         i = (i + 1) & mask)
        if (!owned->slots[i] || owned->slots[i] == address)
            return &owned->slots[i];
}

static bool grow_owned(struct kymo_belongings *owned)
{
    const struct kymo_belongings old = *owned;
    size_t count = old.slot_count ? old.slot_count * 2 : SLOTS_FIRST;
    void *made = mmap(NULL, count * sizeof *owned->slots, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return false;
    owned->slots = made;
    owned->slot_count = count;
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i])
            *slot_of(owned, old.slots[i]) = old.slots[i];
    if (old.slots)
        munmap(old.slots, old.slot_count * sizeof *old.slots);
    return true;
}

/* Returns false if it has an owner already. */
static bool own_address(struct kymo_belongings *owned, uint64_t address)
{
    if (owned->used >= owned->slot_count / 2 && !grow_owned(owned)) {
        owned->short_of_memory = true;
        return false;
    }
    uint64_t *slot = slot_of(owned, address);
    if (*slot)
        return false;
    *slot = address;
    owned->used++;
    return true;
}

void kymo__belongings_free(struct kymo_belongings *owned)
{
    if (owned->slots)
        munmap(owned->slots, owned->slot_count * sizeof *owned->slots);
    *owned = (struct kymo_belongings){0};
}

/* ---- whose is it? ---- */

static bool find_block(uintptr_t address, struct block *block)
{
    struct kymo_birth birth;
    if (kymo__births_find((const void *)address, &birth))
        *block = (struct block){address, birth.size, birth.stack, !birth.raw};
    else
        *block = (struct block){.at = address, .size = kymo_memory_size_of((void *)address)};
    return block->size != 0;
}

/* WORD was found in memory of an object's. If it is the address of a block without an owner, the object
   owns it: returns its size. Most words are addresses of objects. */
static uint64_t take_word(struct kymo_belongings *owned, uintptr_t word, struct pending *pending)
{
    struct block block;
    if (word < READ_MOST || word % sizeof word ||
        kymo__refs_node(owned->refs, (const PyObject *)word) != KYMO__REFS_NONE ||
        !find_block(word, &block) || !own_address(owned, word))
        return 0;
    if (!owned->stack)
        owned->stack = block.stack;
    if (pending->count < PENDING_MOST)
        pending->blocks[pending->count++] = block;
    return block.size;
}

static uint64_t take_words(struct kymo_belongings *owned, const uintptr_t *words, size_t count,
                           struct pending *pending)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += take_word(owned, words[i], pending);
    return bytes;
}

/* If another thread may free the block while it is being read, ask the system to do it. */
static size_t copy_block(const struct block *block, uintptr_t words[WORDS_MOST])
{
    size_t bytes = block->size < READ_MOST ? block->size : READ_MOST;
    bytes -= bytes % sizeof *words;
    const struct iovec to = {words, bytes}, from = {(void *)block->at, bytes};
    if (block->stays)
        memcpy(words, (const void *)block->at, bytes);
    else if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)bytes)
        return 0;
    return bytes / sizeof *words;
}

/* How much of OBJECT, of SIZE bytes, may be addresses of blocks. Items of tuples are objects. */
static size_t readable_part(PyObject *object, size_t size)
{
    const unsigned long none =
        Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS;
    size_t most = READ_MOST;
    if (Py_TYPE(object)->tp_flags & none)
        most = 0;
    else if (PyUnicode_Check(object))
        most = sizeof(PyUnicodeObject);
    return size < most ? size : most;
}

/* The block of which OBJECT has only an address inside; 0: there is none. */
static uintptr_t inner_block(PyObject *object)
{
#if defined(Py_GIL_DISABLED)
    /* Before the items of a list is how many there may be. */
    return PyList_Check(object) ? (uintptr_t)((PyListObject *)object)->ob_item - sizeof(Py_ssize_t)
                                : 0;
#elif PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
    /* Before the values of attributes is their order. */
    const uint8_t *values =
        KYMO_HAS_INLINE_VALUES(Py_TYPE(object)) ? (uint8_t *)KYMO_INLINE_VALUES(object) : NULL;
    return values ? (uintptr_t)(values - values[-1]) : 0;
#else
    (void)object;
    return 0;
#endif
}

/* What comes before the object itself is a dict of attributes, which is one, and links of the
   collector's. */
static size_t size_after(PyObject *object, const struct kymo_birth *birth)
{
    return birth ? (size_t)(birth->size - ((uintptr_t)object - birth->address))
                 : (size_t)Py_TYPE(object)->tp_basicsize;
}

uint64_t kymo__belongings_bytes(struct kymo_belongings *owned, PyObject *object,
                                const struct kymo_birth *birth)
{
    static struct pending pending; /* one thread at a time looks at objects */
    static uintptr_t words[WORDS_MOST];
    owned->stack = 0;
    pending.count = 0;
    uint64_t bytes = take_word(owned, inner_block(object), &pending);
    size_t part = readable_part(object, size_after(object, birth));
    bytes += take_words(owned, (const uintptr_t *)object, part / sizeof(uintptr_t), &pending);
    if (PyType_Check(object)) /* it leads to what a library knows of all its types */
        return bytes;
    while (pending.count) {
        const struct block block = pending.blocks[--pending.count];
        bytes += take_words(owned, words, copy_block(&block, words), &pending);
    }
    return bytes;
}
