/* flightask.c — kymo_flight_write: marks the moment and has the flight recorder written. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "drain.h"
#include "flight.h"
#include "running.h"

static int mark_reason(const char *why)
{
    static const char before[] = "kymograph flight: ";
    size_t len = strlen(why);
    char *name = kymo__alloc(sizeof(before) + len);
    if (!name)
        return -ENOMEM;
    memcpy(name, before, sizeof(before) - 1);
    memcpy(name + sizeof(before) - 1, why, len + 1);
    const char *kept = kymo_intern(name);
    if (kept != name)
        kymo_instant(kept);
    kymo__free(name);
    return 0;
}

static int mark_and_ask(const char *why)
{
    const struct kymo_running *running = kymo__running;
    if (!running)
        return KYMO_EIDLE;
    if (!kymo__flight_on(running->flight))
        return KYMO_ENOTFLIGHT;
    int rc = mark_reason(why ? why : "");
    return rc < 0 ? rc : kymo__drain_flight(running->drain);
}

int kymo_flight_write(const char *why)
{
    if (kymo__switch_forked())
        return KYMO_EIDLE;
    kymo__life_lock();
    int rc = mark_and_ask(why);
    kymo__life_unlock();
    return rc;
}
