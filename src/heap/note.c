/* note.c — from allocator calls to events: the reporting functions of kymo/memory.h. */
#include "heaprec.h"

#include <assert.h>
#include <string.h>

#include "live_held.h"
#include "sampled.h"
#include "sizes.h"
#include "values.h"
#include "varint.h"

/* In one cache line, where the loader accepts that: a library that a running program loads cannot have
   a stricter alignment of such variables than the C library, 16 bytes on aarch64. */
#if defined(__x86_64__)
enum { THREAD_ALIGNED = 64 };
#else
enum { THREAD_ALIGNED = 16 };
#endif
__thread struct kymo_memory_thread kymo__memory_thread
    __attribute__((tls_model("initial-exec"), aligned(THREAD_ALIGNED)));
uint32_t kymo__memory_on;
struct kymo_heaprec kymo__heaprec;

/* ---- schemas ---- */

static const struct kymo_field alloc_fields[] = {{"size", KYMO_FIELD_UINT},
                                                 {"address", KYMO_FIELD_ADDRESS},
                                                 {"stack", KYMO_FIELD_STACK},
                                                 {"function", KYMO_FIELD_NAME}};
static const struct kymo_field free_fields[] = {{"address", KYMO_FIELD_ADDRESS}};
static const struct kymo_field realloc_fields[] = {{"size", KYMO_FIELD_UINT},
                                                   {"address", KYMO_FIELD_ADDRESS},
                                                   {"from", KYMO_FIELD_ADDRESS},
                                                   {"stack", KYMO_FIELD_STACK},
                                                   {"function", KYMO_FIELD_NAME}};
static const struct kymo_field unmap_fields[] = {{"size", KYMO_FIELD_UINT},
                                                 {"address", KYMO_FIELD_ADDRESS}};
static const struct kymo_field resident_fields[] = {
    {"resident", KYMO_FIELD_UINT}, {"peak", KYMO_FIELD_UINT}, {"mapped", KYMO_FIELD_UINT}};
static const struct kymo_field held_fields[] = {{"snapshot", KYMO_FIELD_UINT},
                                                {"bytes", KYMO_FIELD_UINT},
                                                {"count", KYMO_FIELD_UINT},
                                                {"stack", KYMO_FIELD_STACK},
                                                {"function", KYMO_FIELD_NAME}};
static const struct kymo_field snapshot_fields[] = {{"number", KYMO_FIELD_UINT},
                                                    {"reason", KYMO_FIELD_TEXT}};

int kymo__heaprec_schemas(struct kymo_heaprec *heap)
{
#define DEFINE(member, name, fields)                                                               \
    {                                                                                              \
        &heap->member, name, fields, sizeof(fields) / sizeof((fields)[0])                          \
    }
    const struct {
        struct kymo_schema *schema;
        const char *name;
        const struct kymo_field *fields;
        size_t count;
    } all[] = {
        DEFINE(alloc, "memory.alloc", alloc_fields),
        DEFINE(release, "memory.free", free_fields),
        DEFINE(resize, "memory.realloc", realloc_fields),
        DEFINE(map, "memory.map", alloc_fields),
        DEFINE(unmap, "memory.unmap", unmap_fields),
        DEFINE(resident, "memory.resident", resident_fields),
        DEFINE(held, "memory.held", held_fields),
        DEFINE(snapshot, "memory.snapshot", snapshot_fields),
    };
#undef DEFINE
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(all) / sizeof(all[0]); i++)
        rc = kymo_schema_define(all[i].schema, all[i].name, all[i].fields, all[i].count);
    return rc;
}

/* ---- events ---- */

/* How many native frames are between a stack and the program: a reporting function and the hook
   that called it. */
enum { OUR_FRAMES = 2, VALUES_MOST = 5, RECORDS_MOST = 5 };

/* Store the event in claimed records; readers see what kymo_note_at would have recorded. Returns the
   record after it. */
KYMO_INLINE struct kymo_record *store_event(struct kymo_record *at,
                                            const struct kymo_schema *schema, uint64_t ticks,
                                            const uint64_t *values, unsigned count)
{
    kymo_lane_store(at++, ticks, kymo_word(KYMO__NOTE, 0, schema->key));
    if (count == 1) {
        kymo__chain_store_one(at, schema->number, values[0]);
        return at + 1;
    }
    if (count == 4 && kymo__likely(kymo__chain_fits_four(values))) {
        kymo__chain_store_four(at, schema->number, values);
        return at + 1;
    }
    uint8_t bytes[VALUES_MOST * KYMO__VARINT_MAX + sizeof(struct kymo_record)], *end = bytes;
    for (unsigned i = 0; i < count; i++)
        end = kymo__varint_put(end, values[i]);
    return kymo__chain_store(at, schema->number, bytes, (size_t)(end - bytes));
}

KYMO_INLINE void note_event(const struct kymo_schema *schema, uint64_t ticks,
                            const uint64_t *values, unsigned count)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, RECORDS_MOST);
    if (kymo__unlikely(!at))
        return;
    if (kymo__likely(schema->session == lane->session))
        at = store_event(at, schema, ticks, values, count);
    kymo_lane_commit(lane, at);
}

void kymo__heaprec_note(const struct kymo_schema *schema, uint64_t ticks, const uint64_t *values,
                        unsigned count)
{
    note_event(schema, ticks, values, count);
}

/* The stack of the program; a reporting function and its caller are left out. The session keeps
   it. */
#define STACK_HERE()                                                                               \
    (kymo__heaprec.parts                                                                           \
         ? kymo_stack_record(kymo__heaprec.parts,                                                  \
                             kymo__heaprec.parts & KYMO_STACK_NATIVE ? OUR_FRAMES : 0)             \
         : 0)

/* ---- times ---- */

KYMO__COLD void kymo__heaprec_meet(void)
{
    uintptr_t sole = 0, me = (uintptr_t)&kymo__memory_thread;
    if (!kymo__swap_if(&kymo__heaprec.sole, &sole, me) && sole != me)
        kymo__store_release(&kymo__heaprec.sole, KYMO__SEVERAL);
}

/* ---- reports ---- */

KYMO_INLINE void note_allocated(uint32_t function, void *at, size_t size)
{
    uint64_t ticks = kymo__ticks_after();
    kymo_stack stack = STACK_HERE();
    const uint64_t values[] = {size, (uintptr_t)at, stack, function};
    if (kymo__likely(kymo__heaprec.options.mode != KYMO_MEMORY_LIVE))
        note_event(&kymo__heaprec.alloc, ticks, values, 4);
    if (kymo__unlikely(kymo__heaprec.options.mode != KYMO_MEMORY_EXACT))
        kymo__held_add((uintptr_t)at, size, stack, function);
}

__attribute__((noinline)) void kymo__heaprec_allocated(uint32_t function, void *at, size_t size)
{
    note_allocated(function, at, size);
    if (kymo__unlikely(kymo__sizes_on))
        kymo__sizes_add((uintptr_t)at, size);
}

/* The decision comes before the call, which may get to further hooks: those count bytes, too. */
uint32_t kymo_memory_look(size_t size)
{
    bool chosen = kymo__heaprec_chooses(size), outermost = kymo_memory_enter();
    if (!outermost)
        kymo_memory_inner_begin();
    return outermost ? 1u + chosen : 0;
}

__attribute__((noinline)) void kymo_memory_record(uint32_t function, void *at, size_t size)
{
    note_allocated(function, at, size);
}

__attribute__((noinline)) void kymo_memory_allocated(uint32_t function, void *at, size_t size)
{
    if (kymo__heaprec_wants(at, size))
        note_allocated(function, at, size);
}

/* Forget FROM in the modes that know what is held. False when there is no event to write. */
static bool let_go(void *from, struct kymo_memory_move *move)
{
    move->known = kymo__held_take((uintptr_t)from, &move->size, &move->stack, &move->function);
    return move->known && kymo__heaprec.options.mode == KYMO_MEMORY_SAMPLED;
}

KYMO_INLINE void note_freeing(void *at)
{
    struct kymo_memory_move move;
    if (kymo__heaprec.options.mode != KYMO_MEMORY_EXACT && !let_go(at, &move))
        return;
    note_event(&kymo__heaprec.release, kymo__ticks_before(), (const uint64_t[]){(uintptr_t)at}, 1);
}

void kymo__heaprec_freeing(void *at)
{
    if (kymo__unlikely(kymo__sizes_on))
        kymo__sizes_take((uintptr_t)at);
    note_freeing(at);
}

void kymo_memory_freeing(void *at)
{
    if (kymo__heaprec_wants_free(at))
        note_freeing(at);
}

__attribute__((noinline)) void kymo__heaprec_tracked(uint32_t function, void *at, size_t size,
                                                     bool own)
{
    struct kymo_memory_move move = {.known = 0};
    int mode = kymo__heaprec.options.mode;
    if (mode != KYMO_MEMORY_EXACT)
        let_go(at, &move);
    if (move.known || (own ? kymo__heaprec_chooses(size) : mode == KYMO_MEMORY_EXACT))
        note_allocated(function, at, size);
    if (kymo__unlikely(kymo__sizes_on))
        kymo__sizes_add((uintptr_t)at, size);
}

void kymo_memory_moving(struct kymo_memory_move *move, void *from)
{
    move->from = from;
    move->known = move->look = 0;
    if (kymo__heaprec.options.mode != KYMO_MEMORY_EXACT)
        let_go(from, move);
    move->ticks = kymo__ticks_before();
}

__attribute__((noinline)) void kymo_memory_moved(struct kymo_memory_move *move, uint32_t function,
                                                 void *at, size_t size, bool freed)
{
    int mode = kymo__heaprec.options.mode;
    if (!at && !freed) {
        if (move->known)
            kymo__held_add((uintptr_t)move->from, move->size, move->stack, move->function);
        return;
    }
    uint64_t ticks = kymo__ticks_after();
    bool known = mode == KYMO_MEMORY_EXACT || (mode == KYMO_MEMORY_SAMPLED && move->known);
    if (known)
        kymo__heaprec_note(&kymo__heaprec.release, move->ticks,
                           (const uint64_t[]){(uintptr_t)move->from}, 1);
    if (!at || !(move->look ? move->look == 2 : kymo__heaprec_wants(at, size)))
        return;
    kymo_stack stack = STACK_HERE();
    const uint64_t moved[] = {size, (uintptr_t)at, (uintptr_t)move->from, stack, function};
    const uint64_t fresh[] = {size, (uintptr_t)at, stack, function};
    if (known)
        note_event(&kymo__heaprec.resize, ticks, moved, 5);
    else if (mode != KYMO_MEMORY_LIVE)
        note_event(&kymo__heaprec.alloc, ticks, fresh, 4);
    if (mode != KYMO_MEMORY_EXACT)
        kymo__held_add((uintptr_t)at, size, stack, function);
}

/* Mappings are few: every mode records all of them as events. */
__attribute__((noinline)) void kymo_memory_mapped(uint32_t function, void *at, size_t size)
{
    uint64_t ticks = kymo__ticks_after();
    const uint64_t values[] = {size, (uintptr_t)at, STACK_HERE(), function};
    note_event(&kymo__heaprec.map, ticks, values, 4);
}

void kymo__heaprec_unmapped(uint64_t ticks, void *at, size_t size)
{
    kymo__heaprec_note(&kymo__heaprec.unmap, ticks, (const uint64_t[]){size, (uintptr_t)at}, 2);
}

void kymo_memory_unmapping(void *at, size_t size)
{
    kymo__heaprec_unmapped(kymo__ticks_before(), at, size);
}
