/* procfs.h — list the threads of this process. Only makes system calls, so signal handlers may use
   it. */
#ifndef KYMO_PROCFS_H
#define KYMO_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Store the ids of the first CAPACITY threads. Returns how many there are. Without /proc only two
   are known: the calling one and the main thread. */
size_t kymo__tasks_list(uint32_t *tids, size_t capacity);

struct kymo_task {
    char state;       /* R running, S sleeping, T stopped, …; 0 if unknown */
    uint64_t blocked; /* blocked signals, bit number - 1 */
};
bool kymo__task_look(uint32_t tid, struct kymo_task *task);

/* Read file NAME of thread TID into TEXT, up to the first line end, cut to SIZE. False if it is
   empty or missing. */
bool kymo__task_text(uint32_t tid, const char *name, char *text, size_t size);

#endif
