/* stackdump.h — show the stacks of all threads of this process, on request or in a crash.

   A signal that has no handler (SIGURG, unless the program handles it) asks each thread to capture
   its own stack, as in stack.h. Threads that do not answer, because they block signals or are
   stopped, are reported as silent. Interrupted system calls are restarted, except those with a
   timeout that the kernel cannot resume (poll and epoll_wait, for instance): these may fail with
   EINTR, as they do when a debugger stops the process. */
#ifndef KYMO_STACKDUMP_H
#define KYMO_STACKDUMP_H

#include <kymo/stack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kymo_thread_answer {
    KYMO_THREAD_ANSWERED = 0,
    KYMO_THREAD_SILENT = 1, /* it blocks signals, is stopped, or was too slow */
    KYMO_THREAD_GONE = 2,   /* it exited meanwhile */
};

struct kymo_thread_stack {
    uint32_t tid;
    uint32_t answer;  /* enum kymo_thread_answer */
    kymo_stack stack; /* the caller releases it; 0 if there is none */
};

/* Capture the stacks of all threads, including the calling one. PARTS is a set of enum
   kymo_stack_part bits. The first CAPACITY results are stored in THREADS. Returns the number of
   threads, or -EDEADLK if called from a signal handler that interrupted another such call. Any
   thread; simultaneous calls wait for each other. Works in a forked child. Takes a few
   milliseconds, or up to half a second if a thread does not answer. */
KYMO_API int kymo_stack_capture_threads(unsigned parts, struct kymo_thread_stack *threads,
                                        size_t capacity);

/* A thread's title, shown instead of the system's name for it. */
struct kymo_thread_title {
    uint32_t tid;
    const char *title;
};

/* Write the stacks of all threads to descriptor FD as raw text for kymo_stacks_print, without
   reading any file. TITLES, an array of COUNT, may be NULL. Returns 0 or a negative errno. */
KYMO_API int kymo_stacks_write(int fd, const struct kymo_thread_title *titles, size_t count);

/* Read what kymo_stacks_write wrote from descriptor FROM and print it to descriptor TO in readable
   form: functions with files and lines, most recent call last. MODE is one of enum kymo_symbol_mode
   (symbol.h). Works later and on another machine: files are also found by build id. Returns 0, a
   negative errno, or KYMO_ENOTSTACKS. */
KYMO_API int kymo_stacks_print(int from, int to, int mode);

/* kymo_stacks_write and kymo_stacks_print in one: print this process's stacks to descriptor FD. */
KYMO_API int kymo_stacks_dump(int fd);

/* If ON is not 0, print the stacks of all threads to stderr when one of these signals ends the
   process: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP. Handlers installed earlier
   still run, and the process still ends by that signal. If ON is 0, turn this off.

   PROGRAM is the path of the kymograph program, which resolves function names; NULL searches now,
   beside this library and in PATH. Without the program, raw text is printed. Existing threads, and
   threads that record, get an alternate signal stack if they have none, so that a stack overflow
   can be reported. Returns 0 or a negative errno. */
KYMO_API int kymo_crash_stacks(int on, const char *program);

#ifdef __cplusplus
}
#endif
#endif
