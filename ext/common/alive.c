/* alive.c — see core.h. Py_IsInitialized does not tell: from 3.15 on it is false until `site` has been
   imported, which is when children begin to record. */
#include "core.h"

static bool watched; /* somebody tells when the interpreter has ended, */
static bool ended;   /* and it has */

static void on_end(void)
{
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
}

void kymo__python_begins(void)
{
    /* A program that embeds Python may initialize it again. */
    if (!watched || __atomic_exchange_n(&ended, false, __ATOMIC_ACQ_REL))
        watched = Py_AtExit(on_end) == 0;
}

bool kymo__python_usable(void)
{
    bool there = watched ? !__atomic_load_n(&ended, __ATOMIC_ACQUIRE) : Py_IsInitialized();
    return there && !KYMO_FINALIZING() && !KYMO_NO_THREAD_LEFT();
}
