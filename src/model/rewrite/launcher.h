/* launcher.h — what a run noted of the clocks of other hosts is in the capture of its first process,
   which may be a launcher whose children do the work. */
#ifndef KYMO_LAUNCHER_H
#define KYMO_LAUNCHER_H

#include "hostclock.h"
#include "pings.h"

/* If CAPTURE, opened from PATH, is of a child process, find the capture of its run's first process,
   and if that has the boot of CLOCK, add to PINGS what it noted, unless PINGS has that already.
   Returns 0, also if there is nothing to look for; -ENOENT if it was not found; or -ENOMEM. */
int kymo__launcher_pings(struct kymo_pings *pings, const struct kymo_hostclock *clock,
                         const struct kymo_capture *capture, const char *path);

#endif
