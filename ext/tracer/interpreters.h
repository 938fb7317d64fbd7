/* interpreters.h — subinterpreters. Calls are recorded in the main interpreter only, so others that
   exist during a session are counted, and the capture says so: metadata "python.subinterpreters". */
#ifndef KYMO_EXT_INTERPRETERS_H
#define KYMO_EXT_INTERPRETERS_H

/* A session begins; it ends, and recording is still possible. With the GIL. */
void kymo__interpreters_begin(void);
void kymo__interpreters_end(void);

#endif
