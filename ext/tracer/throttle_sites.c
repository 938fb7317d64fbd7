/* throttle_sites.c — see throttle_sites.h. Everything here is under the GIL; without a GIL, sites are found under a
   lock and counts may miss a few events, which only makes the estimate coarser. */
#include "throttle_sites.h"

#include <stdlib.h>

#include "throttle.h"

static struct site **slots; /* open addressing by code and offset */
static size_t slot_count, used;

KYMO_SECTION(section);

void kymo__sites_lock(void)
{
    KYMO_SECTION_LOCK(section);
}

void kymo__sites_unlock(void)
{
    KYMO_SECTION_UNLOCK(section);
}

struct site *kymo__sites_next(size_t *at)
{
    while (*at < slot_count) {
        struct site *site = slots[(*at)++];
        if (site)
            return site;
    }
    return NULL;
}

void kymo__sites_free(void)
{
    for (size_t i = 0; i < slot_count; i++)
        free(slots[i]);
    free(slots);
    slots = NULL;
    slot_count = used = 0;
}

static size_t slot_of(const void *code, uint32_t offset, size_t count)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)code ^ (uint64_t)offset << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (count - 1);
}

static bool widen_sites(void)
{
    if ((used + 2) * 2 <= slot_count) /* room for the site and for that of its function */
        return true;
    size_t count = slot_count ? slot_count * 2 : 4096;
    struct site **wider = calloc(count, sizeof *wider);
    if (!wider)
        return false;
    for (size_t i = 0; i < slot_count; i++) {
        if (!slots[i])
            continue;
        size_t at = slot_of(slots[i]->code, slots[i]->offset, count);
        while (wider[at])
            at = (at + 1) & (count - 1);
        wider[at] = slots[i];
    }
    free(slots);
    slots = wider;
    slot_count = count;
    return true;
}

/* The slot where the site is, or belongs. */
static struct site **slot_for(const void *code, uint32_t offset)
{
    size_t at = slot_of(code, offset, slot_count);
    while (slots[at] && (slots[at]->code != code || slots[at]->offset != offset))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

/* The site, created if it is new; there is room. */
static struct site *site_of(const void *code, uint32_t offset)
{
    struct site **slot = slot_for(code, offset);
    if (!*slot && (*slot = calloc(1, sizeof **slot))) {
        **slot = (struct site){.code = code, .offset = offset, .off = kymo__throttle_is_broke()};
        used++;
        if (offset == SITE_FUNCTION)
            kymo__throttle_met(code);
    }
    return *slot;
}

struct site *kymo__site(const void *code, uint32_t offset)
{
    struct site *site = NULL;
    KYMO_SECTION_LOCK(section);
    if (widen_sites()) {
        struct site *known = *slot_for(code, offset);
        if (!known && kymo__throttle_is_broke() && offset != SITE_FUNCTION) {
            KYMO_SECTION_UNLOCK(section);
            return NULL; /* to be switched off; no site is needed */
        }
        struct site *function = known ? NULL : site_of(code, SITE_FUNCTION);
        site = known || !function ? known : site_of(code, offset);
        if (site && function && site != function) {
            site->next = function->next;
            function->next = site;
        }
    }
    KYMO_SECTION_UNLOCK(section);
    return site;
}

void kymo__throttle_forget(const void *code)
{
    KYMO_SECTION_LOCK(section);
    struct site *site = slot_count ? *slot_for(code, SITE_FUNCTION) : NULL;
    for (; site; site = site->next)
        *site = (struct site){
            .code = code,
            .offset = site->offset,
            .active = site->active, /* still on a thread's stack if its leave was lost */
            .next = site->next,
        };
    KYMO_SECTION_UNLOCK(section);
}

bool kymo__throttle_is_off(const void *code)
{
    const struct site *site = kymo__throttling() ? kymo__site(code, SITE_FUNCTION) : NULL;
    return site && site->off;
}

void kymo__throttle_expect(const void *code)
{
    struct site *site = kymo__throttling() ? kymo__site(code, SITE_FUNCTION) : NULL;
    if (site)
        site->active++;
}
