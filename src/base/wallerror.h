/* wallerror.h — what the kernel knows about the error of CLOCK_REALTIME. It learns that from whatever
   sets the clock (chrony, ntpd, ptp4l), and lets the greatest error grow by 500 ppm since then. */
#ifndef KYMO_WALLERROR_H
#define KYMO_WALLERROR_H

#include <stdbool.h>
#include <stdint.h>

struct kymo_wall_error {
    bool synchronised;
    int64_t most_us;     /* no more than this, if synchronised */
    int64_t estimate_us; /* probably this */
};

/* Read it. False if the kernel does not tell, or where system calls are filtered. */
bool kymo__wall_error(struct kymo_wall_error *error);

#endif
