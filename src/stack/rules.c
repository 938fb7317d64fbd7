/* rules.c — see rules.h.

   One word per address: 48 bits of the address, and the number of its rule. Programs have few
   distinct rules, so these are in a separate table, also one word each. Single words need no lock:
   a word is either there or not. */
#include "rules.h"

#include <assert.h>
#include <string.h>

#include "atomic.h"
#include "hash.h"
#include "mapping.h"
#include "modules.h"

enum {
    WORD_BITS = 16, /* 64 Ki addresses; a large program has some ten thousand on its stacks */
    RULE_BITS = 12,
    PROBES = 8,
};

static uint64_t words[1u << WORD_BITS]; /* address << 16 | rule's number + 1 */
static uint64_t rules[1u << RULE_BITS]; /* never removed */
static uint64_t valid_for = UINT64_MAX; /* the version; UINT64_MAX while being cleared */

static uint64_t rule_word(struct kymo_rule rule)
{
    uint64_t word;
    static_assert(sizeof(rule) == sizeof(word), "a rule is one word");
    memcpy(&word, &rule, sizeof(word));
    return word;
}

/* The number of RULE, or -1 if there are too many. */
static int rule_number(struct kymo_rule rule)
{
    uint64_t word = rule_word(rule);
    uint32_t at = (uint32_t)(kymo__hash_word(word) >> (64 - RULE_BITS));
    for (unsigned i = 0; i < PROBES; i++, at = (at + 1) % (1u << RULE_BITS)) {
        uint64_t there = kymo__load_acquire(&rules[at]);
        if (there == word || (!there && kymo__swap_if(&rules[at], &there, word)) || there == word)
            return (int)at;
    }
    return -1;
}

/* Does the code at PC look like a signal trampoline: rt_sigreturn and nothing else? What is there may
   be data that another thread changes meanwhile, because a wrong guess led here; the sanitizers need
   not look. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static bool
is_trampoline(uint64_t pc)
{
#if defined(__x86_64__)
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#else
    static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
    if (!kymo__readable(pc) || !kymo__readable(pc + sizeof(code) - 8))
        return false;
    const volatile uint8_t *there = (const volatile uint8_t *)(uintptr_t)pc;
    for (size_t i = 0; i < sizeof(code); i++)
        if (there[i] != code[i])
            return false;
    return true;
}

static struct kymo_rule find_rule(uint64_t pc)
{
    struct kymo_rule rule = {.kind = KYMO__RULE_NONE};
    struct kymo_loaded loaded = {0};
    if (kymo__module_tables(pc, &loaded))
        rule =
            kymo__ehframe_rule(loaded.eh_frame_hdr, loaded.readable_low, loaded.readable_high, pc);
    if (rule.kind != KYMO__RULE_NONE)
        return rule;
    /* No call pushes a return address that is the start of a function: a thread or context starts
       here. */
    if (loaded.eh_frame_hdr &&
        kymo__ehframe_rule(loaded.eh_frame_hdr, loaded.readable_low, loaded.readable_high, pc + 1)
                .kind != KYMO__RULE_NONE)
        return (struct kymo_rule){.kind = KYMO__RULE_END};
    /* Walkers look up return addresses minus one; a trampoline is never called, so its frame's
       address is its first instruction. */
    if (is_trampoline(pc) || is_trampoline(pc + 1))
        return (struct kymo_rule){.kind = KYMO__RULE_SIGNAL};
    if (kymo__readable(pc & ~UINT64_C(7)))
        rule.kind = KYMO__RULE_CHAIN;
    return rule;
}

/* Clear the words for VERSION. False if another thread is doing so. */
static bool clear_rules(uint64_t version)
{
    static uint32_t clearing;
    uint32_t nobody = 0;
    if (!kymo__swap_if(&clearing, &nobody, 1u))
        return false;
    if (kymo__load_acquire(&valid_for) != version) {
        kymo__store_release(&valid_for, UINT64_MAX);
        for (size_t i = 0; i < 1u << WORD_BITS; i++)
            kymo__store_relaxed(&words[i], 0);
        kymo__store_release(&valid_for, version);
    }
    kymo__store_release(&clearing, 0u);
    return true;
}

static struct kymo_rule add_rule(uint64_t pc, uint64_t version, uint32_t first)
{
    struct kymo_rule rule = find_rule(pc);
    int number = rule.kind == KYMO__RULE_NONE ? -1 : rule_number(rule);
    if (number < 0 || kymo__load_acquire(&valid_for) != version)
        return rule;
    uint64_t word = pc << 16 | (uint64_t)(number + 1);
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t none = 0;
        if (kymo__swap_if(&words[(first + i) % (1u << WORD_BITS)], &none, word))
            return rule;
    }
    kymo__store_release(&words[first], word);
    return rule;
}

struct kymo_rule kymo__rule_at(uint64_t pc, uint64_t version)
{
    if (kymo__unlikely(pc >> 48))
        return (struct kymo_rule){.kind = KYMO__RULE_NONE};
    if (kymo__unlikely(kymo__load_acquire(&valid_for) != version) && !clear_rules(version))
        return find_rule(pc);
    uint32_t first = (uint32_t)(kymo__hash_word(pc) >> (64 - WORD_BITS));
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t word = kymo__load_acquire(&words[(first + i) % (1u << WORD_BITS)]);
        if (word >> 16 != pc)
            continue;
        uint64_t found = kymo__load_acquire(&rules[(word & 0xffff) - 1]);
        struct kymo_rule rule;
        memcpy(&rule, &found, sizeof(rule));
        return rule;
    }
    return add_rule(pc, version, first);
}
