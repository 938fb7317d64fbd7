/* Any bytes can be decoded as the columns of a block and as definitions, and what they
   decode to encodes to the same again.

   The first two bytes of an input say how many of the others are tokens; all of them
   together are also taken as definitions. */
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "defs.h"

enum { MOST = 1 << 16 };

static struct kymo_record records[MOST];

/* How many records the columns hold, or negative. */
static int decode(const uint8_t *bytes, size_t tokens, size_t values, size_t len,
                  struct kymo_record *out)
{
    static struct kymo_decoder decoder;
    int count = 0, n;
    kymo__decode_begin(&decoder, bytes, tokens, values, len);
    while ((n = kymo__decode(&decoder, out + count,
                             (size_t)(MOST - count) < 100 ? MOST - count : 100)) > 0)
        count += n;
    return n < 0 ? n : count;
}

static void columns(const uint8_t *bytes, size_t tokens, size_t len)
{
    static struct kymo_encoder encoder;
    static struct kymo_record again[MOST];
    /* Once with a part of the times taken for values, which need only not go wrong. */
    decode(bytes, tokens, (len - tokens) / 2, len, records);
    int count = decode(bytes, tokens, 0, len, records);
    if (count > (int)tokens)
        abort();
    if (count < 0)
        return;
    uint8_t *encoded = malloc((size_t)count * (KYMO__TOKEN_MAX + KYMO__TIME_MAX) + 1);
    uint8_t *times = malloc((size_t)count * KYMO__TIME_MAX + 1);
    kymo__encode_begin(&encoder, encoded, times, NULL, NULL);
    kymo__encode(&encoder, records, (size_t)count);
    size_t token_bytes = (size_t)(encoder.tokens - encoded),
           time_bytes = (size_t)(encoder.times - times);
    if (token_bytes > (size_t)count * KYMO__TOKEN_MAX ||
        time_bytes > (size_t)count * KYMO__TIME_MAX)
        abort();
    memcpy(encoder.tokens, times, time_bytes);
    if (decode(encoded, token_bytes, 0, token_bytes + time_bytes, again) != count ||
        memcmp(again, records, (size_t)count * sizeof(again[0])) != 0)
        abort();
    free(encoded);
    free(times);
}

static void definitions(const uint8_t *bytes, size_t len)
{
    const uint8_t *at = bytes, *end = bytes + len;
    struct kymo_def def, again;
    while ((at = kymo__def_get(at, end, &def))) {
        if (!def.type || def.text_len > KYMO__DEF_TEXT)
            continue;
        static uint8_t out[KYMO__DEF_MAX];
        const uint8_t *out_end = kymo__def_put(out, &def);
        if (kymo__def_get(out, out_end, &again) != out_end || again.type != def.type ||
            memcmp(again.number, def.number, sizeof(def.number)) != 0 ||
            again.text_len != def.text_len ||
            (def.text_len && memcmp(again.text, def.text, def.text_len) != 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint16_t tokens;
    if (size < sizeof(tokens))
        return 0;
    memcpy(&tokens, bytes, sizeof(tokens));
    bytes += sizeof(tokens);
    size -= sizeof(tokens);
    columns(bytes, tokens < size ? tokens : size, size);
    definitions(bytes, size);
    return 0;
}
