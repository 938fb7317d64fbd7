/* ours.h — was this file written by an export, so that a newer one may replace it?

   A finished export is marked with an extended attribute that holds its size and modification time;
   a file changed since is no longer ours. If the file system has no attributes, or the file was
   copied, its first bytes decide; exports in formats that cannot name their writer are then only
   recognised by the process that wrote them. */
#ifndef KYMO_OURS_H
#define KYMO_OURS_H

/* Mark the finished file that FD has open. Fails silently. */
void kymo__ours_mark(int fd);

/* Returns 0 if PATH may be written: it does not exist, is empty, is not a regular file (a pipe, a
   device), or is an export of ours. Returns -EEXIST for anything else, or another negative
   errno. */
int kymo__ours_check(const char *path);

#endif
