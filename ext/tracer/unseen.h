/* unseen.h — C calls whose end the interpreter does not report: methods around a C function called
   with *arguments, since 3.13.

   Such a call is open until its caller does something else. While one is, every event of the thread
   takes the slow path, which checks for that; otherwise this costs nothing. */
#ifndef KYMO_EXT_UNSEEN_H
#define KYMO_EXT_UNSEEN_H

#include "compat.h"

#include <stdint.h>

struct call_lines;

/* How many are open on this thread; while it is 0, only `begin` has to be called. */
extern __thread unsigned kymo__unseen;

/* The running frame calls KEY: record the enter, with LINES if they are not NULL. */
void kymo__unseen_begin(uint32_t key, const struct call_lines *lines);

/* An event is about to be recorded: calls whose caller has moved on have ended. */
void kymo__unseen_settle(void);

/* All of them have ended. */
void kymo__unseen_end(void);

#endif
