/* thunks.c — see thunks.h.

   Every thunk must know whose it is, and the interpreter tells it nothing but the
   arguments, so there is one function for each, all alike but for a number. They take as
   many arguments as any kind of C function does and pass them on; with the calling
   conventions of x86_64 and aarch64 the ones too many do no harm. */
#include "thunks.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ccalls.h"
#include "core.h"
#include "tracer.h"

typedef PyObject *any_function(void *, void *, void *, void *, void *);

enum { THUNKS = 4096 };

static struct thunk {
    any_function *original;
    PyMethodDef *def; /* NULL: not in use */
    uint32_t key;
} thunks[THUNKS];
static int count;

static PyObject *run(struct thunk *thunk, void *a, void *b, void *c, void *d, void *e)
{
    uint32_t key = __atomic_load_n(&thunk->key, __ATOMIC_RELAXED);
    if (key)
        kymo__trace_enter(0, key);
    PyObject *result = thunk->original(a, b, c, d, e);
    if (key)
        kymo__trace_at(KYMO_LEAVE, result ? 0 : 2, key, kymo_ticks());
    return result;
}

/* The formatter folds lists of macros differently each time. */
/* clang-format off */
#define T1(n)                                                                                      \
    static PyObject *thunk_##n(void *a, void *b, void *c, void *d, void *e)                        \
    {                                                                                              \
        return run(&thunks[0x##n], a, b, c, d, e);                                                 \
    }
#define T16(n)                                                                                     \
    T1(n##0)                                                                                       \
    T1(n##1)                                                                                       \
    T1(n##2) T1(n##3) T1(n##4) T1(n##5) T1(n##6) T1(n##7) T1(n##8) T1(n##9) T1(n##a) T1(n##b)      \
        T1(n##c) T1(n##d) T1(n##e) T1(n##f)
#define T256(n)                                                                                    \
    T16(n##0)                                                                                      \
    T16(n##1)                                                                                      \
    T16(n##2) T16(n##3) T16(n##4) T16(n##5) T16(n##6) T16(n##7) T16(n##8) T16(n##9) T16(n##a)      \
        T16(n##b) T16(n##c) T16(n##d) T16(n##e) T16(n##f)
T256(0)
T256(1)
T256(2) T256(3) T256(4) T256(5) T256(6) T256(7) T256(8) T256(9) T256(a) T256(b) T256(c) T256(d)
    T256(e) T256(f)
#undef T1
#define T1(n) thunk_##n,
        static any_function *const functions[THUNKS] = {
            T256(0) T256(1) T256(2) T256(3) T256(4) T256(5) T256(6) T256(7) T256(8) T256(9) T256(a)
                T256(b) T256(c) T256(d) T256(e) T256(f)};
/* clang-format on */

/* Store FUNCTION into DEF, also where the loader has made it read-only. */
static void set_function(PyMethodDef *def, PyCFunction function)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)&def->ml_meth & ~(page - 1);
    /* msync tells nothing about permissions; asking for them is the portable way. What was
       read-only becomes writable for good: it is data of a library, not code. */
    if (mprotect((void *)first, page, PROT_READ | PROT_WRITE) == 0)
        __atomic_store_n(&def->ml_meth, function, __ATOMIC_RELEASE);
}

static PyMethodDef *def_of(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyCFunction_Type) || Py_IS_TYPE(callable, &PyCMethod_Type))
        return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type))
        return ((PyMethodDescrObject *)callable)->d_method;
    return NULL;
}

/* The interpreter compares the addresses of these. */
static bool must_stay(const PyMethodDef *def)
{
    static const char *const names[] = {"__new__", "__getstate__", "persistent_id",
                                        "persistent_load"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(def->ml_name, names[i]) == 0)
            return true;
    return false;
}

static bool has_thunk(const PyMethodDef *def)
{
    any_function *now = (any_function *)(void *)def->ml_meth;
    for (int i = 0; i < count; i++)
        if (thunks[i].def == def || functions[i] == now)
            return true;
    return false;
}

int kymo__thunks_install(PyObject *list)
{
    kymo__thunks_remove();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list) && count < THUNKS; i++) {
        PyObject *callable = PyList_GET_ITEM(list, i);
        PyMethodDef *def = def_of(callable);
        if (!def || !def->ml_meth || must_stay(def) || has_thunk(def))
            continue;
        uint32_t key = kymo__callable_key(callable, def);
        if (PyErr_Occurred())
            return -1;
        if (!key || key == KYMO_LEFT_OUT)
            continue;
        thunks[count] = (struct thunk){(any_function *)(void *)def->ml_meth, def, key};
        set_function(def, (PyCFunction)(void *)functions[count]);
        count++;
    }
    return 0;
}

void kymo__thunks_remove(void)
{
    for (int i = 0; i < count; i++) {
        __atomic_store_n(&thunks[i].key, 0u, __ATOMIC_RELAXED);
        if ((any_function *)(void *)thunks[i].def->ml_meth == functions[i])
            set_function(thunks[i].def, (PyCFunction)(void *)thunks[i].original);
        /* `original` stays: a thread may be on its way through. */
    }
    count = 0;
}
