/* unwound.h — for hooks through which operator new may throw: the thread must not stay marked as
   inside an allocator.

   C has no catch and libgcc's cleanup handler would make the library depend on libgcc_s. So functions
   that call operator new while the thread is marked name a personality routine of our own in their
   unwind information: whoever unwinds them calls it, and it takes the mark away. */
#ifndef KYMO_UNWOUND_H
#define KYMO_UNWOUND_H

#include <stdint.h>

/* hooks_new.c: the frame of such a function is being unwound. */
int kymo__heaprec_unwound(int version, int actions, uint64_t kind, const void *exception,
                          const void *context);

/* The first statement of such a function, which is WHOLE. 0x1b: stored as a signed 32-bit distance
   from its place. */
#define NOTICE_UNWINDING() __asm__ volatile(".cfi_personality 0x1b, kymo__heaprec_unwound")
#ifdef __clang__
#define WHOLE __attribute__((noinline))
#else
#define WHOLE __attribute__((noinline, noclone))
#endif

#endif
