/* crashnote.h — say where the capture is when a crash ends the process: kymo_crash_message. */
#ifndef KYMO_CRASHNOTE_H
#define KYMO_CRASHNOTE_H

/* For handlers of signals that end the process: print the message, once, if there is one. */
void kymo__crashnote_say(int number);

/* For kymo_stop, under the life lock: restore the handlers. */
void kymo__crashnote_end(void);

#endif
