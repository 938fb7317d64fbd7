/* payload.c — recording events with payloads: kymo/payload.h. */
#include <kymo/payload.h>

#include <errno.h>

#include "claimed.h"
#include "local.h"
#include "schemas.h"

int kymo_schema_define(struct kymo_schema *schema, const char *name,
                       const struct kymo_field *fields, size_t count)
{
    if (!schema || !name || (count && !fields))
        return -EINVAL;
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return KYMO_EIDLE;
    uint32_t key;
    int rc = kymo__schemas_define(s->schemas, s->names, name, fields, count, &key);
    if (rc > 0)
        *schema = (struct kymo_schema){.key = key, .number = (uint32_t)rc, .session = s->number};
    kymo__names_done(&claimed);
    return rc < 0 ? rc : 0;
}

uint32_t kymo_name_key(const char *name)
{
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return 0;
    /* Recently used keys are cached for the session that the lane is in. */
    claimed.at = kymo__lane_join(claimed.lane, claimed.at, s->lanes);
    uint32_t key = kymo__key(claimed.lane, name);
    kymo__names_done(&claimed);
    return key;
}

/* Store PAYLOAD starting at AT; returns the record after it. */
static struct kymo_record *store_payload(struct kymo_record *at, unsigned number,
                                         const struct kymo_payload *payload)
{
    unsigned count = kymo__chain_records(payload->used);
    for (unsigned i = 0; i < count; i++, at++) {
        struct kymo_record record = kymo__chain_record(number, payload->bytes, payload->used, i);
        kymo_lane_store(at, record.ticks, record.word);
    }
    return at;
}

/* Can PAYLOAD be recorded with SCHEMA? */
static bool usable(const struct kymo_schema *schema, const struct kymo_payload *payload,
                   const struct kymo_lane *lane)
{
    return !payload->over && payload->used <= KYMO_PAYLOAD_MOST && schema->session == lane->session;
}

void kymo_note_at(const struct kymo_schema *schema, const struct kymo_payload *payload,
                  uint64_t ticks)
{
    struct kymo_lane *lane;
    if (!schema->key)
        return;
    struct kymo_record *at = kymo_lane_claim(&lane, 1 + kymo__chain_records(payload->used));
    if (kymo__unlikely(!at))
        return;
    if (kymo__unlikely(!usable(schema, payload, lane))) {
        if (schema->session == lane->session)
            kymo_lane_store(at++, ticks, kymo_word(KYMO_INSTANT, 0, schema->key));
        kymo_lane_drop(lane, at, 1, KYMO_GAP_PAYLOAD);
        return;
    }
    kymo_lane_store(at, ticks, kymo_word(KYMO__NOTE, 0, schema->key));
    kymo_lane_commit(lane, store_payload(at + 1, schema->number, payload));
}

void kymo_note(const struct kymo_schema *schema, const struct kymo_payload *payload)
{
    if (kymo_running())
        kymo_note_at(schema, payload, kymo_ticks());
}

void kymo_attach(const struct kymo_schema *schema, const struct kymo_payload *payload)
{
    struct kymo_lane *lane;
    if (!schema->key || !kymo_running())
        return;
    struct kymo_record *at = kymo_lane_claim(&lane, 1 + kymo__chain_records(payload->used));
    if (kymo__unlikely(!at))
        return;
    if (kymo__unlikely(!usable(schema, payload, lane))) {
        kymo_lane_drop(lane, at, 1, KYMO_GAP_PAYLOAD);
        return;
    }
    /* A tick of 0 means that of the event before. */
    kymo_lane_store(at, 0, kymo_word(KYMO_PAYLOAD, 0, schema->key));
    kymo_lane_commit(lane, store_payload(at + 1, schema->number, payload));
}
