/* heapmade.h — captures with memory events made by hand: what a recorder would write, with
   addresses, times and stacks that the test chooses.

   Uses only the public API. Times are microseconds after the start of the session. */
#ifndef KYMO_HEAPMADE_H
#define KYMO_HEAPMADE_H

#include <kymo/lane.h>
#include <kymo/payload.h>
#include <kymo/stack.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum heapmade_kind {
    HEAPMADE_ALLOC,
    HEAPMADE_FREE,
    HEAPMADE_REALLOC,
    HEAPMADE_MAP,
    HEAPMADE_UNMAP,
    HEAPMADE_RESIDENT,
    HEAPMADE_HELD,
    HEAPMADE_SNAPSHOT,
    HEAPMADE_OBJECT,
    HEAPMADE_KINDS,
};

static struct kymo_schema heapmade_schema[HEAPMADE_KINDS];
static uint64_t heapmade_zero;
static double heapmade_rate; /* ticks in a microsecond */

static inline void heapmade_ok(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "# a capture could not be made: %s\n", kymo_strerror(rc));
        abort();
    }
}

/* ---- stacks of a language whose functions are what the test says ---- */

enum { HEAPMADE_FRAMES = 8, HEAPMADE_PLACES = 4096 };

struct heapmade_place {
    const char *name, *file;
    uint32_t line, first_line;
};

static struct heapmade_place heapmade_places[HEAPMADE_PLACES];
static uint32_t heapmade_place_count;
static __thread uint32_t heapmade_stack[HEAPMADE_FRAMES]; /* innermost first */
static __thread unsigned heapmade_depth;

static inline void heapmade_walk(struct kymo_managed_walk *walk)
{
    for (unsigned i = 0; i < heapmade_depth; i++) {
        walk->frames[i] = (struct kymo_managed_frame){.code = heapmade_stack[i]};
        walk->hash = kymo_stack_hash(walk->hash, heapmade_stack[i]);
    }
    walk->count = heapmade_depth;
}

static inline void heapmade_keep(struct kymo_managed_walk *walk)
{
    (void)walk;
}

static inline int heapmade_name_of(uint64_t number, struct kymo_named *named)
{
    const struct heapmade_place *place = &heapmade_places[number - 1];
    named->name = named->plain = place->name;
    named->file = place->file;
    named->line = place->line;
    named->first_line = place->first_line;
    return 0;
}

/* A line of a function. The texts must stay valid. */
static inline uint32_t heapmade_line(const char *name, const char *file, uint32_t first_line,
                                     uint32_t line)
{
    if (heapmade_place_count >= HEAPMADE_PLACES)
        abort();
    heapmade_places[heapmade_place_count] = (struct heapmade_place){name, file, line, first_line};
    return ++heapmade_place_count;
}

/* The stack of OUTER calling INNER; 0: there is no such frame. */
static inline uint32_t heapmade_stack_of(uint32_t outer, uint32_t inner)
{
    heapmade_depth = 0;
    if (inner)
        heapmade_stack[heapmade_depth++] = inner;
    if (outer)
        heapmade_stack[heapmade_depth++] = outer;
    return kymo_stack_record(KYMO_STACK_MANAGED, 0);
}

/* ---- the session ---- */

static inline void heapmade_begin(const char *path, const char *mode)
{
    static const struct kymo_interpreter interpreter = {
        .size = sizeof(interpreter),
        .name = "play",
        .walk = heapmade_walk,
        .keep = heapmade_keep,
        .name_of = heapmade_name_of,
    };
    static const struct {
        const char *name;
        struct kymo_field field[7];
    } known[HEAPMADE_KINDS] = {
        {"memory.alloc",
         {{"size", KYMO_FIELD_UINT},
          {"address", KYMO_FIELD_ADDRESS},
          {"stack", KYMO_FIELD_STACK},
          {"function", KYMO_FIELD_NAME}}},
        {"memory.free", {{"address", KYMO_FIELD_ADDRESS}}},
        {"memory.realloc",
         {{"size", KYMO_FIELD_UINT},
          {"address", KYMO_FIELD_ADDRESS},
          {"from", KYMO_FIELD_ADDRESS},
          {"stack", KYMO_FIELD_STACK},
          {"function", KYMO_FIELD_NAME}}},
        {"memory.map",
         {{"size", KYMO_FIELD_UINT},
          {"address", KYMO_FIELD_ADDRESS},
          {"stack", KYMO_FIELD_STACK},
          {"function", KYMO_FIELD_NAME}}},
        {"memory.unmap", {{"size", KYMO_FIELD_UINT}, {"address", KYMO_FIELD_ADDRESS}}},
        {"memory.resident",
         {{"resident", KYMO_FIELD_UINT}, {"peak", KYMO_FIELD_UINT}, {"mapped", KYMO_FIELD_UINT}}},
        {"memory.held",
         {{"snapshot", KYMO_FIELD_UINT},
          {"bytes", KYMO_FIELD_UINT},
          {"count", KYMO_FIELD_UINT},
          {"stack", KYMO_FIELD_STACK},
          {"function", KYMO_FIELD_NAME}}},
        {"memory.snapshot", {{"number", KYMO_FIELD_UINT}, {"reason", KYMO_FIELD_TEXT}}},
        {"memory.object",
         {{"snapshot", KYMO_FIELD_UINT},
          {"count", KYMO_FIELD_UINT},
          {"bytes", KYMO_FIELD_UINT},
          {"type", KYMO_FIELD_NAME},
          {"stack", KYMO_FIELD_STACK},
          {"owned", KYMO_FIELD_UINT},
          {"path", KYMO_FIELD_TEXT}}},
    };
    const struct kymo_options options = {.size = sizeof(options), .path = path, .no_command = 1};
    kymo_interpreter_register(&interpreter); /* once per process */
    heapmade_ok(kymo_start(&options));
    for (int i = 0; i < HEAPMADE_KINDS; i++) {
        size_t count = 0;
        while (count < 7 && known[i].field[count].name)
            count++;
        heapmade_ok(kymo_schema_define(&heapmade_schema[i], known[i].name, known[i].field, count));
    }
    kymo_metadata("memory.mode", mode);
    kymo_metadata("memory.domains", "native,mappings,python");
    kymo_metadata("memory.stacks", "python");
    heapmade_zero = kymo_ticks();
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &to);
    while ((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec < 2000000);
    heapmade_rate =
        (double)(kymo_ticks() - heapmade_zero) /
        (double)((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000);
}

static inline uint64_t heapmade_ticks(double time)
{
    return heapmade_zero + (uint64_t)(time * heapmade_rate);
}

/* ---- events ---- */

/* Store an event of KIND at TICKS as the tracer does, as two records, which get columns of their own in
   the file. False if it does not have the numbers for it, or they are too great. */
static inline bool heapmade_store(int kind, uint64_t ticks, const uint64_t *numbers, int count)
{
    const struct kymo_schema *schema = &heapmade_schema[kind];
    uint64_t first = numbers[0], word = UINT64_C(65) << 56 | (uint64_t)schema->number << 44;
    if (kind == HEAPMADE_FREE) {
        word |= UINT64_C(1) << 54;
    } else if (count == 4 &&
               !(numbers[0] >> 16 | numbers[1] >> 48 | numbers[2] >> 24 | numbers[3] >> 16)) {
        first = numbers[0] << 48 | numbers[1];
        word |= UINT64_C(2) << 54 | numbers[2] << 16 | numbers[3];
    } else {
        return false;
    }
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (!at)
        return false;
    kymo_lane_store(at, ticks, kymo_word(17, 0, schema->key));
    kymo_lane_store(at + 1, first, word);
    kymo_lane_commit(lane, at + 2);
    return true;
}

static inline void heapmade_note(int kind, double time, const uint64_t *numbers, int count,
                                 const char *text)
{
    unsigned char room[512];
    struct kymo_payload payload;
    if (heapmade_store(kind, heapmade_ticks(time), numbers, count))
        return;
    kymo_payload_begin(&payload, room, sizeof(room));
    for (int i = 0; i < count; i++)
        kymo_payload_uint(&payload, numbers[i]);
    if (text)
        kymo_payload_text(&payload, text);
    kymo_note_at(&heapmade_schema[kind], &payload, heapmade_ticks(time));
}
#define HEAPMADE_NOTE(kind, time, text, ...)                                                       \
    heapmade_note(kind, time, (const uint64_t[]){__VA_ARGS__},                                     \
                  (int)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), text)

static inline void heapmade_alloc(double time, const char *function, uint64_t address,
                                  uint64_t size, uint32_t stack)
{
    HEAPMADE_NOTE(HEAPMADE_ALLOC, time, NULL, size, address, stack, kymo_name_key(function));
}

static inline void heapmade_free(double time, uint64_t address)
{
    HEAPMADE_NOTE(HEAPMADE_FREE, time, NULL, address);
}

static inline void heapmade_realloc(double time, uint64_t from, uint64_t address, uint64_t size,
                                    uint32_t stack)
{
    heapmade_free(time, from);
    HEAPMADE_NOTE(HEAPMADE_REALLOC, time, NULL, size, address, from, stack,
                  kymo_name_key("realloc"));
}

static inline void heapmade_map(double time, const char *function, uint64_t address, uint64_t size,
                                uint32_t stack)
{
    HEAPMADE_NOTE(HEAPMADE_MAP, time, NULL, size, address, stack, kymo_name_key(function));
}

static inline void heapmade_unmap(double time, uint64_t address, uint64_t size)
{
    HEAPMADE_NOTE(HEAPMADE_UNMAP, time, NULL, size, address);
}

static inline void heapmade_resident(double time, uint64_t bytes)
{
    HEAPMADE_NOTE(HEAPMADE_RESIDENT, time, NULL, bytes, bytes, 2 * bytes);
}

static inline void heapmade_held(double time, uint64_t snapshot, uint64_t bytes, uint64_t count,
                                 uint32_t stack, const char *function)
{
    HEAPMADE_NOTE(HEAPMADE_HELD, time, NULL, snapshot, bytes, count, stack,
                  kymo_name_key(function));
}

static inline void heapmade_snapshot(double time, uint64_t number, const char *reason)
{
    HEAPMADE_NOTE(HEAPMADE_SNAPSHOT, time, reason, number);
}

static inline void heapmade_object(double time, uint64_t snapshot, uint64_t count, uint64_t bytes,
                                   uint64_t owned, const char *type, uint32_t stack,
                                   const char *path)
{
    HEAPMADE_NOTE(HEAPMADE_OBJECT, time, path, snapshot, count, bytes, kymo_name_key(type), stack,
                  owned);
}

/* Run BODY on a thread of its own and wait for it. */
static inline void heapmade_thread(void *(*body)(void *arg), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, arg) != 0)
        abort();
    pthread_join(thread, NULL);
}

#endif
