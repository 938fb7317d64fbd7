/* heapmode.c — how the memory of a capture was recorded, from its metadata; see heapview.h. */
#include <stdlib.h>
#include <string.h>

#include "heapview.h"

enum { RATE_MOST = 1 << 30 };

/* KEY without the numbers that merging captures with different values puts before it. */
static const char *plain_key(const char *key)
{
    for (;;) {
        size_t digits = strspn(key, "0123456789");
        if (!digits || key[digits] != '.')
            return key;
        key += digits + 1;
    }
}

const char *kymo__heap_metadata_next(const struct kymo_capture *capture, const char *wanted,
                                     uint32_t *at)
{
    const char *key, *value;
    while (kymo_capture_metadata(capture, (*at)++, &key, &value) == 0)
        if (strcmp(plain_key(key), wanted) == 0)
            return value;
    return NULL;
}

const char *kymo__heap_metadata(const struct kymo_capture *capture, const char *wanted)
{
    uint32_t at = 0;
    const char *value = kymo__heap_metadata_next(capture, wanted, &at);
    return value ? value : "";
}

bool kymo__heap_mixed(const struct kymo_capture *capture)
{
    static const char *const keys[] = {KYMO__HEAP_MODE, KYMO__HEAP_RATE};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        uint32_t at = 0;
        const char *first = kymo__heap_metadata_next(capture, keys[i], &at), *next = first;
        while (next && (next = kymo__heap_metadata_next(capture, keys[i], &at)))
            if (strcmp(next, first) != 0)
                return true;
    }
    return false;
}

int kymo__heap_mode(const struct kymo_capture *capture)
{
    const char *mode = kymo__heap_metadata(capture, KYMO__HEAP_MODE);
    if (!kymo__may_have_heap(capture))
        return KYMO_HEAP_NONE;
    return strcmp(mode, "sampled") == 0 ? KYMO_HEAP_SAMPLED
           : strcmp(mode, "live") == 0  ? KYMO_HEAP_LIVE
                                        : KYMO_HEAP_EXACT;
}

const char *kymo__heap_mode_word(const struct kymo_capture *capture)
{
    static const char *const words[] = {"none", "exact", "sampled", "live"};
    return words[kymo__heap_mode(capture)];
}

const char *kymo__heap_mode_phrase(const struct kymo_capture *capture)
{
    static const char *const phrases[] = {"not recorded", "every allocation",
                                          "a sample of the allocations", "the live set only"};
    return phrases[kymo__heap_mode(capture)];
}

uint64_t kymo__heap_rate(const struct kymo_capture *capture)
{
    uint64_t rate = kymo__heap_mode(capture) == KYMO_HEAP_SAMPLED
                        ? strtoull(kymo__heap_metadata(capture, KYMO__HEAP_RATE), NULL, 10)
                        : 0;
    /* A block counts for about this much, and their sums must fit into 64 bits. */
    return rate < RATE_MOST ? rate : RATE_MOST;
}

bool kymo__heap_arenas_count(const struct kymo_capture *capture)
{
    return !strstr(kymo__heap_metadata(capture, KYMO__HEAP_DOMAINS), "python");
}

bool kymo__heap_is_cut_off(const struct kymo_heap *heap)
{
    struct kymo_heap_snapshot shot = {.size = sizeof shot};
    struct kymo_info info = {.size = sizeof info};
    for (size_t i = 0; kymo_heap_snapshot(heap, i, &shot) == 0; i++)
        if (shot.number == 0)
            return false;
    kymo_capture_info(heap->capture, &info);
    return heap->mode == KYMO_HEAP_LIVE && info.ending != KYMO_ENDED_CLEAN;
}
