/* tokenfind.h — does a block have records of some kinds? Answered from its tokens alone, without making
   records of them: for readers that want the few events in it that are no calls. */
#ifndef KYMO_TOKENFIND_H
#define KYMO_TOKENFIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_wanted_kinds {
    uint64_t kinds;      /* a bit for each, 1 << KYMO_INSTANT and so on */
    const bool *skipped; /* by key: instants that are not wanted; NULL for none */
    size_t keys;
};

/* Is there any among the tokens from AT up to END? Also true if they are invalid: the decoder finds out
   where. */
bool kymo__tokens_find(const uint8_t *at, const uint8_t *end,
                       const struct kymo_wanted_kinds *wanted);

#endif
