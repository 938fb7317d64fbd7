/* hooked.h — the functions that are intercepted: one table of symbols, used by the hooks and by
   what patches slots.

   Slots of one symbol may lead to different functions: a library with an allocator of its own beside
   the C library's. A block must go back to the allocator that it came from, so a hook has to call
   what its slot led to. Each hook therefore exists in several variants that differ only in the
   function they call. A slot gets the variant of its function; slots with further functions are
   left alone and counted.

   The sampled mode has hooks of its own, which do nothing but count for nearly every call. */
#ifndef KYMO_HOOKED_H
#define KYMO_HOOKED_H

#include <kymo/memory.h>

enum { KYMO__VARIANTS = 3 };

/* A function that has no hook of one kind uses the one of the kind before. */
enum kymo_hook_kind {
    KYMO__HOOK_REPORTING, /* for calls that are all reported: hooks.c, hooks_new.c, … */
    KYMO__HOOK_NESTING,   /* hooks_nesting.c: sampled; what it calls may call further hooks */
    KYMO__HOOK_PASSING,   /* hooks_passing.c: sampled; what it calls does not */
    KYMO__HOOK_KINDS
};

/* Symbol, identifier, the name that events show or "" when it allocates nothing, what it belongs to
   (0: always intercepted). */
#define KYMO__FUNCTIONS(X)                                                                         \
    X("malloc", MALLOC, "malloc", KYMO_MEMORY_NATIVE)                                              \
    X("calloc", CALLOC, "calloc", KYMO_MEMORY_NATIVE)                                              \
    X("realloc", REALLOC, "realloc", KYMO_MEMORY_NATIVE)                                           \
    X("reallocarray", REALLOCARRAY, "reallocarray", KYMO_MEMORY_NATIVE)                            \
    X("aligned_alloc", ALIGNED_ALLOC, "aligned_alloc", KYMO_MEMORY_NATIVE)                         \
    X("posix_memalign", POSIX_MEMALIGN, "posix_memalign", KYMO_MEMORY_NATIVE)                      \
    X("memalign", MEMALIGN, "memalign", KYMO_MEMORY_NATIVE)                                        \
    X("valloc", VALLOC, "valloc", KYMO_MEMORY_NATIVE)                                              \
    X("pvalloc", PVALLOC, "pvalloc", KYMO_MEMORY_NATIVE)                                           \
    X("free", FREE, "", KYMO_MEMORY_NATIVE)                                                        \
    X("cfree", CFREE, "", KYMO_MEMORY_NATIVE)                                                      \
    X("free_sized", FREE_SIZED, "", KYMO_MEMORY_NATIVE)                                            \
    X("free_aligned_sized", FREE_ALIGNED_SIZED, "", KYMO_MEMORY_NATIVE)                            \
    X("_Znwm", NEW, "operator new", KYMO_MEMORY_NATIVE)                                            \
    X("_ZnwmRKSt9nothrow_t", NEW_NOTHROW, "operator new", KYMO_MEMORY_NATIVE)                      \
    X("_ZnwmSt11align_val_t", NEW_ALIGNED, "operator new", KYMO_MEMORY_NATIVE)                     \
    X("_ZnwmSt11align_val_tRKSt9nothrow_t", NEW_ALIGNED_NOTHROW, "operator new",                   \
      KYMO_MEMORY_NATIVE)                                                                          \
    X("_Znam", ARRAY, "operator new[]", KYMO_MEMORY_NATIVE)                                        \
    X("_ZnamRKSt9nothrow_t", ARRAY_NOTHROW, "operator new[]", KYMO_MEMORY_NATIVE)                  \
    X("_ZnamSt11align_val_t", ARRAY_ALIGNED, "operator new[]", KYMO_MEMORY_NATIVE)                 \
    X("_ZnamSt11align_val_tRKSt9nothrow_t", ARRAY_ALIGNED_NOTHROW, "operator new[]",               \
      KYMO_MEMORY_NATIVE)                                                                          \
    X("_ZdlPv", DELETE, "", KYMO_MEMORY_NATIVE)                                                    \
    X("_ZdlPvm", DELETE_SIZED, "", KYMO_MEMORY_NATIVE)                                             \
    X("_ZdlPvRKSt9nothrow_t", DELETE_NOTHROW, "", KYMO_MEMORY_NATIVE)                              \
    X("_ZdlPvSt11align_val_t", DELETE_ALIGNED, "", KYMO_MEMORY_NATIVE)                             \
    X("_ZdlPvmSt11align_val_t", DELETE_SIZED_ALIGNED, "", KYMO_MEMORY_NATIVE)                      \
    X("_ZdlPvSt11align_val_tRKSt9nothrow_t", DELETE_ALIGNED_NOTHROW, "", KYMO_MEMORY_NATIVE)       \
    X("_ZdaPv", DELETE_ARRAY, "", KYMO_MEMORY_NATIVE)                                              \
    X("_ZdaPvm", DELETE_ARRAY_SIZED, "", KYMO_MEMORY_NATIVE)                                       \
    X("_ZdaPvRKSt9nothrow_t", DELETE_ARRAY_NOTHROW, "", KYMO_MEMORY_NATIVE)                        \
    X("_ZdaPvSt11align_val_t", DELETE_ARRAY_ALIGNED, "", KYMO_MEMORY_NATIVE)                       \
    X("_ZdaPvmSt11align_val_t", DELETE_ARRAY_SIZED_ALIGNED, "", KYMO_MEMORY_NATIVE)                \
    X("_ZdaPvSt11align_val_tRKSt9nothrow_t", DELETE_ARRAY_ALIGNED_NOTHROW, "", KYMO_MEMORY_NATIVE) \
    X("mmap", MMAP, "mmap", KYMO_MEMORY_MAPPINGS)                                                  \
    X("mmap64", MMAP64, "mmap", KYMO_MEMORY_MAPPINGS)                                              \
    X("munmap", MUNMAP, "", KYMO_MEMORY_MAPPINGS)                                                  \
    X("mremap", MREMAP, "mremap", KYMO_MEMORY_MAPPINGS)                                            \
    X("brk", BRK, "brk", KYMO_MEMORY_MAPPINGS)                                                     \
    X("sbrk", SBRK, "brk", KYMO_MEMORY_MAPPINGS)                                                   \
    X("PyTraceMalloc_Track", TRACK, "", KYMO_MEMORY_TRACKED)                                       \
    X("PyTraceMalloc_Untrack", UNTRACK, "", KYMO_MEMORY_TRACKED)                                   \
    X("dlopen", DLOPEN, "", 0)                                                                     \
    X("dlmopen", DLMOPEN, "", 0)

enum kymo_hooked_id {
#define KYMO__FUNCTION_ID(symbol, id, name, what) KYMO__##id,
    KYMO__FUNCTIONS(KYMO__FUNCTION_ID)
#undef KYMO__FUNCTION_ID
        KYMO__FUNCTION_COUNT
};

/* For the hooks: what each variant calls, and in events of this session the key of its name.
   Entries of `original` are only added, since a hook may still be called after the end: the program
   may have kept the address that it found in a slot. */
struct kymo_hooked {
    void *original[KYMO__FUNCTION_COUNT][KYMO__VARIANTS];
    /* What hooks of the sampled mode call: the same while it is on, otherwise the reporting hook. */
    void *onward[KYMO__FUNCTION_COUNT][KYMO__VARIANTS];
    uint32_t sampling;                     /* 1: it is on */
    uint32_t key[2][KYMO__FUNCTION_COUNT]; /* usually; and while the thread loads an object */
};
extern struct kymo_hooked kymo__hooked __attribute__((visibility("hidden")));

/* While an object is loaded, its constructors run before its slots can be patched: they may get
   memory through a library that is patched, and free it unseen. Readers know such blocks by the end
   of the function's name. */
#define KYMO__WHILE_LOADING " while loading"

/* The hooks: hooks.c and each hooks_….c fill their entries. */
typedef void kymo_code(void);
typedef kymo_code *kymo_hook_table[KYMO__FUNCTION_COUNT][KYMO__VARIANTS];
void kymo__hooks_malloc(kymo_hook_table table);
void kymo__hooks_new(kymo_hook_table table);
void kymo__hooks_map(kymo_hook_table table);
void kymo__hooks_track(kymo_hook_table table);
void kymo__hooks_load(kymo_hook_table table);
void kymo__hooks_nesting(kymo_hook_table table);
void kymo__hooks_passing(kymo_hook_table table);

/* The function called NAME, or -1. */
int kymo__hooked_find(const char *name);
const char *kymo__hooked_symbol(int id);
unsigned kymo__hooked_what(int id);

/* Look up the keys of all names in the running session. */
void kymo__hooked_keys(void);

/* A session begins that records in the sampled mode or not. Under the lock of patchset.c. */
void kymo__hooked_begin(bool sampled);

/* The hook of KIND for a slot of function ID that leads to ORIGINAL, or NULL when there are too many
   different ones. Under the lock of patchset.c. */
kymo_code *kymo__hooked_hook(int id, enum kymo_hook_kind kind, void *original);

/* Is ADDRESS one of the hooks of function ID? */
bool kymo__hooked_is_hook(int id, const void *address);

#endif
