/* throttle_sites.h — what a session with a budget counts: Python functions, and the calls in them. */
#ifndef KYMO_EXT_THROTTLE_SITES_H
#define KYMO_EXT_THROTTLE_SITES_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* A Python function, or a call site in it. */
struct site {
    const void *code;      /* NULL: free slot */
    uint32_t offset;       /* of the call instruction; SITE_FUNCTION for the function itself */
    uint32_t key;          /* of what is recorded; 0 if nothing has been */
    uint32_t off;          /* 1: switched off */
    uint32_t active;       /* recorded enters without a leave so far */
    uint32_t window;       /* events since the last check, if in_window is the current interval */
    uint32_t in_window;    /* the interval of the last event */
    uint32_t events;       /* in total */
    uint32_t c_call;       /* its events cost what C calls cost */
    uint64_t calls, ticks; /* recorded so far, and their total time */
    struct site *next;     /* the next of the same code; the list begins with the function's */
};
#define SITE_FUNCTION 0xffffffffu

/* The site, created if it is new; NULL when memory is short, and for a new call site while
   kymo__throttle_is_broke. */
struct site *kymo__site(const void *code, uint32_t offset);

/* CODE has died: an object at the same address is a new one. */
void kymo__throttle_forget(const void *code);

/* Is the Python function of CODE switched off? */
bool kymo__throttle_is_off(const void *code);

/* A call of CODE that was already open was recorded on behalf of another thread, which will
   report it with its first event. */
void kymo__throttle_expect(const void *code);

/* Iterate over all sites: *AT is 0 first. NULL at the end. Under the lock. */
struct site *kymo__sites_next(size_t *at);
void kymo__sites_free(void);

/* Without a GIL other threads may add sites. */
void kymo__sites_lock(void);
void kymo__sites_unlock(void);

#endif
