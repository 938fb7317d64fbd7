/* interpreters.c — see interpreters.h. */
#include "interpreters.h"

#include <stdio.h>

#include "compat.h"

#include <kymo/mark.h>

/* Numbers of interpreters are given out in order, so the next one tells how many were created. It is
   not in the API. */
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* 3.11 defines it again */
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

static int64_t next_before;
static unsigned count_before;

static int64_t next_number(void)
{
    return _PyRuntime.interpreters.next_id;
}

/* How many there are besides the main one. */
static unsigned count_now(void)
{
    unsigned count = 0;
    for (PyInterpreterState *i = PyInterpreterState_Head(); i; i = PyInterpreterState_Next(i))
        count += i != PyInterpreterState_Main();
    return count;
}

static void note_count(unsigned long long count)
{
    char text[24];
    if (!count)
        return;
    snprintf(text, sizeof text, "%llu", count);
    kymo_metadata("python.subinterpreters", text);
}

void kymo__interpreters_begin(void)
{
    next_before = next_number();
    count_before = count_now();
    note_count(count_before);
}

void kymo__interpreters_end(void)
{
    int64_t created = next_number() - next_before;
    note_count(count_before + (unsigned long long)(created > 0 ? created : 0));
}
