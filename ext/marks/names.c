/* names.c — Python strings as names for marking calls.

   The library requires names that stay in place until the session ends; kymo_intern makes them,
   under a lock. To pay for that only once per name, a small cache maps str objects, by identity, to
   pointers. An entry is valid for one session of one process: the end of a session frees its names,
   and a forked child has its own sessions.

   A session must not end between looking up a name and marking with it. Our own stop runs without
   the GIL, so it shuts the names first; a marking call never releases the GIL half-way. Without a
   GIL a mutex does the same. */
#include "marks.h"

#include <pthread.h>

enum {
    SLOTS = 1024,        /* a power of two */
    LONGEST_CACHED = 256 /* characters: the cache keeps its strings alive */
};

struct slot {
    PyObject *text;   /* owned, an exact str; NULL when unused */
    const char *name; /* the library's */
    uint32_t session;
    uint32_t process;
};

struct kymo__names {
    struct slot slots[SLOTS];
};

/* These belong to the process, as the session does. Access inside `section`. */
static int stopping;     /* how many stops are under way */
static uint32_t process; /* number of forks since the import */
KYMO_SECTION(section);

static void after_fork_in_child(void)
{
    KYMO_SECTION_RESET(section);
    stopping = 0;
    process++;
}

static void register_fork(void)
{
    /* If this fails, a child that records keeps names of its parent's session, which are still in
       its memory. */
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

struct kymo__names *kymo__names_new(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork);
    struct kymo__names *names = PyMem_Calloc(1, sizeof *names);
    if (!names)
        PyErr_NoMemory();
    return names;
}

void kymo__names_free(struct kymo__names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        Py_XDECREF(names->slots[i].text);
    PyMem_Free(names);
}

static uint32_t current_session(void)
{
    return __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
}

/* Strings are 16-byte aligned; neighbours differ in bit 6 and up. */
static struct slot *slot_of(struct kymo__names *names, const PyObject *text)
{
    uintptr_t address = (uintptr_t)text >> 4;
    return &names->slots[(address ^ (address >> 10)) & (SLOTS - 1)];
}

static inline const char *look_up(struct kymo__names *names, PyObject *text)
{
    const struct slot *slot = slot_of(names, text);
    if (slot->text == text && slot->session == current_session() && slot->process == process)
        return slot->name;
    return NULL;
}

static void remember_name(struct kymo__names *names, PyObject *text, const char *name,
                          uint32_t session)
{
    struct slot *slot = slot_of(names, text);
    Py_INCREF(text);
    Py_XSETREF(slot->text, text); /* an exact str: freeing it runs no code */
    slot->name = name;
    slot->session = session;
    slot->process = process;
}

static bool worth_caching(PyObject *text)
{
    return PyUnicode_CheckExact(text) && PyUnicode_GET_LENGTH(text) <= LONGEST_CACHED;
}

/* The name of an event whose own name cannot be stored. It is still marked, so that the library
   records it or counts it as lost. */
static const char no_name[] = "(name lost: out of memory)";

/* The library's copy of UTF8. It returns its argument if it cannot copy. */
static const char *intern(const char *utf8)
{
    const char *name = kymo_intern(utf8);
    return name == utf8 ? no_name : name;
}

/* The name for TEXT in SESSION, which is running; UTF8 is NULL if memory was short. */
static const char *keep_name(struct core *core, PyObject *text, const char *utf8, uint32_t session)
{
    const char *name = utf8 ? intern(utf8) : no_name;
    if (name != no_name && worth_caching(text))
        remember_name(core->names, text, name, session);
    return name;
}

/* TEXT is not in the cache. */
static __attribute__((noinline)) const char *hold_new(struct core *core, PyObject *text)
{
    const char *name = NULL;
    /* Encoding may trigger a garbage collection, and with it other marking calls. */
    KYMO_SECTION_UNLOCK(section);
    PyObject *owner;
    const char *utf8 = kymo__text_utf8(text, &owner);
    if (!utf8)
        PyErr_Clear();
    KYMO_SECTION_LOCK(section);

    uint32_t session = current_session();
    if (session && !stopping)
        name = keep_name(core, text, utf8, session);
    Py_XDECREF(owner); /* bytes: freeing it runs no code */
    return name;
}

const char *kymo__name_hold(struct core *core, PyObject *text)
{
    KYMO_SECTION_LOCK(section);
    if (!kymo_running() || stopping)
        return NULL;
    const char *name = look_up(core->names, text);
    return __builtin_expect(name != NULL, 1) ? name : hold_new(core, text);
}

/* Some of TEXTS are not cached. Encode all before looking up any: the session may change
   meanwhile. */
static __attribute__((noinline)) bool hold_some_new(struct core *core, PyObject *texts,
                                                    const char **names)
{
    PyObject *owners[KYMO__TEXTS_MOST];
    Py_ssize_t count = PyTuple_GET_SIZE(texts);
    KYMO_SECTION_UNLOCK(section);
    for (Py_ssize_t i = 0; i < count; i++) {
        names[i] = kymo__text_utf8(PyTuple_GET_ITEM(texts, i), &owners[i]);
        if (!names[i])
            PyErr_Clear();
    }
    KYMO_SECTION_LOCK(section);

    uint32_t session = current_session();
    bool recorded = session && !stopping;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        const char *known = recorded ? look_up(core->names, text) : NULL;
        if (recorded)
            names[i] = known ? known : keep_name(core, text, names[i], session);
        Py_XDECREF(owners[i]);
    }
    return recorded;
}

bool kymo__names_hold(struct core *core, PyObject *texts, const char **names)
{
    KYMO_SECTION_LOCK(section);
    if (!kymo_running() || stopping)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts); i++) {
        names[i] = look_up(core->names, PyTuple_GET_ITEM(texts, i));
        if (!names[i])
            return hold_some_new(core, texts, names);
    }
    return true;
}

void kymo__name_release(void)
{
    KYMO_SECTION_UNLOCK(section);
}

void kymo__names_shut(void)
{
    KYMO_SECTION_LOCK(section);
    stopping++;
    KYMO_SECTION_UNLOCK(section);
}

void kymo__names_open(void)
{
    KYMO_SECTION_LOCK(section);
    stopping--;
    KYMO_SECTION_UNLOCK(section);
}
