/* procid.h — which process this is, and whether another one is still there. */
#ifndef KYMO_PROCID_H
#define KYMO_PROCID_H

#include <stdint.h>

/* When PID started, in the kernel's ticks since boot, or 0 when that is unknown: tells
   a process from a later one with the same number. */
uint64_t kymo__process_start(uint32_t pid);

/* The id of this boot of this machine; zeros when it is unknown. */
void kymo__boot_id(uint8_t id[16]);

/* Is the process that had PID, START and BOOT still running? 1 yes, 0 no, -1 it
   belongs to another machine or boot, where nobody can tell. */
int kymo__process_alive(uint32_t pid, uint64_t start, const uint8_t boot[16]);

#endif
