/* stackfile.c — see stackfile.h. */
#include "stackfile.h"

#include <errno.h>
#include <kymo/kymo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"

static const char heading[] = "kymo stacks 1\n";
enum { TEXT_MOST = 1 << 28, CHUNK = 1 << 16 };

static int read_all(struct kymo_buffer *text, int fd)
{
    for (;;) {
        int rc = kymo__buffer_reserve(text, CHUNK);
        if (rc < 0)
            return rc;
        ssize_t n = read(fd, text->bytes + text->len, CHUNK - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text->len += (size_t)n;
        text->bytes[text->len] = '\0';
        if (n == 0)
            return 0;
        if (text->len >= sizeof(heading) - 1 &&
            memcmp(text->bytes, heading, sizeof(heading) - 1) != 0)
            return KYMO_ENOTSTACKS; /* do not read a large file of another kind */
        if (text->len > TEXT_MOST)
            return -EFBIG;
    }
}

/* ---- the words of a line; each function consumes one and stores what it found */

static bool word(char **at, const char **found)
{
    char *from = *at;
    size_t length = strcspn(from, " ");
    if (!length)
        return false;
    *at = from + length + (from[length] == ' ');
    from[length] = '\0';
    *found = from;
    return true;
}

static bool number(char **at, uint64_t *found)
{
    const char *text;
    char *end;
    if (!word(at, &text) || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *found = strtoull(text, &end, 0);
    return !*end && !errno;
}

static bool small_number(char **at, uint32_t *found)
{
    uint64_t large;
    if (!number(at, &large) || large > UINT32_MAX)
        return false;
    *found = (uint32_t)large;
    return true;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Quoted text, unescaped; a zero byte inside ends it. */
static bool quoted(char **at, const char **found)
{
    char *from = *at, *to = *at + 1;
    if (*from++ != '"')
        return false;
    *found = to;
    while (*from && *from != '"') {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        if (from[1] != 'x' || digit(from[2]) < 0 || digit(from[3]) < 0)
            return false;
        *to++ = (char)(digit(from[2]) * 16 + digit(from[3]));
        from += 4;
    }
    if (*from++ != '"')
        return false;
    *to = '\0';
    *at = from + (*from == ' ');
    return true;
}

/* ---- lines; each function returns false for invalid input, and sets *RC to -ENOMEM */

static bool take_process(struct kymo_stackfile *file, char *at)
{
    uint32_t pid;
    if (!small_number(&at, &pid) || !quoted(&at, &file->program))
        return false;
    file->pid = pid;
    return true;
}

static bool take_signal(struct kymo_stackfile *file, char *at)
{
    uint32_t which, code;
    if (!small_number(&at, &which) || !which || which > 1024 || !quoted(&at, &file->signal_name))
        return false;
    bool negative = *at == '-';
    at += negative;
    if (!small_number(&at, &code) || code > INT32_MAX || !number(&at, &file->signal_address))
        return false;
    file->signal_code = negative ? -(int)code : (int)code;
    file->signal = (int)which;
    return true;
}

static bool take_thread(struct kymo_stackfile *file, char *at, int *rc)
{
    struct kymo_stackfile_thread thread = {.first = file->frame_count};
    if (!small_number(&at, &thread.tid) || !word(&at, &thread.role) || !quoted(&at, &thread.name))
        return false;
    *rc = kymo__array_grow(&file->threads, &file->thread_room, file->thread_count, sizeof(thread));
    if (*rc == 0)
        file->threads[file->thread_count++] = thread;
    return true;
}

static bool take_waits(struct kymo_stackfile_thread *thread, char *at)
{
    uint32_t blocks;
    if (!quoted(&at, &thread->state) || !word(&at, &thread->call) || !quoted(&at, &thread->where) ||
        !small_number(&at, &blocks))
        return false;
    thread->blocks = blocks;
    return true;
}

static bool take_frame(struct kymo_stackfile *file, bool native, char *at, int *rc)
{
    struct kymo_stackfile_frame frame = {0};
    if (native) {
        if (!small_number(&at, &frame.module) || !number(&at, &frame.place))
            return false;
    } else if (!small_number(&at, &frame.line) || !quoted(&at, &frame.name) ||
               !quoted(&at, &frame.file)) {
        return false;
    }
    *rc = kymo__array_grow(&file->frames, &file->frame_room, file->frame_count, sizeof(frame));
    if (*rc == 0) {
        file->frames[file->frame_count++] = frame;
        file->threads[file->thread_count - 1].count++;
    }
    return true;
}

static bool take_module(struct kymo_stackfile *file, char *at, int *rc)
{
    struct kymo_stackfile_module module = {0};
    const char *id;
    if (!small_number(&at, &module.number) || !number(&at, &module.base) ||
        !number(&at, &module.low) || !number(&at, &module.high) || !word(&at, &id) ||
        !quoted(&at, &module.path))
        return false;
    for (; digit(id[0]) >= 0 && digit(id[1]) >= 0 && module.build_id_bytes < 20; id += 2)
        module.build_id[module.build_id_bytes++] = (uint8_t)(digit(id[0]) * 16 + digit(id[1]));
    *rc = kymo__array_grow(&file->modules, &file->module_room, file->module_count, sizeof(module));
    if (*rc == 0)
        file->modules[file->module_count++] = module;
    return true;
}

static bool take_line(struct kymo_stackfile *file, char *line, int *rc)
{
    const char *kind;
    char *at = line;
    struct kymo_stackfile_thread *thread =
        file->thread_count ? &file->threads[file->thread_count - 1] : NULL;
    if (!word(&at, &kind))
        return false;
    if (strcmp(kind, "process") == 0)
        return take_process(file, at);
    if (strcmp(kind, "signal") == 0)
        return take_signal(file, at);
    if (strcmp(kind, "thread") == 0)
        return take_thread(file, at, rc);
    if (strcmp(kind, "module") == 0)
        return take_module(file, at, rc);
    if (!thread)
        return false;
    if (strcmp(kind, "waits") == 0)
        return take_waits(thread, at);
    if (strcmp(kind, "cut") == 0)
        return thread->cut = true;
    return take_frame(file, strcmp(kind, "native") == 0, at, rc);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = ((const struct kymo_stackfile_module *)a)->number;
    uint32_t y = ((const struct kymo_stackfile_module *)b)->number;
    return x < y ? -1 : x > y;
}

int kymo__stackfile_read(struct kymo_stackfile *file, int fd)
{
    *file = (struct kymo_stackfile){.program = "", .signal_name = ""};
    int rc = read_all(&file->text, fd);
    if (rc == 0 && (file->text.len < sizeof(heading) - 1 ||
                    memcmp(file->text.bytes, heading, sizeof(heading) - 1) != 0))
        rc = KYMO_ENOTSTACKS;
    char *line = rc < 0 ? NULL : (char *)file->text.bytes + sizeof(heading) - 1;
    while (rc == 0 && !file->whole) {
        char *end = strchr(line, '\n');
        if (!end)
            break;
        *end = '\0';
        if (strcmp(line, "end") == 0)
            file->whole = true;
        else if (!take_line(file, line, &rc))
            break;
        line = end + 1;
    }
    if (rc < 0)
        kymo__stackfile_fini(file);
    else if (file->module_count)
        qsort(file->modules, file->module_count, sizeof(*file->modules), by_number);
    return rc;
}

void kymo__stackfile_fini(struct kymo_stackfile *file)
{
    kymo__buffer_fini(&file->text);
    kymo__free(file->threads);
    kymo__free(file->frames);
    kymo__free(file->modules);
}

const struct kymo_stackfile_module *kymo__stackfile_module(const struct kymo_stackfile *file,
                                                           uint32_t wanted)
{
    const struct kymo_stackfile_module key = {.number = wanted};
    if (!file->module_count)
        return NULL;
    return bsearch(&key, file->modules, file->module_count, sizeof(key), by_number);
}
