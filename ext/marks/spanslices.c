/* spanslices.c — spans of generators and coroutines: a slice for each time they run. */
#include <kymo/lane.h>

#include "span.h"

/* The key of the name in SESSION, or 0. */
static uint32_t key_in(struct span *self, uint32_t session)
{
    if (__atomic_load_n(&self->key_session, __ATOMIC_ACQUIRE) == session)
        return self->key;
    PyObject *owner;
    const char *utf8 = kymo__text_utf8(self->name, &owner);
    uint32_t key = 0;
    if (utf8)
        key = kymo_function_key(
            &(struct kymo_function){.size = sizeof(struct kymo_function), .name = utf8});
    else
        PyErr_Clear();
    Py_XDECREF(owner);
    if (key) {
        self->key = key;
        __atomic_store_n(&self->key_session, session, __ATOMIC_RELEASE);
    }
    return key;
}

/* Record WORD, with ID unless that is 0, if SESSION still runs. */
static bool store_record(uint32_t session, uint64_t word, uint64_t id)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (!at)
        return false;
    bool same = lane->session == session;
    struct kymo_record *after = at;
    if (same)
        kymo_lane_store(after++, kymo_ticks(), word);
    if (same && id)
        kymo_lane_store(after++, id, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, after);
    return same;
}

/* The same with TEXTS. */
static __attribute__((noinline)) bool store_with(struct core *core, PyObject *texts,
                                                 uint32_t session, uint64_t word, uint64_t id)
{
    const char *names[KYMO__TEXTS_MOST];
    bool stored = kymo__names_hold(core, texts, names) && store_record(session, word, id);
    if (stored)
        kymo__span_put_texts(names, PyTuple_GET_SIZE(texts));
    kymo__name_release();
    return stored;
}

PyObject *kymo__span_slice_enter(PyObject *object, PyObject *args)
{
    int detail;
    PyObject *id;
    if (!PyArg_ParseTuple(args, "iO!:_enter", &detail, &PyLong_Type, &id))
        return NULL;
    struct span *self = (struct span *)object;
    uint32_t session = kymo__spans_session();
    uint32_t key = session ? key_in(self, session) : 0;
    uint64_t word = kymo_word(KYMO_ENTER, (unsigned)detail | KYMO_HAS_ID, key);
    uint64_t number = PyLong_AsUnsignedLongLongMask(id);
    bool stored = key && (self->texts ? store_with(kymo__span_core(Py_TYPE(object)), self->texts,
                                                   session, word, number)
                                      : store_record(session, word, number));
    return PyLong_FromUnsignedLong(stored ? session : 0);
}

PyObject *kymo__span_slice_leave(PyObject *object, PyObject *args)
{
    int detail;
    unsigned session;
    if (!PyArg_ParseTuple(args, "iI:_leave", &detail, &session))
        return NULL;
    if (session)
        store_record(
            session,
            kymo_word(KYMO_LEAVE, (unsigned)detail, key_in((struct span *)object, session)), 0);
    Py_RETURN_NONE;
}
