/* tokenfind.c — see tokenfind.h. */
#include "tokenfind.h"

#include <assert.h>
#include <kymo/kymo.h>
#include <string.h>

#include "atomic.h"
#include "format.h"
#include "varint.h"

/* The first byte of a token has its code; the others are passed over. Returns END if it is cut. */
static inline const uint8_t *pass_varint(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at & 0x80)
        at++;
    return at < end ? at + 1 : end;
}

static bool is_wanted_kind(const struct kymo_wanted_kinds *wanted, uint64_t kind, uint64_t key)
{
    if (kind >= 64 || !(wanted->kinds >> kind & 1))
        return false;
    bool instant = kind == KYMO_INSTANT || kind == KYMO__NOTE;
    return !(instant && wanted->skipped && key < wanted->keys && wanted->skipped[key]);
}

/* Is the record at AT, a token for any kind, wanted? *AFTER is set to its end, or NULL if it is cut. */
static bool is_wanted(const uint8_t *at, const uint8_t *end, const struct kymo_wanted_kinds *wanted,
                      const uint8_t **after)
{
    uint64_t head, detail, key;
    at = kymo__varint_get(at, end, &head);
    at = at ? kymo__varint_get(at, end, &detail) : NULL;
    at = at ? kymo__varint_get(at, end, &key) : NULL;
    *after = at;
    return at && is_wanted_kind(wanted, head >> 3, key);
}

/* The same for a note with its own columns, and for those that follow: whether a form is wanted is asked
   where it is defined. There are FORMS of them so far. */
static bool is_wanted_note(const uint8_t *at, const uint8_t *end,
                           const struct kymo_wanted_kinds *wanted, unsigned *forms,
                           const uint8_t **after)
{
    while (at < end && (*at & 0x87) == KYMO__T_NOTE && *at >> 3 && *at >> 3 <= *forms)
        at++;
    *after = at;
    if (at == end || (*at & 7) != KYMO__T_NOTE || *at == KYMO__T_NOTE)
        return false;
    uint64_t key, number, layout;
    bool next = *at < 0x80 && *at >> 3 == ++*forms;
    at = next ? kymo__varint_get(at + 1, end, &key) : NULL;
    at = at ? kymo__varint_get(at, end, &number) : NULL;
    at = at ? kymo__varint_get(at, end, &layout) : NULL;
    *after = at;
    return at && is_wanted_kind(wanted, KYMO__NOTE, key);
}

/* Pass over plain enters and leaves, eight bytes at a time; returns where a token begins. */
static const uint8_t *pass_plain(const uint8_t *at, const uint8_t *end)
{
    const uint64_t tops = UINT64_C(0x8080808080808080);
    uint64_t before = 0; /* the byte before goes on in this one: its top bit */
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        /* Codes 0 and 1 have neither of these bits. A byte begins a token if the one before it ends one. */
        uint64_t others =
            ((word & UINT64_C(0x0606060606060606)) + UINT64_C(0x7e7e7e7e7e7e7e7e)) & tops;
        uint64_t inside = (word & tops) << 8 | before;
        if (others & ~inside)
            break;
        before = (word & tops) >> 56;
    }
    return before ? pass_varint(at, end) : at;
}

bool kymo__tokens_find(const uint8_t *at, const uint8_t *end,
                       const struct kymo_wanted_kinds *wanted)
{
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
    unsigned forms = 0;
    while ((at = pass_plain(at, end)) < end) {
        /* One token, which may still be plain: another one in the same eight bytes is not. */
        unsigned code = *at & 7;
        if (kymo__unlikely(code == KYMO__T_OTHER)) {
            if (is_wanted(at, end, wanted, &at) || !at)
                return true;
            continue;
        }
        if (code == KYMO__T_NOTE && *at != KYMO__T_BACK) {
            if (is_wanted_note(at, end, wanted, &forms, &at) || !at)
                return true;
            continue;
        }
        at = pass_varint(at, end);
        /* A detail or a value follows. */
        if (code == KYMO__T_ENTER_DETAIL || code == KYMO__T_LEAVE_KEY || code == KYMO__T_VALUE)
            at = pass_varint(at, end);
    }
    return false;
}
