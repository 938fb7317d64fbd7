/* codewatch.c — see codewatch.h. */
#include "codewatch.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

enum { LISTENERS = 2 }; /* captured stacks, and the tracer */
static kymo_code_listener *listeners[LISTENERS];

static void code_dies(PyCodeObject *code)
{
    for (size_t i = 0; i < LISTENERS; i++)
        if (listeners[i])
            listeners[i](code);
}

#if KYMO_HAS_CODE_WATCHER
static int on_code(PyCodeEvent event, PyCodeObject *code)
{
    if (event == PY_CODE_EVENT_DESTROY)
        code_dies(code);
    return 0;
}

static int watch_codes(void)
{
    static int watcher = -1;
    if (watcher < 0)
        watcher = PyCode_AddWatcher(on_code);
    return watcher < 0 ? -1 : 0;
}

static void unwatch(void) {} /* the watcher stays installed and finds no listener */
#else
/* For versions without code watchers: replace the deallocator of the code type. */
static destructor code_dealloc;

static void dealloc(PyObject *code)
{
    code_dies((PyCodeObject *)code);
    code_dealloc(code);
}

static int watch_codes(void)
{
    if (PyCode_Type.tp_dealloc != dealloc) {
        code_dealloc = PyCode_Type.tp_dealloc;
        PyCode_Type.tp_dealloc = dealloc;
    }
    return 0;
}

static void unwatch(void)
{
    if (PyCode_Type.tp_dealloc == dealloc)
        PyCode_Type.tp_dealloc = code_dealloc;
}
#endif

int kymo__code_deaths_watch(kymo_code_listener *listener)
{
    size_t place = LISTENERS;
    for (size_t i = 0; i < LISTENERS; i++)
        if (listeners[i] == listener || (!listeners[i] && place == LISTENERS))
            place = i;
    assert(place < LISTENERS);
    listeners[place] = listener;
    return watch_codes();
}

void kymo__code_deaths_ignore(kymo_code_listener *listener)
{
    bool any = false;
    for (size_t i = 0; i < LISTENERS; i++) {
        if (listeners[i] == listener)
            listeners[i] = NULL;
        any |= listeners[i] != NULL;
    }
    if (!any)
        unwatch();
}
