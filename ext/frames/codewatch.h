/* codewatch.h — report the death of code objects.

   Code objects are identified by address, so anyone who stores one must forget it in time. */
#ifndef KYMO_EXT_CODEWATCH_H
#define KYMO_EXT_CODEWATCH_H

#include "compat.h"

/* Called with the GIL while CODE is still intact. */
typedef void kymo_code_listener(PyCodeObject *code);

/* Call LISTENER for every code object that dies from now on. Registering twice has no effect.
   Returns 0, or -1 with an exception. */
int kymo__code_deaths_watch(kymo_code_listener *listener);

/* Stop calling LISTENER. When none is left, the interpreter is restored. */
void kymo__code_deaths_ignore(kymo_code_listener *listener);

#endif
