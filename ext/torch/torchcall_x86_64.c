/* torchcall_x86_64.c — see torchcall.h. The result's place is the first argument and is returned. We
   return no object: a null pointer. */
#include "torchcall.h"

#define PAIR(scope)                                                                                \
    static void *start##scope(void **result, const void *record)                                   \
    {                                                                                              \
        kymo__torch_starts(record, scope);                                                         \
        *result = NULL;                                                                            \
        return result;                                                                             \
    }                                                                                              \
    static void end##scope(const void *record, void *context)                                      \
    {                                                                                              \
        (void)context;                                                                             \
        kymo__torch_ends(record, scope);                                                           \
    }
PAIR(0)
PAIR(1)
PAIR(2)
PAIR(3)
PAIR(4)
PAIR(5)
PAIR(6)
PAIR(7)
PAIR(8)
PAIR(9)

void *kymo__torch_starter(unsigned scope)
{
    static void *(*const starts[KYMO__TORCH_SCOPES])(void **, const void *) = {
        start0, start1, start2, start3, start4, start5, start6, start7, start8, start9};
    return (void *)(uintptr_t)starts[scope];
}

void *kymo__torch_ender(unsigned scope)
{
    static void (*const ends[KYMO__TORCH_SCOPES])(const void *, void *) = {
        end0, end1, end2, end3, end4, end5, end6, end7, end8, end9};
    return (void *)(uintptr_t)ends[scope];
}
