/* procfs.h — the threads of this process as the system tells them. All of it is system calls:
   for signal handlers too. */
#ifndef KYMO_PROCFS_H
#define KYMO_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ids of the first CAPACITY threads. Returns how many there are; 1 when it cannot be told,
   and then it is the calling one. */
size_t kymo__tasks_list(uint32_t *tids, size_t capacity);

struct kymo_task {
    char state;       /* R running, S sleeping, T stopped, …; 0 when it is not known */
    uint64_t blocked; /* signals, bit number - 1 */
};
bool kymo__task_look(uint32_t tid, struct kymo_task *task);

/* The file NAME of thread TID: its text in TEXT, up to the first line end, cut to SIZE. False
   when there is nothing. */
bool kymo__task_text(uint32_t tid, const char *name, char *text, size_t size);

#endif
