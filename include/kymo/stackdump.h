/* stackdump.h — where all threads of this process are: when asked, and when it crashes.

   Every thread is asked by a signal that nobody handles (SIGURG, unless the program has a
   handler for that) and captures its own stack, as in stack.h. Threads that do not answer,
   because they block signals or are stopped, are told as silent. System calls of the program
   do not fail for it: they go on, except those that wait for a given time and cannot say how
   much of it is left (poll and epoll_wait with a timeout, for instance): such a call may end
   with EINTR, as it would after a stop by a debugger. */
#ifndef KYMO_STACKDUMP_H
#define KYMO_STACKDUMP_H

#include <kymo/stack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kymo_thread_answer {
    KYMO_THREAD_ANSWERED = 0,
    KYMO_THREAD_SILENT = 1, /* it blocks signals, is stopped, or was too slow */
    KYMO_THREAD_GONE = 2,   /* it ended meanwhile */
};

struct kymo_thread_stack {
    uint32_t tid;
    uint32_t answer;  /* of enum kymo_thread_answer */
    kymo_stack stack; /* to be released; 0 when there is none */
};

/* Capture the stacks of all threads, the calling one included; PARTS of enum kymo_stack_part.
   The first CAPACITY of them are stored. Returns how many threads there are, or -EDEADLK when
   a signal handler calls this that has interrupted the same. Any thread, several at a time,
   which then wait for each other; also in a forked child. Takes a few milliseconds, and up to
   half a second when a thread does not answer. */
KYMO_API int kymo_stack_capture_threads(unsigned parts, struct kymo_thread_stack *threads,
                                        size_t capacity);

/* What a thread is called, instead of the name that the system has. */
struct kymo_thread_title {
    uint32_t tid;
    const char *title;
};

/* Write where all threads are to descriptor FD, as text for kymo_stacks_print: raw, without
   reading any file. TITLES may be NULL. 0 or a negative errno. */
KYMO_API int kymo_stacks_write(int fd, const struct kymo_thread_title *titles, size_t count);

/* Print what kymo_stacks_write wrote, which is read from FROM, to descriptor TO for people:
   functions with their files and lines, the most recent call last. MODE is of enum
   kymo_symbol_mode (symbol.h). May be done elsewhere and later: files are found by their build
   ids too. 0, a negative errno, or KYMO_ENOTSTACKS. */
KYMO_API int kymo_stacks_print(int from, int to, int mode);

/* Both at once. */
KYMO_API int kymo_stacks_dump(int fd);

/* With ON not 0, print the stacks of all threads to stderr when a signal ends the process:
   SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP. What was to happen then still
   happens: handlers that were there before are called, and the process ends by that signal.
   PROGRAM is the path of the program kymograph, which names the functions; NULL: it is looked for
   beside this library and in PATH, now. Without it the raw text is printed. Threads that are
   there now, and those that record, get a stack for signals if they have none, so that the
   overflow of their own can be told. With ON 0 it is switched off. Returns 0, or a negative
   errno. */
KYMO_API int kymo_crash_stacks(int on, const char *program);

#ifdef __cplusplus
}
#endif
#endif
