/* modulebook.c — see modulebook.h.

   Records are permanent. A library that is loaded at another address each time gets a new record
   each time, so a record is small: path and build id are kept once per file. */
#include "modulebook.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "atomic.h"
#include "hash.h"
#include "mapped.h"

enum {
    RECORDS = 256,
    CHUNKS = 256, /* 65,536 modules: about 3 MiB */
    TEXT = 1 << 16,
    HEADS_LOG2 = 10,
};

struct file {
    struct file *next; /* with the same hash */
    uint32_t build_id_bytes;
    uint8_t build_id[20];
    char path[];
};

struct record {
    uint64_t low, high, base;
    const struct file *file;
    uint32_t next; /* number of the next with the same hash; 0: none */
};

/* Written by one thread and read by anyone. */
static struct record *chunks[CHUNKS];
static uint32_t record_count;

/* Only for the thread that writes. */
static uint32_t records_by_low[1 << HEADS_LOG2];
static struct file *files_by_path[1 << HEADS_LOG2];
static char *text_at, *text_end;

static struct record *record_at(uint32_t number)
{
    return &chunks[(number - 1) / RECORDS][(number - 1) % RECORDS];
}

static bool is_file(const struct file *file, const struct kymo_module *module)
{
    return file->build_id_bytes == module->build_id_bytes &&
           memcmp(file->build_id, module->build_id, sizeof(file->build_id)) == 0 &&
           strncmp(file->path, module->path, KYMO__MODULE_PATH - 1) == 0;
}

/* SIZE bytes for a file, for good; or NULL. */
static struct file *keep_file(size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if ((size_t)(text_end - text_at) < size) {
        char *more = kymo__pages_new(TEXT);
        if (!more)
            return NULL;
        text_at = more;
        text_end = more + TEXT;
    }
    struct file *file = (struct file *)(void *)text_at;
    text_at += size;
    return file;
}

static const struct file *file_of(const struct kymo_module *module)
{
    size_t length = strnlen(module->path, KYMO__MODULE_PATH - 1);
    struct file **head =
        &files_by_path[kymo__hash_bytes(module->path, length) >> (64 - HEADS_LOG2)];
    for (struct file *file = *head; file; file = file->next)
        if (is_file(file, module))
            return file;
    struct file *file = keep_file(sizeof(*file) + length + 1);
    if (!file)
        return NULL;
    file->next = *head;
    file->build_id_bytes = module->build_id_bytes;
    memcpy(file->build_id, module->build_id, sizeof(file->build_id));
    memcpy(file->path, module->path, length); /* its pages are zeroed: so is the end */
    return *head = file;
}

uint32_t kymo__module_number(const struct kymo_module *module)
{
    uint32_t *head = &records_by_low[kymo__hash_word(module->low) >> (64 - HEADS_LOG2)];
    uint32_t count = record_count;
    for (uint32_t number = *head; number; number = record_at(number)->next) {
        const struct record *record = record_at(number);
        if (record->low == module->low && record->high == module->high &&
            record->base == module->base && is_file(record->file, module))
            return number;
    }
    if (count == RECORDS * CHUNKS)
        return 0;
    if (!chunks[count / RECORDS] &&
        !(chunks[count / RECORDS] = kymo__pages_new(RECORDS * sizeof(struct record))))
        return 0;
    const struct file *file = file_of(module);
    if (!file)
        return 0;
    *record_at(count + 1) = (struct record){module->low, module->high, module->base, file, *head};
    kymo__store_release(&record_count, count + 1);
    return *head = count + 1;
}

int kymo_module_get(uint32_t number, struct kymo_module *module)
{
    if (number == 0 || number > kymo__load_acquire(&record_count))
        return -ENOENT;
    const struct record *record = record_at(number);
    struct kymo_module full = {
        .size = sizeof(full),
        .path = record->file->path,
        .base = record->base,
        .low = record->low,
        .high = record->high,
        .build_id_bytes = record->file->build_id_bytes,
    };
    memcpy(full.build_id, record->file->build_id, sizeof(full.build_id));
    size_t size = module->size < sizeof(full) ? module->size : sizeof(full);
    memcpy(module, &full, size);
    module->size = size;
    return 0;
}
