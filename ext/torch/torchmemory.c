/* torchmemory.c — see torchmemory.h.

   The blocks that are alive are kept in a table without locks, so that frees can be recorded with
   their bytes. An address is in the few places after its hash; a block that finds no place there is
   recorded, but its free is not. */
#include "torchmemory.h"

#include <kymo/lane.h>
#include <kymo/payload.h>
#include <pthread.h>
#include <sys/mman.h>

#include "torchblocks.h"
#include "torchslots.h"

enum {
    PLACES_BITS = 16,
    PLACES = 1 << PLACES_BITS,
    NEAR = 32, /* places that one address may take */
};

/* c10::Device, which is passed by value. */
struct device {
    int8_t type, index;
};
static const struct device cpu = {0, -1};

struct place {
    uintptr_t block; /* 0: free */
    uint64_t bytes;
};

static struct place *places; /* PLACES + NEAR, never unmapped: a hook may still be running */
static uint64_t total;
/* Of the session in which memory is recorded. */
static struct kymo_schema block_schema, out_schema;
static uint32_t recording;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users; /* under the lock */

/* ---- blocks ---- */

static struct place *first_place(uintptr_t block)
{
    return &places[(block >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_BITS)];
}

static void keep_block(uintptr_t block, uint64_t bytes)
{
    struct place *p = first_place(block);
    for (int i = 0; i < NEAR; i++) {
        uintptr_t empty = 0;
        if (__atomic_load_n(&p[i].block, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&p[i].block, &empty, block, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            /* Whoever frees the block has its address from this thread, so it sees this too. */
            __atomic_store_n(&p[i].bytes, bytes, __ATOMIC_RELAXED);
            return;
        }
    }
}

/* Forget BLOCK and return its bytes; 0 if it is not known. */
static uint64_t take_block(uintptr_t block)
{
    struct place *p = first_place(block);
    for (int i = 0; i < NEAR; i++)
        if (__atomic_load_n(&p[i].block, __ATOMIC_RELAXED) == block) {
            uint64_t bytes = __atomic_load_n(&p[i].bytes, __ATOMIC_RELAXED);
            __atomic_store_n(&p[i].block, (uintptr_t)0, __ATOMIC_RELEASE);
            return bytes;
        }
    return 0;
}

/* ---- what torch calls ---- */

static bool is_recording(void)
{
    return __atomic_load_n(&recording, __ATOMIC_ACQUIRE) && kymo_running();
}

static void note_memory(const void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                        struct device device)
{
    unsigned char room[64];
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, sizeof room);
    kymo_payload_uint(&payload, reserved);
    kymo_payload_uint(&payload, allocated);
    kymo_payload_int(&payload, bytes);
    kymo_payload_uint(&payload, (uintptr_t)block);
    kymo_payload_int(&payload, device.index);
    kymo_payload_int(&payload, device.type);
    kymo_note(&block_schema, &payload);
}

/* An allocation of BYTES has failed. */
static void note_out_of_memory(int64_t bytes, uint64_t allocated, uint64_t reserved,
                               struct device device)
{
    unsigned char room[64];
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, sizeof room);
    kymo_payload_uint(&payload, reserved);
    kymo_payload_uint(&payload, allocated);
    kymo_payload_int(&payload, bytes);
    kymo_payload_int(&payload, device.index);
    kymo_payload_int(&payload, device.type);
    kymo_note(&out_schema, &payload);
}

typedef void new_function(void *reporter, void *block, size_t bytes);
typedef void delete_function(void *reporter, void *block);
typedef void report_function(void *block, int64_t bytes, size_t allocated, size_t reserved,
                             struct device device);
typedef void out_function(void *reporter, size_t bytes);
typedef void report_out_function(int64_t bytes, size_t allocated, size_t reserved,
                                 struct device device);

static void on_new(void *reporter, void *block, size_t bytes);
static void on_delete(void *reporter, void *block);
static void on_report(void *block, int64_t bytes, size_t allocated, size_t reserved,
                      struct device device);
static void on_out(void *reporter, size_t bytes);
static void on_report_out(int64_t bytes, size_t allocated, size_t reserved, struct device device);

enum { NEW, DELETE, REPORT, OUT, REPORT_OUT, HOOKS };
static struct kymo__torch_hook hooks[HOOKS] = {
    [NEW] = {.symbol = "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm", .ours = (void *)on_new},
    [DELETE] = {.symbol = "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv",
                .ours = (void *)on_delete},
    [REPORT] = {.symbol = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
                .ours = (void *)on_report,
                .abroad = true},
    [OUT] = {.symbol = "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm", .ours = (void *)on_out},
    [REPORT_OUT] = {.symbol = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
                    .ours = (void *)on_report_out,
                    .abroad = true},
};

static void on_new(void *reporter, void *block, size_t bytes)
{
    ((new_function *)hooks[NEW].original)(reporter, block, bytes);
    if (!block || !bytes || !is_recording())
        return;
    keep_block((uintptr_t)block, bytes);
    note_memory(block, (int64_t)bytes, __atomic_add_fetch(&total, bytes, __ATOMIC_RELAXED), 0, cpu);
}

static void on_delete(void *reporter, void *block)
{
    if (block && is_recording()) {
        uint64_t bytes = take_block((uintptr_t)block);
        if (bytes)
            note_memory(block, -(int64_t)bytes, __atomic_sub_fetch(&total, bytes, __ATOMIC_RELAXED),
                        0, cpu);
        else
            kymo__torch_note_freed(block);
    }
    ((delete_function *)hooks[DELETE].original)(reporter, block);
}

static void on_report(void *block, int64_t bytes, size_t allocated, size_t reserved,
                      struct device device)
{
    if (is_recording())
        note_memory(block, bytes, allocated, reserved, device);
    ((report_function *)hooks[REPORT].original)(block, bytes, allocated, reserved, device);
}

static void on_out(void *reporter, size_t bytes)
{
    if (bytes && is_recording())
        note_out_of_memory((int64_t)bytes, __atomic_load_n(&total, __ATOMIC_RELAXED), 0, cpu);
    ((out_function *)hooks[OUT].original)(reporter, bytes);
}

static void on_report_out(int64_t bytes, size_t allocated, size_t reserved, struct device device)
{
    if (is_recording())
        note_out_of_memory(bytes, allocated, reserved, device);
    ((report_out_function *)hooks[REPORT_OUT].original)(bytes, allocated, reserved, device);
}

/* ---- on and off ---- */

/* Returns whether it records. Under the lock. */
static bool begin_memory(void)
{
    static const struct kymo_field fields[] = {
        {"Total Reserved", KYMO_FIELD_UINT}, {"Total Allocated", KYMO_FIELD_UINT},
        {"Bytes", KYMO_FIELD_INT},           {"Addr", KYMO_FIELD_ID},
        {"Device Id", KYMO_FIELD_INT},       {"Device Type", KYMO_FIELD_INT},
    };
    static const struct kymo_field out_fields[] = {
        {"Total Reserved", KYMO_FIELD_UINT}, {"Total Allocated", KYMO_FIELD_UINT},
        {"Bytes", KYMO_FIELD_INT},           {"Device Id", KYMO_FIELD_INT},
        {"Device Type", KYMO_FIELD_INT},
    };
    const size_t size = (PLACES + NEAR) * sizeof *places;
    if (!places) {
        void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED)
            return false;
        places = made;
    } else {
        /* Blocks may have been freed unseen since. */
        madvise(places, size, MADV_DONTNEED);
    }
    total = 0;
    kymo__torch_slots_find(hooks, HOOKS);
    if (!hooks[NEW].slots || !hooks[DELETE].slots ||
        kymo_schema_define(&block_schema, "[memory]", fields, sizeof fields / sizeof fields[0]) <
            0 ||
        kymo_schema_define(&out_schema, "[OutOfMemory]", out_fields,
                           sizeof out_fields / sizeof out_fields[0]) < 0)
        return false;
    __atomic_store_n(&recording, 1u, __ATOMIC_RELEASE);
    kymo__torch_slots_set(hooks, true);
    return true;
}

static void end_memory(void)
{
    if (__atomic_exchange_n(&recording, 0u, __ATOMIC_ACQ_REL))
        kymo__torch_slots_set(hooks, false);
}

PyObject *kymo__torch_memory(PyObject *Py_UNUSED(module), PyObject *flag)
{
    int on = PyObject_IsTrue(flag);
    if (on < 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&lock);
    if (on && users++ == 0)
        begin_memory();
    else if (!on && users && --users == 0)
        end_memory();
    bool records = __atomic_load_n(&recording, __ATOMIC_RELAXED) != 0;
    pthread_mutex_unlock(&lock);
    PyEval_RestoreThread(thread);
    return PyBool_FromLong(records);
}

void kymo__torch_memory_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    users = 0;
    recording = 0; /* the hooks only call on */
}
