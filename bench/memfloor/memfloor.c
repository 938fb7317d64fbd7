/* memfloor.c — a Python extension for bench_memory.py: the least that recording memory can cost.

   It intercepts allocations the way Kymograph does and passes them on, or also reads the counter
   once for every event: before a free, and after an allocation. What Kymograph costs above
   the second is what Kymograph does. Objects that are loaded after start are left alone, so with
   imports the floor of native allocations is slightly too low. bench/tracer/floor.py compiles it; it
   is not part of the package. */
#include "compat.h"

#include <dlfcn.h>
#include <elf.h>
#include <kymo/arch.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static __thread struct {
    bool inside;   /* an allocator calls another one; one of them is an event */
    uint64_t last; /* where the counter goes, so that reading it has a purpose */
} mine __attribute__((tls_model("initial-exec")));

static inline bool enter_call(void)
{
    bool outermost = !mine.inside;
    mine.inside = true;
    return outermost;
}

/* Without the barrier that an allocation needs once there are several threads: see
   kymo__ticks_after. */
static inline void read_counter(void)
{
    mine.last = kymo__counter_read();
}

/* CALL, around which the counter is read. */
#define ALLOCATING(call)                                                                           \
    do {                                                                                           \
        if (!enter_call())                                                                         \
            return call;                                                                           \
        void *at = call;                                                                           \
        read_counter();                                                                            \
        mine.inside = false;                                                                       \
        return at;                                                                                 \
    } while (0)

#define RESIZING(call)                                                                             \
    do {                                                                                           \
        if (!enter_call())                                                                         \
            return call;                                                                           \
        read_counter();                                                                            \
        void *at = call;                                                                           \
        read_counter();                                                                            \
        mine.inside = false;                                                                       \
        return at;                                                                                 \
    } while (0)

#define RELEASING(at, call)                                                                        \
    do {                                                                                           \
        bool outermost = (at) && enter_call();                                                     \
        if (outermost)                                                                             \
            read_counter();                                                                        \
        call;                                                                                      \
        if (outermost)                                                                             \
            mine.inside = false;                                                                   \
    } while (0)

/* ---- Python's domains ---- */

enum { DOMAINS = 3 };

static PyMemAllocatorEx below[DOMAINS]; /* what is wrapped; static, like Kymograph's */

#define WRAPPERS(name, number)                                                                     \
    static void *name##_malloc(void *Py_UNUSED(ctx), size_t size)                                  \
    {                                                                                              \
        return below[number].malloc(below[number].ctx, size);                                      \
    }                                                                                              \
    static void *name##_calloc(void *Py_UNUSED(ctx), size_t count, size_t size)                    \
    {                                                                                              \
        return below[number].calloc(below[number].ctx, count, size);                               \
    }                                                                                              \
    static void *name##_realloc(void *Py_UNUSED(ctx), void *from, size_t size)                     \
    {                                                                                              \
        return below[number].realloc(below[number].ctx, from, size);                               \
    }                                                                                              \
    static void name##_free(void *Py_UNUSED(ctx), void *at)                                        \
    {                                                                                              \
        below[number].free(below[number].ctx, at);                                                 \
    }                                                                                              \
    static void *name##_malloc_reading(void *ctx, size_t size)                                     \
    {                                                                                              \
        ALLOCATING(name##_malloc(ctx, size));                                                      \
    }                                                                                              \
    static void *name##_calloc_reading(void *ctx, size_t count, size_t size)                       \
    {                                                                                              \
        ALLOCATING(name##_calloc(ctx, count, size));                                               \
    }                                                                                              \
    static void *name##_realloc_reading(void *ctx, void *from, size_t size)                        \
    {                                                                                              \
        RESIZING(name##_realloc(ctx, from, size));                                                 \
    }                                                                                              \
    static void name##_free_reading(void *ctx, void *at)                                           \
    {                                                                                              \
        RELEASING(at, name##_free(ctx, at));                                                       \
    }

WRAPPERS(raw, PYMEM_DOMAIN_RAW)
WRAPPERS(mem, PYMEM_DOMAIN_MEM)
WRAPPERS(obj, PYMEM_DOMAIN_OBJ)

#define WRAPPED(name)                                                                              \
    {                                                                                              \
        {NULL, name##_malloc, name##_calloc, name##_realloc, name##_free},                         \
        {                                                                                          \
            NULL, name##_malloc_reading, name##_calloc_reading, name##_realloc_reading,            \
                name##_free_reading                                                                \
        }                                                                                          \
    }

static const PyMemAllocatorEx wrappers[DOMAINS][2] = {
    [PYMEM_DOMAIN_RAW] = WRAPPED(raw),
    [PYMEM_DOMAIN_MEM] = WRAPPED(mem),
    [PYMEM_DOMAIN_OBJ] = WRAPPED(obj),
};

static void wrap_domains(bool reading)
{
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx ours = wrappers[i][reading];
        PyMem_GetAllocator((PyMemAllocatorDomain)i, &below[i]);
        ours.ctx = below[i].ctx;
        PyMem_SetAllocator((PyMemAllocatorDomain)i, &ours);
    }
}

static void unwrap_domains(void)
{
    for (int i = 0; i < DOMAINS; i++)
        PyMem_SetAllocator((PyMemAllocatorDomain)i, &below[i]);
}

/* ---- malloc and its family ---- */

static void *native_malloc(size_t size)
{
    return malloc(size);
}

static void *native_calloc(size_t count, size_t size)
{
    return calloc(count, size);
}

static void *native_realloc(void *from, size_t size)
{
    return realloc(from, size);
}

static void native_free(void *at)
{
    free(at);
}

static void *native_malloc_reading(size_t size)
{
    ALLOCATING(malloc(size));
}

static void *native_calloc_reading(size_t count, size_t size)
{
    ALLOCATING(calloc(count, size));
}

static void *native_realloc_reading(void *from, size_t size)
{
    RESIZING(realloc(from, size));
}

static void native_free_reading(void *at)
{
    RELEASING(at, free(at));
}

static const struct {
    const char *name;
    uintptr_t function, hooks[2];
} natives[] = {
    {"malloc", (uintptr_t)malloc, {(uintptr_t)native_malloc, (uintptr_t)native_malloc_reading}},
    {"calloc", (uintptr_t)calloc, {(uintptr_t)native_calloc, (uintptr_t)native_calloc_reading}},
    {"realloc", (uintptr_t)realloc, {(uintptr_t)native_realloc, (uintptr_t)native_realloc_reading}},
    {"free", (uintptr_t)free, {(uintptr_t)native_free, (uintptr_t)native_free_reading}},
};
enum { NATIVES = sizeof natives / sizeof natives[0], SLOTS_MOST = 4096 };

static struct {
    uintptr_t *at, before;
} slots[SLOTS_MOST];
static size_t slot_count;

/* Change the slot at AT if it leads to function NUMBER. The page stays writable. */
static void patch_slot(uintptr_t *at, int number, bool reading)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)at & ~(size - 1);
    if (*at != natives[number].function || slot_count == SLOTS_MOST ||
        mprotect((void *)page, size, PROT_READ | PROT_WRITE) < 0)
        return;
    slots[slot_count].at = at;
    slots[slot_count++].before = *at;
    __atomic_store_n(at, natives[number].hooks[reading], __ATOMIC_RELAXED);
}

struct tables {
    uintptr_t jumps, others, symbols, strings;
    size_t jumps_size, others_size;
};

static void read_dynamic(const ElfW(Dyn) * entry, struct tables *tables)
{
    for (; entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_JMPREL:
            tables->jumps = entry->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            tables->jumps_size = entry->d_un.d_val;
            break;
        case DT_RELA:
            tables->others = entry->d_un.d_ptr;
            break;
        case DT_RELASZ:
            tables->others_size = entry->d_un.d_val;
            break;
        case DT_SYMTAB:
            tables->symbols = entry->d_un.d_ptr;
            break;
        case DT_STRTAB:
            tables->strings = entry->d_un.d_ptr;
            break;
        default:
            break;
        }
}

static void patch_relocations(uintptr_t base, const struct tables *tables, uintptr_t at,
                              size_t size, bool reading)
{
    const ElfW(Rela) *relocation = (const ElfW(Rela) *)at;
    for (size_t i = 0; i < size / sizeof *relocation; i++, relocation++) {
        const ElfW(Sym) *symbol =
            (const ElfW(Sym) *)tables->symbols + ELF64_R_SYM(relocation->r_info);
        const char *name = (const char *)tables->strings + symbol->st_name;
        for (int n = 0; n < NATIVES; n++)
            if (ELF64_R_SYM(relocation->r_info) && strcmp(name, natives[n].name) == 0)
                patch_slot((uintptr_t *)(base + relocation->r_offset), n, reading);
    }
}

static int patch_object(struct dl_phdr_info *info, size_t Py_UNUSED(size), void *arg)
{
    Dl_info own;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    struct tables tables = {0};
    if (dynamic)
        read_dynamic(dynamic, &tables);
    /* The tables of the kernel's object are not relocated. */
    if (!dynamic || tables.strings < info->dlpi_addr || info->dlpi_addr == _r_debug.r_ldbase ||
        !dladdr(natives, &own) || info->dlpi_addr == (uintptr_t)own.dli_fbase)
        return 0;
    bool reading = *(bool *)arg;
    patch_relocations(info->dlpi_addr, &tables, tables.jumps, tables.jumps_size, reading);
    patch_relocations(info->dlpi_addr, &tables, tables.others, tables.others_size, reading);
    return 0;
}

static void unpatch_slots(void)
{
    while (slot_count) {
        slot_count--;
        __atomic_store_n(slots[slot_count].at, slots[slot_count].before, __ATOMIC_RELAXED);
    }
}

/* ---- the module ---- */

static PyObject *start(PyObject *Py_UNUSED(module), PyObject *args)
{
    int reading, native;
    if (!PyArg_ParseTuple(args, "pp", &reading, &native))
        return NULL;
    bool counter = reading;
    if (native)
        dl_iterate_phdr(patch_object, &counter);
    wrap_domains(counter);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    unwrap_domains();
    unpatch_slots();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, "start(reading, native): intercept allocations until stop()"},
    {"stop", stop, METH_NOARGS, "stop(): leave the allocators as start() found them"},
    {0},
};

static PyModuleDef_Slot module_slots[] = {
    KYMO_LAST_SLOTS,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "memfloor",
    .m_methods = methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit_memfloor(void);
PyMODINIT_FUNC PyInit_memfloor(void)
{
    return PyModuleDef_Init(&module);
}
