/* interrupt.h — being interrupted while a file is half-written: it must go before we do. */
#ifndef KYMO_CLI_INTERRUPT_H
#define KYMO_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP are only noted. What our parent ignores (nohup)
   stays ignored. */
void kymo__cli_interrupt_watch(void);

/* Did one come? */
bool kymo__cli_interrupted(void);

/* End as that signal would have ended us, so that shells know. Returns when none came. */
void kymo__cli_interrupt_obey(void);

#endif
