/* unseen.h — C calls whose end the interpreter does not tell: those of methods around a C
   function with *arguments, since 3.13.

   Such a call is open until its caller is seen to do something else. While one is, every event
   of the thread takes the long way, where that is looked for; otherwise this costs nothing. */
#ifndef KYMO_EXT_UNSEEN_H
#define KYMO_EXT_UNSEEN_H

#include "compat.h"

#include <stdint.h>

/* How many are open on this thread; nothing but `begin` needs to be called while it is 0. */
extern __thread unsigned kymo__unseen;

/* The frame that runs calls KEY: record that it is entered. */
void kymo__unseen_begin(uint32_t key);

/* An event is about to be recorded: those whose caller has gone on have ended. */
void kymo__unseen_settle(void);

#endif
