/* endsignal.h — complete the capture when a signal ends the process: kymo_end_on_signal. */
#ifndef KYMO_ENDSIGNAL_H
#define KYMO_ENDSIGNAL_H

#include <stdbool.h>

/* For the writer thread, periodically: has the signal arrived, and has its time run out? */
bool kymo__endsignal_due(void);

/* End the process by that signal, after printing the message. Does not return. */
_Noreturn void kymo__endsignal_die(void);

/* The number of that signal. */
int kymo__endsignal_number(void);

/* For kymo_stop, under the life lock: the capture will be completed; restore the handler. */
void kymo__endsignal_restore(void);

/* In a forked child: the handler that it inherited ends it as the default action would. */
void kymo__endsignal_forget(void);

#endif
