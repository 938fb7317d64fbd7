/* rawstacks.h — the stacks of all threads as raw text: what kymo_stacks_write writes.

       kymograph stacks 1
       process 4711 "/usr/bin/python3"
       signal 11 "SIGSEGV" 1 0x0           number, name, its code, its address; only of a crash
       thread 4711 asked "python3"         asked, crashed, other, silent or gone; its name
       native 3 0x9db93 "libc.so.6"        module, place in it, the end of its path
       native 0 0x7f13a2b01c20             in no module
       python 12 "Pool.run" "pool.py"      line, function, file; by the interpreter's name
       cut                                 frames further out are not there
       waits "S" 202 "futex_wait" 1        of a silent one: state, system call or -, where in
                                           the system, 1 when it blocks signals
       module 3 0x7f13a2a64000 0x7f13a2a8a000 0x7f13a2bf0000 3a1f… "/lib/x86_64-linux-gnu/libc.so.6"
                                           base, code from and to, build id or -, path
       end

   Frames are innermost first. A native address is that of the call, less one byte: inside of
   the call and not behind it. All of it is for signal handlers too. */
#ifndef KYMO_RAWSTACKS_H
#define KYMO_RAWSTACKS_H

#include <kymo/stackdump.h>
#include <signal.h>

struct kymo_rawtext;

/* A crash: what the handler of the signal got. */
struct kymo_crash {
    int number;
    const siginfo_t *info;
    const void *context;
};

/* Have the memory that writing takes, which is had when first needed otherwise. 0 or -ENOMEM. */
int kymo__rawstacks_prepare(void);

/* Write them all to OUT; CRASH may be NULL. 0 or a negative errno. */
int kymo__rawstacks_write(struct kymo_rawtext *out, const struct kymo_crash *crash,
                          const struct kymo_thread_title *titles, size_t count);

/* "SIGSEGV", and what it means; for all that crash.c handles. */
const char *kymo__signal_name(int number);
const char *kymo__signal_meaning(int number);

#endif
