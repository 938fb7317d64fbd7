/* guard.c — see guard.h. */
#include "guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

int kymo__guard_init(struct view_guard *guard)
{
    unsigned char bytes[VIEW_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -EIO;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(guard->token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* Is TEXT "PREFIX127.0.0.1:PORT", or the same with "localhost"? */
static bool is_here(const struct view_guard *guard, const char *prefix, const char *text)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char here[64];
        snprintf(here, sizeof here, "%s%s:%u", prefix, names[i], guard->port);
        if (strcasecmp(here, text) == 0)
            return true;
    }
    return false;
}

/* Takes as long for every token, so that its time does not tell how much of one is right. */
static bool is_token(const struct view_guard *guard, const char *path)
{
    unsigned different = 0;
    if (strlen(path) < VIEW_TOKEN)
        return false;
    for (size_t i = 0; i < VIEW_TOKEN; i++)
        different |= (unsigned)(path[i] ^ guard->token[i]);
    return different == 0;
}

unsigned kymo__guard_check(const struct view_guard *guard, const struct view_guard_request *request,
                           const char **name)
{
    const char *path = request->path;
    if (!request->host || !is_here(guard, "", request->host))
        return 403;
    if (request->origin && !is_here(guard, "http://", request->origin))
        return 403;
    if (request->site && strcmp(request->site, "same-origin") != 0 &&
        strcmp(request->site, "none") != 0)
        return 403;
    if (strcmp(request->method, "GET") != 0)
        return 405;
    if (path[0] != '/' || !is_token(guard, path + 1) || path[1 + VIEW_TOKEN] != '/')
        return 403;
    *name = path + 1 + VIEW_TOKEN + 1;
    /* A name is one word of letters; nothing that could be a path. */
    return (*name)[strspn(*name, "abcdefghijklmnopqrstuvwxyz")] ? 404 : 200;
}
