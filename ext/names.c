/* names.c — Python strings as names for marking calls.

   The library wants names that stay where they are until the session has ended;
   kymo_intern makes them, under a lock. So that a name costs that only once, a
   small cache remembers which str became which pointer, by the identity of the
   str. An entry is good for one session of one process: a session's end frees its
   names, and a forked child has sessions of its own.

   A session must not end between finding a name and marking with it. Our own stop
   runs without the GIL, so it shuts the names first; a marking call never gives up
   the GIL half-way. Without a GIL a mutex takes its place. */
#include "core.h"

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

/* These belong to the process, as the session does. Touched inside `section`. */
static int shut;         /* how many stops are under way */
static uint32_t process; /* how many forks lie between the import and us */
KYMO_SECTION(section);

static void after_fork_in_child(void)
{
    KYMO_SECTION_RESET(section);
    shut = 0;
    process++;
}

static void register_fork(void)
{
    /* On failure a child that records keeps names of its parent's session. Those
       are still in its memory. */
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

static void remember(struct kymo__names *names, PyObject *text, const char *name, uint32_t session)
{
    struct slot *slot = slot_of(names, text);
    Py_INCREF(text);
    Py_XSETREF(slot->text, text); /* an exact str: its end runs no code */
    slot->name = name;
    slot->session = session;
    slot->process = process;
}

static bool worth_caching(PyObject *text)
{
    return PyUnicode_CheckExact(text) && PyUnicode_GET_LENGTH(text) <= LONGEST_CACHED;
}

/* What an event is called when its own name cannot be kept. It is marked all the same,
   so that the library records it or counts it as lost. */
static const char no_name[] = "(name lost: out of memory)";

/* The library's own copy of UTF8. It hands back what it was given when it cannot have
   one. */
static const char *intern(const char *utf8)
{
    const char *name = kymo_intern(utf8);
    return name == utf8 ? no_name : name;
}

/* The name for TEXT in SESSION, which runs; UTF8 is NULL when there was no memory for it. */
static const char *keep(struct core *core, PyObject *text, const char *utf8, uint32_t session)
{
    const char *name = utf8 ? intern(utf8) : no_name;
    if (name != no_name && worth_caching(text))
        remember(core->names, text, name, session);
    return name;
}

/* TEXT is not in the cache. */
static __attribute__((noinline)) const char *hold_new(struct core *core, PyObject *text)
{
    const char *name = NULL;
    /* Encoding may run a garbage collection, and with it other marking calls. */
    KYMO_SECTION_UNLOCK(section);
    PyObject *owner;
    const char *utf8 = kymo__text_utf8(text, &owner);
    if (!utf8)
        PyErr_Clear();
    KYMO_SECTION_LOCK(section);

    uint32_t session = current_session();
    if (session && !shut)
        name = keep(core, text, utf8, session);
    Py_XDECREF(owner); /* bytes: its end runs no code */
    return name;
}

const char *kymo__name_hold(struct core *core, PyObject *text)
{
    KYMO_SECTION_LOCK(section);
    if (!kymo_running() || shut)
        return NULL;
    const char *name = look_up(core->names, text);
    return __builtin_expect(name != NULL, 1) ? name : hold_new(core, text);
}

/* Some of TEXTS are not. All are encoded before any is looked up: the session may be another
   one by then. */
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
    bool recorded = session && !shut;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        const char *known = recorded ? look_up(core->names, text) : NULL;
        if (recorded)
            names[i] = known ? known : keep(core, text, names[i], session);
        Py_XDECREF(owners[i]);
    }
    return recorded;
}

bool kymo__names_hold(struct core *core, PyObject *texts, const char **names)
{
    KYMO_SECTION_LOCK(section);
    if (!kymo_running() || shut)
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
    shut++;
    KYMO_SECTION_UNLOCK(section);
}

void kymo__names_open(void)
{
    KYMO_SECTION_LOCK(section);
    shut--;
    KYMO_SECTION_UNLOCK(section);
}
