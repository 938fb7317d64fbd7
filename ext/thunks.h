/* thunks.h — C calls the cheap way: experimental.

   Instead of asking the interpreter to report every call, the pointer to the C function in
   its PyMethodDef is replaced by one of ours that records, calls the original, and records
   again. Nothing is slowed down but the call itself, calls made by C code are seen too, and
   the interpreter's specialised instructions stay in use. It writes into other libraries'
   data, and it does not see everything:

   - types, slot wrappers, partials and other callables that have no PyMethodDef;
   - len(), isinstance() and list.append() where the interpreter has specialised the call;
   - C functions of modules imported after the session began;
   - the functions the interpreter knows by their address, which must not change:
     every __new__, object.__getstate__, and persistent_id of picklers. */
#ifndef KYMO_EXT_THUNKS_H
#define KYMO_EXT_THUNKS_H

#include "compat.h"

/* Put thunks into the definitions of the callables in LIST, as far as they have one. 0, or
   -1 with an exception; part of them may have one then. */
int kymo__thunks_install(PyObject *list);

/* Put everything back as it was. */
void kymo__thunks_remove(void);

#endif
