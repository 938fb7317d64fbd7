/* rawstacks.h — the stacks of all threads as raw text: what kymo_stacks_write writes.

       kymo stacks 1
       process 4711 "/usr/bin/python3"
       signal 11 "SIGSEGV" 1 0x0           number, name, code, address; only in a crash
       thread 4711 asked "python3"         asked, crashed, other, silent or gone; its name
       native 3 0x9db93 "libc.so.6"        module, offset in it, last part of its path
       native 0 0x7f13a2b01c20             in no module
       python 12 "Pool.run" "pool.py"      line, function, file; the word is the interpreter's name
       cut                                 outer frames are missing
       waits "S" 202 "futex_wait" 1        of a silent thread: state, system call or -, kernel
                                           function, 1 when it blocks signals
       module 3 0x7f13a2a64000 0x7f13a2a8a000 0x7f13a2bf0000 3a1f… "/lib/x86_64-linux-gnu/libc.so.6"
                                           base, code from and to, build id or -, path
       end

   Frames are innermost first. A native address is the return address minus one byte, so that
   it lies inside the call instruction. All functions here may be used in signal handlers. */
#ifndef KYMO_RAWSTACKS_H
#define KYMO_RAWSTACKS_H

#include <kymo/stackdump.h>
#include <signal.h>

struct kymo_rawtext;

/* A crash: the arguments of the signal handler. */
struct kymo_crash {
    int number;
    const siginfo_t *info;
    const void *context;
};

/* Allocate the working memory now instead of at first use. 0 or -ENOMEM. */
int kymo__rawstacks_prepare(void);

/* Write all stacks to OUT; CRASH may be NULL. 0 or a negative errno. */
int kymo__rawstacks_write(struct kymo_rawtext *out, const struct kymo_crash *crash,
                          const struct kymo_thread_title *titles, size_t count);

/* "SIGSEGV", and what it means; for every signal that crash.c handles. */
const char *kymo__signal_name(int number);
const char *kymo__signal_meaning(int number);

#endif
