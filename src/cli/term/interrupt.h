/* interrupt.h — handles signals while a file is half-written, so that it can be removed first. */
#ifndef KYMO_CLI_INTERRUPT_H
#define KYMO_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on only note SIGINT, SIGTERM and SIGHUP. Signals that our parent ignores (nohup) stay
   ignored. */
void kymo__cli_interrupt_watch(void);

/* Has a signal arrived? */
bool kymo__cli_interrupted(void);

/* End the process by that signal, so that the shell sees it. Returns if none arrived. */
void kymo__cli_interrupt_obey(void);

#endif
