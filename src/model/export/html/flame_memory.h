/* flame_memory.h — memory over time, for the page of a flame graph. */
#ifndef KYMO_FLAME_MEMORY_H
#define KYMO_FLAME_MEMORY_H

#include "gather.h"

/* Write the members "unit" and "memory" of the page's object, each after a comma. memory has

       times      of the points, in nanoseconds since the start
       series     [category, bytes at each point] of each category that occurs
       resident   resident memory at each point; 0 where it was not measured
       at         the time that the flame graph is of */
void kymo__flame_memory(const struct kymo_gathered *gathered);

#endif
