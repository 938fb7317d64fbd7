/* rawstacks.c — see rawstacks.h. */
#include "rawstacks.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "atomic.h"
#include "interrupted.h"
#include "late.h"
#include "mapped.h"
#include "procfs.h"
#include "rawtext.h"
#include "threads.h"
#include "walk.h"
#include "walker.h"

enum { MODULES = 1 << 15, LATE = 256 };

/* Working memory that is too large for a handler's stack; used by the thread that asks the
   others. */
struct desk {
    struct kymo_frame frames[KYMO__STACK_MAX];
    uint8_t mentioned[MODULES / 8]; /* modules that frames refer to */
    struct kymo_module late[LATE];  /* modules without a number; theirs is MODULES + index */
    size_t late_count;
};
static struct desk *desk;

static const struct {
    int number;
    const char *name, *meaning;
} signals[] = {
    {SIGSEGV, "SIGSEGV", "segmentation fault"},
    {SIGBUS, "SIGBUS", "bus error"},
    {SIGFPE, "SIGFPE", "arithmetic error"},
    {SIGILL, "SIGILL", "illegal instruction"},
    {SIGABRT, "SIGABRT", "aborted"},
    {SIGSYS, "SIGSYS", "forbidden system call"},
    {SIGTRAP, "SIGTRAP", "trap or breakpoint"},
};

const char *kymo__signal_name(int number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "a signal";
}

const char *kymo__signal_meaning(int number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (signals[i].number == number)
            return signals[i].meaning;
    return "ended by a signal";
}

/* ---- frames */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The number of the module at PC that was missing from the table, or 0. */
static uint32_t late_number(uint64_t pc)
{
    for (size_t i = 0; i < desk->late_count; i++)
        if (pc >= desk->late[i].low && pc < desk->late[i].high)
            return (uint32_t)(MODULES + i);
    if (desk->late_count == LATE || !kymo__late_module(pc, &desk->late[desk->late_count]))
        return 0;
    return (uint32_t)(MODULES + desk->late_count++);
}

static bool module_of(uint32_t number, struct kymo_module *module)
{
    *module = (struct kymo_module){.size = sizeof(*module)};
    if (number >= MODULES)
        *module = desk->late[number - MODULES];
    return number && (number >= MODULES || kymo_module_get(number, module) == 0);
}

static void put_native(struct kymo_rawtext *out, const struct kymo_frame *frame)
{
    uint64_t pc = frame->address - 1;
    uint32_t number = frame->module ? frame->module : late_number(pc);
    struct kymo_module module;
    kymo__raw_text(out, "native ");
    if (!module_of(number, &module)) {
        kymo__raw_text(out, "0 ");
        kymo__raw_hex(out, pc);
    } else {
        if (number < MODULES)
            desk->mentioned[number / 8] |= (uint8_t)(1u << number % 8);
        kymo__raw_number(out, number);
        kymo__raw_text(out, " ");
        kymo__raw_hex(out, pc - module.base);
        kymo__raw_text(out, " ");
        kymo__raw_quoted(out, last_part(module.path));
    }
    kymo__raw_text(out, "\n");
}

static void put_managed(struct kymo_rawtext *out, const struct kymo_frame *frame)
{
    const struct kymo_interpreter *interpreter = kymo__interpreter();
    struct kymo_named named = {.size = sizeof(named)};
    bool known = interpreter && interpreter->name_of(frame->address, &named) == 0;
    kymo__raw_text(out, interpreter ? interpreter->name : "managed");
    kymo__raw_text(out, " ");
    kymo__raw_number(out, known ? named.line : 0);
    kymo__raw_text(out, " ");
    kymo__raw_quoted(out, known ? named.plain : "");
    kymo__raw_text(out, " ");
    kymo__raw_quoted(out, known ? named.file : "");
    kymo__raw_text(out, "\n");
}

static void put_stack(struct kymo_rawtext *out, kymo_stack stack)
{
    size_t count = kymo_stack_frames(stack, desk->frames, KYMO__STACK_MAX), natives = 0;
    for (size_t i = 0; i < count && i < KYMO__STACK_MAX; i++) {
        natives += !desk->frames[i].managed;
        if (desk->frames[i].managed)
            put_managed(out, &desk->frames[i]);
        else
            put_native(out, &desk->frames[i]);
    }
    if (natives >= KYMO__WALK_MAX || count >= KYMO__STACK_MAX)
        kymo__raw_text(out, "cut\n");
}

/* ---- threads */

static void put_waits(struct kymo_rawtext *out, uint32_t tid)
{
    struct kymo_task task;
    char text[256];
    kymo__task_look(tid, &task);
    const char state[2] = {task.state ? task.state : '?', '\0'};
    kymo__raw_text(out, "waits ");
    kymo__raw_quoted(out, state);
    bool calls =
        kymo__task_text(tid, "syscall", text, sizeof(text)) && *text >= '0' && *text <= '9';
    text[calls ? strcspn(text, " ") : 0] = '\0';
    kymo__raw_text(out, " ");
    kymo__raw_text(out, calls ? text : "-");
    bool known = kymo__task_text(tid, "wchan", text, sizeof(text)) && strcmp(text, "0") != 0;
    kymo__raw_text(out, " ");
    kymo__raw_quoted(out, known ? text : "");
    kymo__raw_text(out, task.blocked >> (SIGURG - 1) & 1 ? " 1\n" : " 0\n");
}

static void put_thread(struct kymo_rawtext *out, const struct kymo_thread_stack *thread,
                       const char *role, const struct kymo_thread_title *titles, size_t count)
{
    char name[64] = "";
    const char *title = NULL;
    for (size_t i = 0; i < count && !title; i++)
        if (titles[i].tid == thread->tid)
            title = titles[i].title;
    if (!title)
        kymo__task_text(thread->tid, "comm", name, sizeof(name));
    if (thread->answer != KYMO_THREAD_ANSWERED)
        role = thread->answer == KYMO_THREAD_GONE ? "gone" : "silent";
    kymo__raw_text(out, "thread ");
    kymo__raw_number(out, thread->tid);
    kymo__raw_text(out, " ");
    kymo__raw_text(out, role);
    kymo__raw_text(out, " ");
    kymo__raw_quoted(out, title ? title : name);
    kymo__raw_text(out, "\n");
    if (thread->answer == KYMO_THREAD_SILENT)
        put_waits(out, thread->tid);
    put_stack(out, thread->stack);
}

static void put_module(struct kymo_rawtext *out, uint32_t number)
{
    struct kymo_module module;
    if (!module_of(number, &module))
        return;
    kymo__raw_text(out, "module ");
    kymo__raw_number(out, number);
    const uint64_t places[] = {module.base, module.low, module.high};
    for (unsigned i = 0; i < 3; i++) {
        kymo__raw_text(out, " ");
        kymo__raw_hex(out, places[i]);
    }
    char id[2 * sizeof(module.build_id) + 1] = "-";
    for (uint32_t i = 0; i < module.build_id_bytes && i < sizeof(module.build_id); i++) {
        id[2 * i] = "0123456789abcdef"[module.build_id[i] >> 4];
        id[2 * i + 1] = "0123456789abcdef"[module.build_id[i] & 15];
        id[2 * i + 2] = '\0';
    }
    kymo__raw_text(out, " ");
    kymo__raw_text(out, id);
    kymo__raw_text(out, " ");
    kymo__raw_quoted(out, module.path);
    kymo__raw_text(out, "\n");
}

/* ---- all of it */

static void put_heading(struct kymo_rawtext *out, const struct kymo_crash *crash)
{
    char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    kymo__raw_text(out, "kymo stacks 1\nprocess ");
    kymo__raw_number(out, (uint64_t)getpid());
    kymo__raw_text(out, " ");
    kymo__raw_quoted(out, path);
    kymo__raw_text(out, "\n");
    if (!crash)
        return;
    kymo__raw_text(out, "signal ");
    kymo__raw_number(out, (uint64_t)crash->number);
    kymo__raw_text(out, " ");
    kymo__raw_quoted(out, kymo__signal_name(crash->number));
    kymo__raw_text(out, crash->info->si_code < 0 ? " -" : " ");
    kymo__raw_number(out, (uint64_t)(crash->info->si_code < 0 ? -(int64_t)crash->info->si_code
                                                              : crash->info->si_code));
    kymo__raw_text(out, " ");
    kymo__raw_hex(out, crash->info->si_code > 0 ? (uint64_t)(uintptr_t)crash->info->si_addr : 0);
    kymo__raw_text(out, "\n");
}

int kymo__rawstacks_prepare(void)
{
    struct desk *none = NULL;
    if (kymo__load_acquire(&desk))
        return 0;
    void *memory = kymo__pages_new(sizeof(*desk));
    if (!memory)
        return -ENOMEM;
    if (!kymo__swap_if(&desk, &none, (struct desk *)memory))
        kymo__pages_free(memory, sizeof(*desk)); /* another thread was first */
    return 0;
}

int kymo__rawstacks_write(struct kymo_rawtext *out, const struct kymo_crash *crash,
                          const struct kymo_thread_title *titles, size_t count)
{
    const unsigned parts = KYMO_STACK_NATIVE | KYMO_STACK_MANAGED | KYMO_STACK_NAMED;
    const struct kymo_thread_stack *threads;
    int asked = kymo__threads_ask(parts, crash ? crash->context : NULL, &threads);
    if (asked < 0)
        return asked;
    if (kymo__rawstacks_prepare() < 0) {
        kymo__threads_done();
        return -ENOMEM;
    }
    memset(desk->mentioned, 0, sizeof(desk->mentioned));
    desk->late_count = 0;
    uint32_t me = (uint32_t)syscall(SYS_gettid);
    put_heading(out, crash);
    /* The calling thread comes first. */
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < asked; i++) {
            bool mine = threads[i].tid == me;
            if (mine == (turn == 0))
                put_thread(out, &threads[i],
                           !mine   ? "other"
                           : crash ? "crashed"
                                   : "asked",
                           titles, count);
        }
    for (uint32_t number = 1; number < MODULES; number++)
        if (desk->mentioned[number / 8] >> number % 8 & 1)
            put_module(out, number);
    for (size_t i = 0; i < desk->late_count; i++)
        put_module(out, (uint32_t)(MODULES + i));
    kymo__raw_text(out, "end\n");
    for (int i = 0; i < asked; i++)
        kymo_stack_release(threads[i].stack);
    kymo__threads_done();
    return kymo__rawtext_flush(out);
}
