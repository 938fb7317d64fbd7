/* torchcall_none.c — see torchcall.h: a machine whose calling convention we do not know. */
#include "torchcall.h"

void *kymo__torch_starter(unsigned scope)
{
    (void)scope;
    return NULL;
}

void *kymo__torch_ender(unsigned scope)
{
    (void)scope;
    return NULL;
}
