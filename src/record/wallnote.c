/* wallnote.c — see wallnote.h. */
#include "wallnote.h"

#include <inttypes.h>
#include <stdio.h>

#include "names.h"
#include "wallerror.h"

void kymo__wall_watch(struct kymo_wall_worst *worst)
{
    struct kymo_wall_error now;
    if (!kymo__wall_error(&now))
        return;
    worst->unsynchronised |= !now.synchronised;
    worst->most_us = now.most_us > worst->most_us ? now.most_us : worst->most_us;
}

void kymo__wall_note(struct kymo_names *names, const char *key, const struct kymo_wall_worst *worst)
{
    struct kymo_wall_error now;
    if (!kymo__wall_error(&now))
        return;
    struct kymo_wall_worst all = {.most_us = now.most_us};
    if (worst)
        all = *worst;
    if (now.most_us > all.most_us)
        all.most_us = now.most_us;
    char text[128];
    snprintf(text, sizeof(text), "synchronised=%d max_error_us=%" PRId64 " est_error_us=%" PRId64,
             now.synchronised && !all.unsynchronised, all.most_us, now.estimate_us);
    kymo__names_meta(names, key, text);
}
