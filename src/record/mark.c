/* mark.c — the marking calls of kymo.h. */
#include <string.h>

#include "local.h"
#include "session.h"

/* Store one record of KIND about NAME; returns NAME's key, and its session in
   *SESSION, or 0. */
KYMO__INLINE uint32_t mark(const char *name, unsigned kind, uint32_t *session)
{
    struct kymo_local *local;
    struct kymo_record *at = kymo__claim(&local, 1);
    if (kymo__unlikely(!at))
        return 0;
    uint32_t key = kymo__key(local, name);
    if (kymo__unlikely(!key)) {
        kymo__abandon(local, at, 1, KYMO_GAP_DISK);
        return 0;
    }
    /* The clock is read last: our own work falls outside the span. */
    kymo__store_record(at, kymo__ticks(), kymo__word(kind, 0, key));
    *session = local->session;
    kymo__commit(local, at + 1);
    return key;
}

KYMO__INLINE void mark_value(const char *name, unsigned kind, uint64_t value)
{
    struct kymo_local *local;
    struct kymo_record *at = kymo__claim(&local, 2);
    if (kymo__unlikely(!at))
        return;
    uint32_t key = kymo__key(local, name);
    if (kymo__unlikely(!key)) {
        kymo__abandon(local, at, 2, KYMO_GAP_DISK);
        return;
    }
    kymo__store_record(at, kymo__ticks(), kymo__word(kind, 0, key));
    kymo__store_record(at + 1, value, kymo__word(KYMO__VALUE, 0, 0));
    kymo__commit(local, at + 2);
}

struct kymo_span kymo__span_begin(const char *name)
{
    struct kymo_span span = {0, 0};
    span.key = mark(name, KYMO_ENTER, &span.session);
    return span;
}

void kymo__span_end(struct kymo_span span)
{
    uint64_t ticks = kymo__ticks();
    struct kymo_local *local;
    struct kymo_record *at = kymo__claim(&local, 1);
    if (kymo__unlikely(!at))
        return;
    if (kymo__unlikely(span.session != local->session)) {
        kymo__abandon(local, at, 0, 0);
        return;
    }
    kymo__store_record(at, ticks, kymo__word(KYMO_LEAVE, 0, span.key));
    kymo__commit(local, at + 1);
}

void kymo__instant(const char *name)
{
    uint32_t session;
    mark(name, KYMO_INSTANT, &session);
}

void kymo__counter(const char *name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    mark_value(name, KYMO_COUNTER, bits);
}

void kymo__link(const char *name, uint64_t id, int kind)
{
    mark_value(name, (unsigned)kind, id);
}

const char *kymo_intern(const char *name)
{
    struct kymo_local *local;
    struct kymo_record *at = kymo__claim(&local, 1);
    if (!at)
        return name;
    const char *kept = name;
    kymo__names_string(local->names, name, &kept);
    kymo__abandon(local, at, 0, 0);
    return kept;
}

void kymo_thread_name(const char *name)
{
    struct kymo_local *local;
    struct kymo_record *at = kymo__claim(&local, 1);
    if (!at)
        return;
    const uint64_t numbers[] = {local->thread, kymo__names_string(local->names, name, NULL)};
    if (numbers[1])
        kymo__names_define(local->names, KYMO__DEF_THREAD_NAME, numbers);
    kymo__abandon(local, at, 0, 0);
}

void kymo_metadata(const char *key, const char *value)
{
    struct kymo_local *local;
    struct kymo_record *at = kymo__claim(&local, 1);
    if (!at)
        return;
    kymo__names_meta(local->names, key, value);
    kymo__abandon(local, at, 0, 0);
}

void kymo_process_name(const char *name)
{
    kymo_metadata("process_name", name);
}
