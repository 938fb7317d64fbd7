/* preload_end.c — programs that are not Python and end without running destructors: _exit, quick_exit,
   and exec. The recording ends before they do.

   Each function calls on to the next definition. In a child made by fork or vfork it does nothing
   else: the recording is its parent's, and after vfork even the memory is. */
#include <dlfcn.h>
#include <errno.h>
#include <kymo/mark.h>
#include <kymo/memory.h>
#include <kymo/record.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

#define EXPORT __attribute__((visibility("default")))

/* Of libkymo; NULL until it records. */
static int (*stop_recording)(void);
static int (*is_mid_call)(void);
static void (*set_metadata)(const char *, const char *);
static pid_t recorded; /* the process */

static void end_recording(const char *how)
{
    int saved = errno;
    if (stop_recording && getpid() == recorded && !is_mid_call()) {
        if (how)
            set_metadata("process.ended", how);
        stop_recording();
    }
    errno = saved;
}

static void end_quickly(void)
{
    end_recording(NULL);
}

void kymo__preload_recorded(void *library)
{
    is_mid_call = (int (*)(void))(uintptr_t)dlsym(library, "kymo_memory_mid_call");
    set_metadata = (void (*)(const char *, const char *))(uintptr_t)dlsym(library, "kymo_metadata");
    recorded = getpid();
    if (is_mid_call && set_metadata)
        stop_recording = (int (*)(void))(uintptr_t)dlsym(library, "kymo_stop_before_exit");
    /* The first to be registered is the last to run. */
    if (stop_recording)
        (void)at_quick_exit(end_quickly);
}

/* ---- the next definitions ---- */

enum { EXIT, EXIT_NOW, EXECV, EXECVE, EXECVP, EXECVPE, FEXECVE, COUNT };

static struct {
    const char *symbol;
    void *next;
} ends[COUNT] = {
    [EXIT] = {"_exit", NULL},      [EXIT_NOW] = {"_Exit", NULL}, [EXECV] = {"execv", NULL},
    [EXECVE] = {"execve", NULL},   [EXECVP] = {"execvp", NULL},  [EXECVPE] = {"execvpe", NULL},
    [FEXECVE] = {"fexecve", NULL},
};

static void *next_of(int i)
{
    if (!ends[i].next)
        ends[i].next = dlsym(RTLD_NEXT, ends[i].symbol);
    return ends[i].next;
}

/* Before the program begins: signal handlers and children made by vfork must not call dlsym. */
__attribute__((constructor)) static void find_ends(void)
{
    for (int i = 0; i < COUNT; i++)
        next_of(i);
}

/* ---- the end of the process ---- */

static _Noreturn void leave_process(int i, int status)
{
    end_recording(NULL);
    void (*next)(int) = (void (*)(int))(uintptr_t)next_of(i);
    if (next)
        next(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORT void _exit(int status)
{
    leave_process(EXIT, status);
}

EXPORT void _Exit(int status)
{
    leave_process(EXIT_NOW, status);
}

/* ---- another program ---- */

/* Can the file at PATH be executed, as far as that is known without trying? Programs try names that do
   not exist, and go on. */
static bool is_program(const char *path)
{
    struct stat status;
    return access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* The same for FILE, which is looked for along PATH if it has no slash. */
static bool is_found(const char *file)
{
    char name[4096];
    if (strchr(file, '/'))
        return is_program(file);
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        const char *end = strchrnul(at, ':');
        int n = snprintf(name, sizeof(name), "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "",
                         file);
        if (n > 0 && (size_t)n < sizeof(name) && is_program(name))
            return true;
        at = *end ? end + 1 : NULL;
    }
    return false;
}

static int become_program(int i, const char *file, char *const argv[])
{
    if (stop_recording && (i == EXECV ? is_program(file) : is_found(file)))
        end_recording("exec");
    int (*next)(const char *, char *const[]) =
        (int (*)(const char *, char *const[]))(uintptr_t)next_of(i);
    return next(file, argv);
}

static int become_with(int i, const char *file, char *const argv[], char *const envp[])
{
    if (stop_recording && (i == EXECVE ? is_program(file) : is_found(file)))
        end_recording("exec");
    int (*next)(const char *, char *const[], char *const[]) =
        (int (*)(const char *, char *const[], char *const[]))(uintptr_t)next_of(i);
    return next(file, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
    return become_program(EXECV, path, argv);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return become_with(EXECVE, path, argv, envp);
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return become_program(EXECVP, file, argv);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return become_with(EXECVPE, file, argv, envp);
}

EXPORT int fexecve(int file, char *const argv[], char *const envp[])
{
    end_recording("exec");
    int (*next)(int, char *const[], char *const[]) =
        (int (*)(int, char *const[], char *const[]))(uintptr_t)next_of(FEXECVE);
    return next(file, argv, envp);
}

/* Store FIRST and what follows it up to NULL in ARGV, if that is not NULL. Returns how many. */
static size_t list_arguments(const char **argv, const char *first, va_list *rest)
{
    size_t count = 0;
    for (const char *argument = first;; argument = va_arg(*rest, const char *)) {
        if (argv)
            argv[count] = argument;
        if (!argument)
            return count;
        count++;
    }
}

/* The arguments of a function from FIRST on as ARGV, on its stack, and the variable REST, which then
   is at what follows NULL. */
#define WITH_ARGUMENTS(first, argv, rest)                                                          \
    va_list rest;                                                                                  \
    va_start(rest, first);                                                                         \
    size_t argument_count = list_arguments(NULL, first, &rest);                                    \
    va_end(rest);                                                                                  \
    const char **argv = __builtin_alloca((argument_count + 1) * sizeof(*argv));                    \
    va_start(rest, first);                                                                         \
    list_arguments(argv, first, &rest)

EXPORT int execl(const char *path, const char *first, ...)
{
    WITH_ARGUMENTS(first, argv, rest);
    va_end(rest);
    return execv(path, (char *const *)(uintptr_t)argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    WITH_ARGUMENTS(first, argv, rest);
    va_end(rest);
    return execvp(file, (char *const *)(uintptr_t)argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    WITH_ARGUMENTS(first, argv, rest);
    char *const *envp = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, (char *const *)(uintptr_t)argv, envp);
}
