/* arch.h — the counter register and the spin-wait hint, per architecture.

   One small header per architecture with the same functions; this one picks. They contain the only
   assembly in the tree, and are public because the recording path (lane.h) is inlined into
   sources. */
#ifndef KYMO_ARCH_H
#define KYMO_ARCH_H

#if defined(__x86_64__)
#include <kymo/arch_x86_64.h>
#elif defined(__aarch64__)
#include <kymo/arch_aarch64.h>
#else
#include <kymo/arch_generic.h>
#endif

#endif
