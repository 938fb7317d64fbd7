/* trackparts.c — see trackparts.h. */
#include "trackparts.h"

#include <stdlib.h>

size_t kymo__track_parts(const struct kymo_record *records, size_t length, size_t passed,
                         struct kymo_track_part *parts)
{
    size_t count = 0;
    struct kymo_track_part part = {.thread = KYMO__NO_THREAD};
    for (size_t i = 0; i <= length; i++) {
        bool end = i == length, track = !end && kymo__word_kind(records[i].word) == KYMO__TRACK;
        if (end || track) {
            if (part.count && part.thread != KYMO__NO_THREAD && count < KYMO__TRACK_PARTS_MOST)
                parts[count++] = part;
            if (track)
                part = (struct kymo_track_part){.thread = kymo__word_key(records[i].word),
                                                .before = records[i].ticks};
        } else if (i >= passed) {
            if (!part.count)
                part.records = &records[i];
            part.count++;
        } else {
            part.before += !kymo__kind_follows(kymo__word_kind(records[i].word));
        }
    }
    return count;
}

static int by_track(const void *a, const void *b)
{
    const struct kymo_track_part *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->before < y->before ? -1 : x->before > y->before;
}

void kymo__track_parts_sort(struct kymo_track_part *parts, size_t count)
{
    if (count)
        qsort(parts, count, sizeof(*parts), by_track);
}

size_t kymo__track_parts_together(const struct kymo_track_part *parts, size_t count)
{
    size_t n = 0, records = 0;
    uint64_t next = parts[0].before;
    while (n < count && parts[n].thread == parts[0].thread && parts[n].before == next &&
           records + parts[n].count <= KYMO__BLOCK_RECORDS_MAX) {
        records += parts[n].count;
        next += kymo__count_events(parts[n].records, parts[n].count);
        n++;
    }
    return n;
}
