/* mark.c — the marking calls of kymo.h. */
#include <string.h>

#include "local.h"
#include "session.h"

/* Store one record of KIND about NAME; returns NAME's key, and its session in
   *SESSION, or 0. */
KYMO_INLINE uint32_t mark(const char *name, unsigned kind, uint32_t *session)
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
    /* The clock is read last: our own work falls outside the span. */
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
    span.key = mark(name, KYMO_ENTER, &span.session);
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
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (!at)
        return name;
    const char *kept = name;
    kymo__names_string(&kymo__session->names, name, &kept);
    kymo_lane_release(lane, at);
    return kept;
}

void kymo_thread_name(const char *name)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (!at)
        return;
    at = kymo__lane_join(lane, at);
    const uint64_t numbers[] = {lane->thread,
                                kymo__names_string(&kymo__session->names, name, NULL)};
    if (numbers[1])
        kymo__names_define(&kymo__session->names, KYMO__DEF_THREAD_NAME, numbers);
    kymo_lane_release(lane, at);
}

void kymo_metadata(const char *key, const char *value)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (!at)
        return;
    kymo__names_meta(&kymo__session->names, key, value);
    kymo_lane_release(lane, at);
}

void kymo_process_name(const char *name)
{
    kymo_metadata("process_name", name);
}

uint32_t kymo_function_key(const struct kymo_function *function)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (!at)
        return 0;
    uint32_t key = kymo__names_function(&kymo__session->names, function);
    kymo_lane_release(lane, at);
    return key;
}
