/* mark.c — the marking calls of kymo.h. */
#include <string.h>

#include "claimed.h"
#include "local.h"
#include "names.h"

/* Store one record of KIND about NAME; returns NAME's key, and its session in
   *SESSION, or 0. */
KYMO_INLINE uint32_t mark_name(const char *name, unsigned kind, uint32_t *session)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (kymo__unlikely(!at))
        return 0;
    uint32_t key = kymo__key(lane, name);
    if (kymo__unlikely(!key)) {
        kymo_lane_drop(lane, at, 1, KYMO_GAP_DISK);
        return 0;
    }
    /* Read the clock last, so that our own work is outside the span. */
    kymo_lane_store(at, kymo_ticks(), kymo_word(kind, 0, key));
    *session = lane->session;
    kymo_lane_commit(lane, at + 1);
    return key;
}

KYMO_INLINE void mark_value(const char *name, unsigned kind, uint64_t value)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (kymo__unlikely(!at))
        return;
    uint32_t key = kymo__key(lane, name);
    if (kymo__unlikely(!key)) {
        kymo_lane_drop(lane, at, 1, KYMO_GAP_DISK);
        return;
    }
    kymo_lane_store(at, kymo_ticks(), kymo_word(kind, 0, key));
    kymo_lane_store(at + 1, value, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, at + 2);
}

struct kymo_span kymo__span_begin(const char *name)
{
    struct kymo_span span = {0, 0};
    span.key = mark_name(name, KYMO_ENTER, &span.session);
    return span;
}

void kymo__span_end(struct kymo_span span)
{
    uint64_t ticks = kymo_ticks();
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (kymo__unlikely(!at))
        return;
    if (kymo__unlikely(span.session != lane->session)) {
        kymo_lane_release(lane, at);
        return;
    }
    kymo_lane_store(at, ticks, kymo_word(KYMO_LEAVE, 0, span.key));
    kymo_lane_commit(lane, at + 1);
}

void kymo__instant(const char *name)
{
    uint32_t session;
    mark_name(name, KYMO_INSTANT, &session);
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

void kymo__arg_text(const char *name, const char *text)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (kymo__unlikely(!at))
        return;
    uint32_t key = kymo__key(lane, name), value = key ? kymo__key(lane, text) : 0;
    if (kymo__unlikely(!value)) {
        kymo_lane_drop(lane, at, 1, KYMO_GAP_DISK);
        return;
    }
    kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_ARG_TEXT, 0, key));
    kymo_lane_store(at + 1, value, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, at + 2);
}

const char *kymo_intern(const char *name)
{
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return name;
    const char *kept = name;
    kymo__names_string(s->names, name, &kept);
    kymo__names_done(&claimed);
    return kept;
}

void kymo_thread_name(const char *name)
{
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return;
    claimed.at = kymo__lane_join(claimed.lane, claimed.at, s->lanes);
    kymo__local_name(s->lanes, (struct kymo_local *)claimed.lane, name);
    kymo__names_done(&claimed);
}

void kymo_metadata(const char *key, const char *value)
{
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return;
    kymo__names_meta(s->names, key, value);
    kymo__names_done(&claimed);
}

void kymo_process_name(const char *name)
{
    kymo_metadata("process_name", name);
}

uint32_t kymo_function_key(const struct kymo_function *function)
{
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return 0;
    uint32_t key = kymo__names_function(s->names, function);
    kymo__names_done(&claimed);
    return key;
}
