/* generated.c — see generated.h. */
#include "generated.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"

/* Most overlaps to check for one address: more would be a malicious file. */
enum { OVERLAPS_MOST = 4096 };

int kymo__codes_add(struct kymo_codes *codes, const struct kymo_code *code)
{
    int rc = kymo__array_grow(&codes->list, &codes->capacity, codes->count, sizeof(*codes->list));
    if (rc < 0)
        return rc;
    codes->list[codes->count] = *code;
    codes->list[codes->count].order = codes->count;
    codes->count++;
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct kymo_code *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void kymo__codes_sort(struct kymo_codes *codes)
{
    if (codes->count)
        qsort(codes->list, codes->count, sizeof(*codes->list), by_begin);
    uint64_t reach = 0;
    for (size_t i = 0; i < codes->count; i++) {
        if (codes->list[i].end > reach)
            reach = codes->list[i].end;
        codes->list[i].reach = reach;
    }
}

/* Find the last line that starts at or before ADDRESS. There are few, in no guaranteed order. */
static void set_line(const struct kymo_codes *codes, const struct kymo_code *code, uint64_t address,
                     struct kymo_symbol *symbol)
{
    const struct kymo_code_line *best = NULL;
    for (size_t i = 0; i < code->line_count; i++) {
        const struct kymo_code_line *line = &codes->lines[code->first_line + i];
        if (line->address <= address && (!best || line->address >= best->address))
            best = line;
    }
    if (best) {
        symbol->file = best->file;
        symbol->line = best->line;
    }
}

int kymo__codes_find(const struct kymo_codes *codes, uint64_t address, struct kymo_symbol *symbol)
{
    size_t low = 0, high = codes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (codes->list[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct kymo_code *best = NULL;
    for (size_t i = low, looked_at = 0; i-- > 0 && looked_at < OVERLAPS_MOST; looked_at++) {
        const struct kymo_code *code = &codes->list[i];
        if (code->reach <= address)
            break;
        if (code->end > address && (!best || code->order > best->order))
            best = code;
    }
    if (!best)
        return 0;
    *symbol = (struct kymo_symbol){.name = best->name, .file = ""};
    set_line(codes, best, address, symbol);
    return 1;
}

void kymo__codes_fini(struct kymo_codes *codes)
{
    kymo__free(codes->list);
    kymo__free(codes->lines);
    *codes = (struct kymo_codes){0};
}

/* ---- files ---- */

static void path_of(char *path, size_t size, int64_t pid, int which)
{
    snprintf(path, size, which ? "/tmp/jit-%lld.dump" : "/tmp/perf-%lld.map", (long long)pid);
}

static bool stamp_of(const struct stat *about, struct kymo_stamp *stamp)
{
    if (!S_ISREG(about->st_mode))
        return false;
    *stamp = (struct kymo_stamp){about->st_size, about->st_mtim.tv_sec, about->st_mtim.tv_nsec};
    return true;
}

static bool changed(const struct kymo_generated_process *process)
{
    for (int which = 0; which < 2; which++) {
        char path[64];
        struct stat about;
        struct kymo_stamp now = {0};
        path_of(path, sizeof(path), process->pid, which);
        if (stat(path, &about) == 0)
            stamp_of(&about, &now);
        if (memcmp(&now, &process->stamp[which], sizeof(now)) != 0)
            return true;
    }
    return false;
}

/* Copy the file instead of mapping it, because a live process may still be writing it. */
static int read_file(struct kymo_generated_process *process, struct kymo_texts *texts, int which)
{
    char path[64];
    struct stat about;
    path_of(path, sizeof(path), process->pid, which);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return 0;
    int rc = 0;
    uint8_t *bytes = NULL;
    if (fstat(fd, &about) == 0 && stamp_of(&about, &process->stamp[which]) && about.st_size > 0) {
        size_t size = (size_t)about.st_size, len = 0;
        bytes = kymo__alloc(size);
        rc = bytes ? 0 : -ENOMEM;
        while (rc == 0 && len < size) {
            ssize_t n = read(fd, bytes + len, size - len);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                break;
            len += (size_t)n;
        }
        struct kymo_view file = {bytes, len};
        if (rc == 0 && len > 0)
            rc = which ? kymo__jitdump_read(&process->codes, texts, file)
                       : kymo__perfmap_read(&process->codes, texts, file);
    }
    kymo__free(bytes);
    close(fd);
    return rc;
}

static int read_process(struct kymo_generated_process *process, struct kymo_texts *texts)
{
    kymo__codes_fini(&process->codes);
    memset(process->stamp, 0, sizeof(process->stamp));
    int rc = read_file(process, texts, 0);
    if (rc == 0)
        rc = read_file(process, texts, 1);
    kymo__codes_sort(&process->codes);
    return rc;
}

int kymo__generated_find(struct kymo_generated *generated, struct kymo_texts *texts, int64_t pid,
                         uint64_t address, struct kymo_symbol *symbol)
{
    struct kymo_generated_process *process = NULL;
    for (size_t i = 0; i < generated->count; i++)
        if (generated->processes[i].pid == pid)
            process = &generated->processes[i];
    if (!process) {
        if (kymo__array_grow(&generated->processes, &generated->capacity, generated->count,
                             sizeof(*generated->processes)) < 0)
            return 0;
        process = &generated->processes[generated->count++];
        *process = (struct kymo_generated_process){.pid = pid};
    }
    if (kymo__codes_find(&process->codes, address, symbol))
        return 1;
    if (!changed(process) || read_process(process, texts) < 0)
        return 0;
    return kymo__codes_find(&process->codes, address, symbol);
}

void kymo__generated_fini(struct kymo_generated *generated)
{
    for (size_t i = 0; i < generated->count; i++)
        kymo__codes_fini(&generated->processes[i].codes);
    kymo__free(generated->processes);
    *generated = (struct kymo_generated){0};
}
