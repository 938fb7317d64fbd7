/* wallerror.c — see wallerror.h. */
#include "wallerror.h"

#include <sys/timex.h>

bool kymo__wall_error(struct kymo_wall_error *error)
{
    struct timex state = {.modes = 0}; /* ask only: needs no privileges */
    if (adjtimex(&state) < 0)
        return false;
    *error = (struct kymo_wall_error){
        .synchronised = !(state.status & STA_UNSYNC),
        .most_us = state.maxerror,
        .estimate_us = state.esterror,
    };
    return true;
}
