/* stackprint.c — readable stacks: see kymo_stacks_print in kymo/stackdump.h.

   The text is built first and written at once: no other output gets in between, and a process
   that is killed half-way has printed nothing. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <kymo/stackdump.h>
#include <kymo/symbol.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc.h"
#include "modules.h"
#include "rawstacks.h"
#include "rawtext.h"
#include "stackfile.h"
#include "utf8.h"

enum {
    PERIOD_MOST = 48, /* the longest recursion, in calls, that is folded */
    SHOWN = 3,        /* how many repetitions are shown */
};

struct printing {
    const struct kymo_stackfile *file;
    struct kymo_symbolizer *symbolizer;
    const struct kymo_symbol *symbols;
    size_t *first; /* symbols of the native frames, by their number among those */
    size_t *order; /* of each frame: its number among the native ones */
    struct kymo_buffer out;
    int error;
};

static void stackprint_add(struct printing *p, const char *text, size_t length)
{
    if (!p->error)
        p->error = kymo__buffer_add(&p->out, text, length);
}

__attribute__((format(printf, 2, 3))) static void put_format(struct printing *p, const char *format,
                                                             ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length > 0)
        stackprint_add(p, text, (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

/* Put TEXT, which may contain anything, without characters that move the cursor or change the
   text direction. */
static void put_clean(struct printing *p, const char *text)
{
    while (*text) {
        uint32_t code = kymo__utf8_next(&text);
        char bytes[4];
        if (code < ' ' || (code >= 0x7f && code < 0xa0))
            put_format(p, "\\x%02" PRIx32, code);
        else if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                 (code >= 0x2066 && code <= 0x2069) || code == 0xfeff)
            put_format(p, "\\u%04" PRIx32, code);
        else
            stackprint_add(p, bytes, (size_t)kymo__utf8_encode(code, bytes));
    }
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- names of native functions */

static int look_up(struct printing *p, int mode)
{
    const struct kymo_stackfile *file = p->file;
    size_t count = file->frame_count, natives = 0;
    struct kymo_place *places = kymo__alloc_zeroed((count + 1) * sizeof(*places));
    p->first = kymo__alloc_zeroed((count + 1) * sizeof(*p->first));
    p->order = kymo__alloc_zeroed((count + 1) * sizeof(*p->order));
    int rc = places && p->first && p->order ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct kymo_stackfile_frame *frame = &file->frames[i];
        const struct kymo_stackfile_module *module = kymo__stackfile_module(file, frame->module);
        if (frame->name)
            continue;
        p->order[i] = natives;
        places[natives++] = (struct kymo_place){
            .path = module ? module->path : "",
            .build_id = module && module->build_id_bytes ? module->build_id : NULL,
            .build_id_bytes = module ? module->build_id_bytes : 0,
            .offset = frame->place,
        };
    }
    if (rc == 0)
        rc = kymo_symbolizer_new(mode, &p->symbolizer);
    if (rc == 0)
        rc = kymo_symbolize(p->symbolizer, places, natives, &p->symbols, p->first);
    kymo__free(places);
    return rc;
}

/* ---- frames */

static void put_symbol(struct printing *p, const struct kymo_stackfile_frame *frame,
                       const struct kymo_symbol *symbol)
{
    const struct kymo_stackfile_module *module = kymo__stackfile_module(p->file, frame->module);
    put_format(p, "  native ");
    if (*symbol->name)
        put_clean(p, symbol->name);
    if (*symbol->name && *symbol->file) {
        put_format(p, " at ");
        put_clean(p, symbol->file);
        if (symbol->line)
            put_format(p, ":%" PRIu32, symbol->line);
    } else if (module) {
        put_format(p, "%s", *symbol->name ? " in " : "");
        put_clean(p, last_part(module->path));
        put_format(p, "+0x%" PRIx64, frame->place);
    } else if (!*symbol->name) {
        put_format(p, "code at 0x%" PRIx64 " that is in no file", frame->place);
    }
    put_format(p, "%s\n", symbol->inlined ? ", inlined" : "");
}

/* The functions of a native frame, oldest first. */
static void put_native(struct printing *p, size_t index)
{
    const struct kymo_stackfile_frame *frame = &p->file->frames[index];
    size_t native = p->order[index];
    struct kymo_symbol generated;
    if (!frame->module &&
        kymo_symbolize_generated(p->symbolizer, p->file->pid, frame->place, &generated)) {
        put_symbol(p, frame, &generated);
        return;
    }
    for (size_t i = p->first[native + 1]; i-- > p->first[native];)
        put_symbol(p, frame, &p->symbols[i]);
}

static void put_frame(struct printing *p, size_t index)
{
    const struct kymo_stackfile_frame *frame = &p->file->frames[index];
    if (!frame->name) {
        put_native(p, index);
    } else if (!*frame->name) {
        put_format(p, "  a function whose name could not be read\n");
    } else {
        put_format(p, "  File \"");
        put_clean(p, frame->file);
        if (frame->line)
            put_format(p, "\", line %" PRIu32 ", in ", frame->line);
        else
            put_format(p, "\", line ?, in ");
        put_clean(p, frame->name);
        put_format(p, "\n");
    }
}

static bool same_frame(const struct kymo_stackfile_frame *a, const struct kymo_stackfile_frame *b)
{
    if (!a->name || !b->name)
        return a->name == b->name && a->module == b->module && a->place == b->place;
    return a->line == b->line && strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0;
}

/* How often the PERIOD frames before END, which has LEFT frames before it, repeat in a row. */
static size_t repeats(const struct kymo_stackfile_frame *end, size_t left, size_t period)
{
    size_t same = 0;
    while (same + period < left && same_frame(end - 1 - same, end - 1 - same - period))
        same++;
    return same / period + 1;
}

/* Is it one of our own frames, innermost on the thread that asked? */
static bool is_own(const struct printing *p, size_t index)
{
    const struct kymo_stackfile_frame *frame = &p->file->frames[index];
    if (frame->name)
        return false;
    const struct kymo_symbol *s = &p->symbols[p->first[p->order[index]]];
    return strncmp(s->name, "kymo_", 5) == 0;
}

/* Frames are stored innermost first and shown in the opposite order. */
static void put_frames(struct printing *p, const struct kymo_stackfile_thread *thread)
{
    const struct kymo_stackfile_frame *frames = &p->file->frames[thread->first];
    size_t from = 0, at = thread->count;
    if (strcmp(thread->role, "asked") == 0)
        while (from < at && is_own(p, thread->first + from))
            from++;
    if (thread->cut)
        put_format(p, "  (calls further out were too many to be kept)\n");
    while (at > from) {
        size_t period = 0, times = 0;
        for (size_t try = 1; try <= PERIOD_MOST && times <= SHOWN; try++) {
            period = try;
            times = repeats(&frames[at], at - from, try);
        }
        if (times <= SHOWN) {
            put_frame(p, thread->first + --at);
            continue;
        }
        for (size_t i = 0; i < SHOWN * period; i++)
            put_frame(p, thread->first + --at);
        size_t more = times - SHOWN;
        at -= more * period;
        if (period == 1)
            put_format(p, "  [the last call repeated %zu more time%s]\n", more,
                       more > 1 ? "s" : "");
        else
            put_format(p, "  [the last %zu calls repeated %zu more time%s]\n", period, more,
                       more > 1 ? "s" : "");
    }
    if (!thread->count)
        put_format(p, "  (no frames could be captured)\n");
}

/* ---- threads */

static void put_waits(struct printing *p, const struct kymo_stackfile_thread *thread)
{
    static const struct {
        char state;
        const char *word;
    } states[] = {{'R', "running"},
                  {'S', "sleeping"},
                  {'D', "waiting for a device"},
                  {'T', "stopped"},
                  {'t', "stopped by a debugger"},
                  {'I', "idle"},
                  {'Z', "ended"}};
    const char *word = "in a state that is not known";
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        if (thread->state && *thread->state == states[i].state)
            word = states[i].word;
    put_format(p, "  It did not answer%s. It is %s", thread->blocks ? ": it blocks signals" : "",
               word);
    if (thread->call && strcmp(thread->call, "-") != 0) {
        put_format(p, ", in system call ");
        put_clean(p, thread->call);
    }
    if (thread->where && *thread->where) {
        put_format(p, " (");
        put_clean(p, thread->where);
        put_format(p, ")");
    }
    put_format(p, ".\n");
}

static void put_thread(struct printing *p, const struct kymo_stackfile_thread *thread)
{
    static const char *const roles[][2] = {
        {"asked", ", which asked"}, {"crashed", ", which crashed"}, {"gone", ", which has ended"}};
    put_format(p, "\nThread %" PRIu32, thread->tid);
    if (*thread->name) {
        put_format(p, " \"");
        put_clean(p, thread->name);
        put_format(p, "\"");
    }
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (strcmp(thread->role, roles[i][0]) == 0)
            put_format(p, "%s", roles[i][1]);
    put_format(p, ":\n");
    if (strcmp(thread->role, "silent") == 0)
        put_waits(p, thread);
    else if (strcmp(thread->role, "gone") != 0)
        put_frames(p, thread);
}

static void put_heading(struct printing *p)
{
    const struct kymo_stackfile *file = p->file;
    put_format(p, "Process %" PRId64, file->pid);
    if (*file->program) {
        put_format(p, " (");
        put_clean(p, last_part(file->program));
        put_format(p, ")");
    }
    if (file->signal) {
        put_format(p, ": ");
        put_clean(p, file->signal_name);
        put_format(p, ", %s", kymo__signal_meaning(file->signal));
        if (file->signal_code > 0)
            put_format(p, ", address 0x%" PRIx64, file->signal_address);
    }
    put_format(p, ". %zu thread%s, most recent call last.\n", file->thread_count,
               file->thread_count == 1 ? "" : "s");
}

static int write_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        }
    }
    return 0;
}

int kymo_stacks_print(int from, int to, int mode)
{
    struct kymo_stackfile file;
    int rc = kymo__stackfile_read(&file, from);
    if (rc < 0)
        return rc;
    struct printing p = {.file = &file};
    rc = look_up(&p, mode);
    if (rc == 0) {
        put_heading(&p);
        for (size_t i = 0; i < file.thread_count; i++)
            put_thread(&p, &file.threads[i]);
        if (!file.whole)
            put_format(&p, "\nThe dump is cut short here.\n");
        rc = p.error;
    }
    if (rc == 0)
        rc = write_all(to, p.out.bytes, p.out.len);
    kymo_symbolizer_free(p.symbolizer);
    kymo__buffer_fini(&p.out);
    kymo__free(p.first);
    kymo__free(p.order);
    kymo__stackfile_fini(&file);
    return rc;
}

int kymo_stacks_write(int fd, const struct kymo_thread_title *titles, size_t count)
{
    struct kymo_rawtext out;
    kymo__modules_refresh();
    kymo__rawtext_init(&out, fd);
    return kymo__rawstacks_write(&out, NULL, titles, count);
}

int kymo_stacks_dump(int fd)
{
    int raw = memfd_create("kymograph-stacks", MFD_CLOEXEC);
    if (raw < 0)
        return -errno;
    int rc = kymo_stacks_write(raw, NULL, 0);
    if (rc == 0 && lseek(raw, 0, SEEK_SET) < 0)
        rc = -errno;
    if (rc == 0)
        rc = kymo_stacks_print(raw, fd, KYMO_SYMBOL_FULL);
    close(raw);
    return rc;
}
