/* procid.h — identify this process, and check whether another one is still alive. */
#ifndef KYMO_PROCID_H
#define KYMO_PROCID_H

#include <stdint.h>

/* When PID started, in the kernel's ticks since boot, or 0 if unknown. Distinguishes a process from
   a later one with the same pid. */
uint64_t kymo__process_start(uint32_t pid);

/* The same for this process. */
uint64_t kymo__process_start_own(void);

/* Call the first before a fork and the second in the child: then the child usually knows when it
   started without asking the kernel. */
void kymo__process_before_fork(void);
void kymo__process_forked(void);

/* The id of this boot of this machine; zeros when it is unknown. */
void kymo__boot_id(uint8_t id[16]);

/* Is the process with PID, START and BOOT still running? 1 yes, 0 no, -1 unknown: it belongs to
   another machine or boot. */
int kymo__process_alive(uint32_t pid, uint64_t start, const uint8_t boot[16]);

#endif
