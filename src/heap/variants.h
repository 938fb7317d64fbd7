/* variants.h — write a hook once and get all its variants (hooked.h).

   BODY is a function whose first argument is the address of the function to call. HOOK_VARIANTS
   defines hooks called ID_0, ID_1, …; HOOK_ENTER puts them into a table. HOOK_SAMPLED is
   HOOK_VARIANTS for hooks of the sampled mode. */
#ifndef KYMO_VARIANTS_H
#define KYMO_VARIANTS_H

#include "atomic.h"
#include "hooked.h"

#define HOOK_VARIANT(calls, ID, number, result, body, parameters, ...)                             \
    static result ID##_##number parameters                                                         \
    {                                                                                              \
        return body(kymo__load_relaxed(&kymo__hooked.calls[KYMO__##ID][number]), __VA_ARGS__);     \
    }

#define HOOK_EACH_VARIANT(calls, ID, result, body, parameters, ...)                                \
    HOOK_VARIANT(calls, ID, 0, result, body, parameters, __VA_ARGS__)                              \
    HOOK_VARIANT(calls, ID, 1, result, body, parameters, __VA_ARGS__)                              \
    HOOK_VARIANT(calls, ID, 2, result, body, parameters, __VA_ARGS__)

#define HOOK_VARIANTS(...) HOOK_EACH_VARIANT(original, __VA_ARGS__)
#define HOOK_SAMPLED(...) HOOK_EACH_VARIANT(onward, __VA_ARGS__)

#define HOOK_ENTER(table, ID)                                                                      \
    do {                                                                                           \
        (table)[KYMO__##ID][0] = (kymo_code *)ID##_0;                                              \
        (table)[KYMO__##ID][1] = (kymo_code *)ID##_1;                                              \
        (table)[KYMO__##ID][2] = (kymo_code *)ID##_2;                                              \
    } while (0)

/* CREATE for each operator new, DESTROY for each operator delete. */
#define HOOK_OPERATORS(CREATE, DESTROY)                                                            \
    CREATE(NEW)                                                                                    \
    CREATE(ARRAY)                                                                                  \
    CREATE(NEW_ALIGNED)                                                                            \
    CREATE(ARRAY_ALIGNED)                                                                          \
    CREATE(NEW_NOTHROW)                                                                            \
    CREATE(ARRAY_NOTHROW)                                                                          \
    CREATE(NEW_ALIGNED_NOTHROW)                                                                    \
    CREATE(ARRAY_ALIGNED_NOTHROW)                                                                  \
    DESTROY(DELETE)                                                                                \
    DESTROY(DELETE_SIZED)                                                                          \
    DESTROY(DELETE_NOTHROW)                                                                        \
    DESTROY(DELETE_ALIGNED)                                                                        \
    DESTROY(DELETE_SIZED_ALIGNED)                                                                  \
    DESTROY(DELETE_ALIGNED_NOTHROW)                                                                \
    DESTROY(DELETE_ARRAY)                                                                          \
    DESTROY(DELETE_ARRAY_SIZED)                                                                    \
    DESTROY(DELETE_ARRAY_NOTHROW)                                                                  \
    DESTROY(DELETE_ARRAY_ALIGNED)                                                                  \
    DESTROY(DELETE_ARRAY_SIZED_ALIGNED)                                                            \
    DESTROY(DELETE_ARRAY_ALIGNED_NOTHROW)

/* The key of the name that events of function ID show. */
#define HOOK_KEY(ID) hook_key(HOOK_KEY_AT(ID))

/* Where it is: for hooks that seldom need it. */
#define HOOK_KEY_AT(ID) &kymo__hooked.key[0][KYMO__##ID]

static inline uint32_t hook_key(const uint32_t *usual)
{
    return kymo__load_relaxed(kymo__memory_thread.loading ? usual + KYMO__FUNCTION_COUNT : usual);
}

/* The function at ADDRESS, as a pointer of TYPE. */
#define HOOK_CALL(type, address) ((type)(uintptr_t)(address))

#define HOOK_INLINE static inline __attribute__((always_inline))

static_assert(KYMO__VARIANTS == 3, "HOOK_EACH_VARIANT makes three");

#endif
