/* waits.h — functions in which a thread waits instead of working: for a lock, a descriptor, a
   process, a moment. One list for the recorder, which looks for slow calls, and for reports. */
#ifndef KYMO_WAITS_H
#define KYMO_WAITS_H

#include <stdbool.h>
#include <stdint.h>

/* Does a thread in the function NAME of FILE wait? FILE is the module of a native function, and KIND
   is of enum kymo_class. */
bool kymo__key_waits(uint32_t kind, const char *name, const char *file);

#endif
