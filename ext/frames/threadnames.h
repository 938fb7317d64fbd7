/* threadnames.h — threads as the module threading knows them, without running the program's code. */
#ifndef KYMO_EXT_THREADNAMES_H
#define KYMO_EXT_THREADNAMES_H

#include "compat.h"

#include <stdint.h>

/* Attribute NAME of OBJECT, an instance of one of the program's classes: from the object's dict. A
   new reference, or NULL without an exception. */
PyObject *kymo__own_attribute(PyObject *object, const char *name);

/* Call NAME with the system's id and the name of every thread that threading lists. With the
   GIL. */
void kymo__threads_name(void (*name)(uint32_t tid, const char *text));

#endif
