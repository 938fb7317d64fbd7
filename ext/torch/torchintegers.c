/* torchintegers.c — see torchintegers.h.

   Everything happens under one lock: this is slow as it is, and only for whoever asks for it. */
#include "torchintegers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <kymo/memory.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "torchextras.h"

enum { NAMES_MOST = 64, NAME_BYTES = 128, PATH_BYTES = 4096, RANGES_BYTES = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wanted {
    bool ranges;
    size_t name_count;
    char names[NAMES_MOST][NAME_BYTES];
    char directory[PATH_BYTES];
} wanted;
static unsigned failures; /* files that could not be written */

void kymo__torch_integers_forked(void)
{
    pthread_mutex_init(&lock, NULL);
}

/* ---- types ---- */

/* As c10 names them. */
static const struct integer {
    const char *name;
    bool is_signed;
} integers[] = {
    {"unsigned char", false}, {"signed char", true},
    {"short int", true},      {"int", true},
    {"long int", true},       {"short unsigned int", false},
    {"unsigned int", false},  {"long unsigned int", false},
};

static const struct integer *integer_called(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(integers); i++)
        if (strcmp(integers[i].name, name) == 0)
            return &integers[i];
    return NULL;
}

/* The integer of BYTES at AT, its sign extended if it IS_SIGNED. */
static uint64_t integer_at(const unsigned char *at, unsigned bytes, bool is_signed)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes); /* little-endian, as all machines we know */
    unsigned unused = 64 - 8 * bytes;
    return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/* ---- elements ---- */

/* Which elements of a tensor come next, in the order of its indices. */
struct walk {
    const struct kymo_op_tensor *tensor;
    int64_t index[64];
    int64_t offset; /* of the element, in elements */
};

/* Go to the next element. False after the last one. */
static bool next_element(struct walk *w)
{
    const struct kymo_op_tensor *t = w->tensor;
    for (uint32_t dim = t->dims; dim--;) {
        w->offset += t->strides[dim];
        if (++w->index[dim] < t->shape[dim])
            return true;
        w->offset -= t->shape[dim] * t->strides[dim];
        w->index[dim] = 0;
    }
    return false;
}

/* How many elements lie between the first and the last in memory. */
static uint64_t extent(const struct kymo_op_tensor *t)
{
    uint64_t last = 0;
    for (uint32_t dim = 0; dim < t->dims; dim++)
        last += (uint64_t)(t->shape[dim] - 1) * (uint64_t)t->strides[dim];
    return last + 1;
}

/* Add the range of T to TEXT if there is room for it. */
static void add_range(const struct kymo_op_tensor *t, const unsigned char *elements, bool is_signed,
                      uint64_t tensor_index, char *text, size_t room, size_t *used)
{
    struct walk w = {.tensor = t};
    uint64_t least = integer_at(elements, t->itemsize, is_signed), greatest = least;
    while (next_element(&w)) {
        uint64_t value =
            integer_at(elements + (size_t)w.offset * t->itemsize, t->itemsize, is_signed);
        /* With its highest bit turned round, an unsigned integer compares as a signed one does. */
        uint64_t turn = is_signed ? 1ull << 63 : 0;
        if ((value ^ turn) < (least ^ turn))
            least = value;
        if ((value ^ turn) > (greatest ^ turn))
            greatest = value;
    }
    const char *form = is_signed ? "%c\"%llu\":[%lld,%lld]" : "%c\"%llu\":[%llu,%llu]";
    int length = snprintf(text + *used, room - *used, form, *used ? ',' : '{',
                          (unsigned long long)tensor_index, (unsigned long long)least,
                          (unsigned long long)greatest);
    if (length > 0 && (size_t)length + 2 <= room - *used)
        *used += (size_t)length;
}

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Write the elements of T in order, as a tensor without gaps has them. */
static bool write_elements(int fd, const struct kymo_op_tensor *t, const unsigned char *elements)
{
    enum { BYTES = 1 << 16 };
    unsigned char room[BYTES];
    size_t used = 0;
    struct walk w = {.tensor = t};
    do {
        memcpy(room + used, elements + (size_t)w.offset * t->itemsize, t->itemsize);
        used += t->itemsize;
        if (used + sizeof(uint64_t) > BYTES) {
            if (!write_all(fd, room, used))
                return false;
            used = 0;
        }
    } while (next_element(&w));
    return write_all(fd, room, used);
}

static void keep_elements(const struct kymo_op_tensor *t, const unsigned char *elements,
                          uint64_t id, uint64_t tensor_index)
{
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%llu_%llu", wanted.directory, (unsigned long long)id,
             (unsigned long long)tensor_index);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_elements(fd, t, elements);
    good = fd >= 0 && close(fd) == 0 && good;
    if (!good)
        failures++;
}

/* ---- memory ---- */

/* Copy SIZE bytes at AT on a CUDA device, after all work queued in its context has finished. The
   driver is there if there are such tensors. */
static bool copy_from_cuda(void *to, uint64_t at, size_t size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver)
        return false;
    int (*wait)(void) = NULL, (*copy)(void *, uint64_t, size_t) = NULL;
    *(void **)&wait = dlsym(driver, "cuCtxSynchronize");
    *(void **)&copy = dlsym(driver, "cuMemcpyDtoH_v2");
    bool good = wait && copy && wait() == 0 && copy(to, at, size) == 0;
    dlclose(driver);
    return good;
}

/* Is T one whose memory can be read: plain integers that lie somewhere? */
static bool is_readable(const struct kymo_op_tensor *t)
{
    if (t->marks || !t->numel || !t->storage || t->dims > COUNT_OF(((struct walk *)0)->index) ||
        t->itemsize > sizeof(uint64_t) || !integer_called(t->dtype))
        return false;
    for (uint32_t dim = 0; dim < t->dims; dim++)
        if (t->shape[dim] <= 0 || t->strides[dim] < 0)
            return false;
    return true;
}

/* The elements of T: where they are, or on another device, a copy, also in *COPY. NULL if they
   cannot be read. */
static const unsigned char *elements_of(const struct kymo__torch_layout *l,
                                        const struct kymo_op_tensor *t, void **copy)
{
    uint64_t data;
    memcpy(&data, (const char *)(uintptr_t)t->storage + l->data, sizeof data);
    if (!data)
        return NULL;
    data += (uint64_t)t->offset * t->itemsize;
    if (strcmp(t->device, "cpu") == 0)
        return (const unsigned char *)(uintptr_t)data;
    if (strncmp(t->device, "cuda", 4) != 0)
        return NULL;
    size_t size = (size_t)(extent(t) * t->itemsize);
    *copy = malloc(size);
    return *copy && copy_from_cuda(*copy, data, size) ? *copy : NULL;
}

/* ---- noting ---- */

static bool keeps_elements(const char *name)
{
    for (size_t i = 0; i < wanted.name_count; i++)
        if (strcmp(wanted.names[i], name) == 0)
            return true;
    return false;
}

static void note_tensors(const struct kymo__torch_layout *l, const char *name, struct kymo_op op,
                         const struct kymo_op_value *inputs, size_t count, uint64_t tensor_index)
{
    bool keep = keeps_elements(name);
    char text[RANGES_BYTES];
    size_t used = 0;
    for (size_t i = 0; (wanted.ranges || keep) && i < count; i++) {
        const struct kymo_op_tensor *t = &inputs[i].tensor;
        if (inputs[i].kind == KYMO_OP_TENSOR && is_readable(t)) {
            void *copy = NULL;
            const unsigned char *elements = elements_of(l, t, &copy);
            bool is_signed = integer_called(t->dtype)->is_signed;
            if (elements && wanted.ranges)
                add_range(t, elements, is_signed, tensor_index, text, sizeof text, &used);
            if (elements && keep)
                keep_elements(t, elements, op.id, tensor_index);
            free(copy);
        }
        tensor_index += inputs[i].kind == KYMO_OP_TENSOR || inputs[i].kind == KYMO_OP_UNDEFINED;
    }
    if (used) {
        text[used++] = '}';
        struct kymo_op_attribute attribute = {"tensor_range", text, used, KYMO_OP_ATTRIBUTE_TEXT};
        kymo_op_attributes(op, &attribute, 1);
    }
}

void kymo__torch_note_integers(const struct kymo__torch_layout *l, const char *name,
                               struct kymo_op op, const struct kymo_op_value *inputs, size_t count,
                               size_t tensors)
{
    bool memory = kymo_memory_enter(); /* what this allocates is not the program's */
    pthread_mutex_lock(&lock);
    note_tensors(l, name, op, inputs, count, tensors);
    pthread_mutex_unlock(&lock);
    if (memory)
        kymo_memory_leave();
}

/* ---- for Python ---- */

static bool names_from(PyObject *tuple, struct wanted *w)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (!name)
            return false;
        if (w->name_count == NAMES_MOST || strlen(name) >= NAME_BYTES) {
            PyErr_Format(PyExc_ValueError, "at most %d operators, with names of less than %d bytes",
                         NAMES_MOST, NAME_BYTES);
            return false;
        }
        memcpy(w->names[w->name_count++], name, strlen(name) + 1);
    }
    return true;
}

PyObject *kymo__torch_integers(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct wanted w = {0};
    int ranges;
    PyObject *names;
    const char *path;
    if (!PyArg_ParseTuple(args, "pO!s", &ranges, &PyTuple_Type, &names, &path) ||
        !names_from(names, &w))
        return NULL;
    const struct kymo__torch_layout *l = kymo__torch_layout();
    bool on = ranges || w.name_count;
    if (on && (!l || l->data < 0)) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "it is not known where this torch keeps the memory of tensors");
        return NULL;
    }
    if (strlen(path) >= sizeof w.directory) {
        PyErr_SetString(PyExc_ValueError, "the path of the directory is too long");
        return NULL;
    }
    w.ranges = ranges;
    memcpy(w.directory, path, strlen(path) + 1);
    /* An operator may begin with the GIL held, and wait for the lock. */
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&lock);
    unsigned failed = failures;
    failures = 0;
    wanted = w;
    kymo__torch_extra_set(KYMO__TORCH_INTEGERS, on);
    pthread_mutex_unlock(&lock);
    PyEval_RestoreThread(thread);
    return PyLong_FromUnsignedLong(failed);
}
