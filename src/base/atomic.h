/* atomic.h — the few ways in which threads share memory here.

   Each name says what it promises: `relaxed` only that the value is whole,
   `acquire` that everything the releasing thread did before is seen, `release` the
   other half. Work on plain integers and pointers, also inside a shared mapping. */
#ifndef KYMO_ATOMIC_H
#define KYMO_ATOMIC_H

#define kymo__load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define kymo__load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define kymo__store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define kymo__store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define kymo__add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define kymo__add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define kymo__exchange(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

/* Replace *P by V if it is *EXPECTED; otherwise *EXPECTED becomes what it was. */
#define kymo__swap_if(p, expected, v)                                                              \
    __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Keeps the compiler from moving memory accesses across; emits no instruction. */
#define kymo__compiler_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Never inlined, and laid out away from what runs often. */
#define KYMO__COLD __attribute__((noinline, cold))

#define kymo__likely(x) __builtin_expect(!!(x), 1)
#define kymo__unlikely(x) __builtin_expect(!!(x), 0)

#endif
