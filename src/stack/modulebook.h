/* modulebook.h — numbers for modules, and what each is called. A module keeps its number and its
   name after it is unloaded, for stacks captured earlier (kymo_module_get). */
#ifndef KYMO_MODULEBOOK_H
#define KYMO_MODULEBOOK_H

#include <kymo/stack.h>
#include <stdint.h>

enum { KYMO__MODULE_PATH = 4096 }; /* bytes of a path that are kept, with the 0 */

/* The number of MODULE, given a new one if it is new; its path is copied. 0 if memory is short or
   all numbers are in use. One thread at a time; not in a signal handler. */
uint32_t kymo__module_number(const struct kymo_module *module);

#endif
