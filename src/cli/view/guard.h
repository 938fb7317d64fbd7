/* guard.h — decides whether a request may be answered. See server.h for the rules. */
#ifndef KYMO_CLI_GUARD_H
#define KYMO_CLI_GUARD_H

#include <stdint.h>

enum { VIEW_TOKEN = 32 }; /* hexadecimal digits: 128 bits */

struct view_guard {
    char token[VIEW_TOKEN + 1];
    uint16_t port; /* the one that is served */
};

/* Choose a token at random. Returns 0 or a negative errno. */
int kymo__guard_init(struct view_guard *guard);

struct view_guard_request {
    const char *method, *path;
    const char *host, *origin, *site; /* headers Host, Origin, Sec-Fetch-Site; NULL if not sent */
};

/* Check REQUEST. Returns 200 with *NAME, what is asked for: the rest of the path after the token, ""
   for the page; else 403, 404 or 405. */
unsigned kymo__guard_check(const struct view_guard *guard, const struct view_guard_request *request,
                           const char **name);

#endif
