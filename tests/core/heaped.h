/* heaped.h — what a capture says about memory, as tests compare it with the truth. */
#ifndef KYMO_HEAPED_H
#define KYMO_HEAPED_H

#include <kymo/memory.h>
#include <kymo/payload.h>
#include <kymo/read.h>

#include "check.h"

struct heaped_event {
    size_t place; /* in the order in which they are read */
    uint64_t ticks;
    uint32_t thread;
    char kind[24], function[24]; /* "mark": an instant of the test's own */
    uint64_t size, address, from, stack, number, count;
};

struct heaped {
    struct heaped_event *all;
    size_t count;
    uint64_t gaps;
    char mode[16], domains[64], missed[128];
};

/* Start a session with memory=on and these OPTIONS; NULL for the defaults. */
static inline void heaped_start(const char *path, const struct kymo_memory_options *memory)
{
    const struct kymo_source_options source = {
        .size = sizeof(source), .source = "memory", .options = memory};
    const struct kymo_options options = {.size = sizeof(options),
                                         .path = path,
                                         .sources = "memory=on",
                                         .source_options = memory ? &source : NULL};
    CHECK_OK(kymo_start(&options));
}

static inline void heaped_value(struct heaped_event *out, const struct kymo_value *value)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"size", &out->size},     {"address", &out->address}, {"from", &out->from},
                   {"stack", &out->stack},   {"bytes", &out->size},      {"count", &out->count},
                   {"number", &out->number}, {"snapshot", &out->number}, {"resident", &out->size}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strcmp(value->name, numbers[i].name) == 0)
            *numbers[i].number = value->number;
    if (strcmp(value->name, "function") == 0)
        snprintf(out->function, sizeof(out->function), "%.*s", (int)value->length, value->text);
}

static inline void heaped_fact(struct kymo_capture *capture, const char *wanted, char *text,
                               size_t size)
{
    const char *key, *value;
    text[0] = '\0';
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (strcmp(key, wanted) == 0)
            snprintf(text, size, "%s", value);
}

/* Read the capture at PATH. The caller frees `all`. */
static inline struct heaped heaped_read(const char *path)
{
    struct heaped heaped = {0};
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    size_t capacity = 0;
    uint64_t gone;
    CHECK_OK(kymo_open(path, &capture));
    heaped_fact(capture, "memory.mode", heaped.mode, sizeof(heaped.mode));
    heaped_fact(capture, "memory.domains", heaped.domains, sizeof(heaped.domains));
    heaped_fact(capture, "memory.missed", heaped.missed, sizeof(heaped.missed));
    for (uint64_t i = 0; kymo_capture_gap(capture, i, NULL, NULL, &gone, NULL, NULL) == 0; i++)
        heaped.gaps += gone;
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) == 1) {
        bool memory = strncmp(event.name, "memory.", 7) == 0;
        if (event.kind != (memory ? KYMO_PAYLOAD : KYMO_INSTANT))
            continue;
        if (heaped.count == capacity)
            heaped.all = realloc(heaped.all, (capacity = capacity * 2 + 64) * sizeof(*heaped.all));
        struct heaped_event *out = &heaped.all[heaped.count];
        *out = (struct heaped_event){
            .place = heaped.count++, .ticks = event.ticks, .thread = event.thread};
        snprintf(out->kind, sizeof(out->kind), "%s", memory ? event.name : "mark");
        struct kymo_value value = {.size = sizeof(value)};
        for (unsigned i = 0; memory && kymo_event_value(capture, &event, i, &value) == 0; i++)
            heaped_value(out, &value);
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return heaped;
}

static inline size_t heaped_count(const struct heaped *heaped, const char *kind, uint64_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < heaped->count; i++)
        count += strcmp(heaped->all[i].kind, kind) == 0 && heaped->all[i].size == size;
    return count;
}

#endif
