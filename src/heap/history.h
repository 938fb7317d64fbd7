/* history.h — recording memory without a session of the program's: kymo_memory_start records into a
   temporary capture, which kymo_memory_export copies or converts. */
#ifndef KYMO_HISTORY_H
#define KYMO_HISTORY_H

int kymo__history_start(void *user);
int kymo__history_stop(void *user);
int kymo__history_export(void *user, const char *path);

#endif
