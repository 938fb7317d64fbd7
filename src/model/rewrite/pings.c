/* pings.c — see pings.h. */
#include "pings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"

/* No clock shows more. Sums of a few do not overflow. */
#define TIME_MOST (INT64_C(1) << 60)

bool kymo__is_ping(const char *key)
{
    return strncmp(key, KYMO__PING_KEY, sizeof(KYMO__PING_KEY) - 1) == 0;
}

static bool read_boot(const char *text, uint8_t boot[16])
{
    for (int i = 0; i < 16; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        boot[i] = (uint8_t)byte;
    }
    return true;
}

static bool read_ping(const char *text, struct kymo_ping *ping)
{
    char peer[33];
    int64_t times[6];
    if (sscanf(text,
               "peer=%32[0-9a-f] sent=%" SCNd64 " seen=%" SCNd64 " answered=%" SCNd64
               " received=%" SCNd64 " raw=%" SCNd64 " peer_raw=%" SCNd64,
               peer, &times[0], &times[1], &times[2], &times[3], &times[4], &times[5]) != 7 ||
        strlen(peer) != 32 || !read_boot(peer, ping->peer))
        return false;
    for (int i = 0; i < 6; i++)
        if (times[i] < 0 || times[i] > TIME_MOST)
            return false;
    ping->sent = times[0];
    ping->seen = times[1];
    ping->answered = times[2];
    ping->received = times[3];
    ping->raw = times[4];
    ping->peer_raw = times[5];
    return ping->sent <= ping->received && ping->seen <= ping->answered;
}

int kymo__pings_read(struct kymo_pings *pings, const struct kymo_capture *capture)
{
    const char *key, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++) {
        struct kymo_ping ping;
        if (!kymo__is_ping(key) || !read_ping(value, &ping))
            continue;
        int rc = kymo__array_grow(&pings->all, &pings->room, pings->count, sizeof(ping));
        if (rc < 0)
            return rc;
        pings->all[pings->count++] = ping;
    }
    return 0;
}

void kymo__pings_fini(struct kymo_pings *pings)
{
    kymo__free(pings->all);
    *pings = (struct kymo_pings){0};
}
