/* blocks.c — see blocks.h. */
#include "blocks.h"

#include <errno.h>
#include <stddef.h>

#include "atomic.h"
#include "hash.h"
#include "mapped.h"

enum { PLACES = 8, TABLES = KYMO__BLOCK_TABLES };
enum { FREE = 0, BUSY = 1 }; /* of an address: no block is there */

struct kymo_bucket {
    uintptr_t address[PLACES]; /* one cache line */
    uint64_t value[PLACES];
};

/* In buckets, as powers of two: from 16 thousand blocks to 32 million. */
static const unsigned table_bits[TABLES] = {11, 14, 17, 20, 22};

static size_t table_bytes(int i)
{
    return sizeof(struct kymo_bucket) << table_bits[i];
}

int kymo__blocks_begin(struct kymo_blocks *blocks)
{
    /* Tables stay mapped for good: a thread may be delayed inside one. */
    for (int i = 0; i < TABLES; i++)
        if (blocks->tables[i])
            kymo__pages_drop(blocks->tables[i], table_bytes(i));
    if (!blocks->tables[0])
        blocks->tables[0] = kymo__pages_new(table_bytes(0));
    kymo__store_release(&blocks->used, 0u);
    return blocks->tables[0] ? 0 : -ENOMEM;
}

/* Make table I, which was not needed until now. */
static KYMO__COLD bool make_table(struct kymo_blocks *blocks, int i)
{
    struct kymo_bucket *none = NULL, *fresh = kymo__pages_new(table_bytes(i));
    if (fresh && !kymo__swap_if(&blocks->tables[i], &none, fresh))
        kymo__pages_free(fresh, table_bytes(i)); /* another thread was faster */
    return kymo__load_acquire(&blocks->tables[i]) != NULL;
}

static struct kymo_bucket *bucket_of(const struct kymo_blocks *blocks, int table, uint64_t hash,
                                     int choice)
{
    unsigned bits = table_bits[table];
    return &kymo__load_acquire(&blocks->tables[table])[hash << (choice ? 20 : 0) >> (64 - bits)];
}

static bool put_into(struct kymo_bucket *bucket, uintptr_t address, uint64_t value)
{
    for (int i = 0; i < PLACES; i++) {
        uintptr_t none = FREE;
        if (kymo__load_relaxed(&bucket->address[i]) == FREE &&
            kymo__swap_if(&bucket->address[i], &none, (uintptr_t)BUSY)) {
            kymo__store_relaxed(&bucket->value[i], value);
            kymo__store_release(&bucket->address[i], address);
            return true;
        }
    }
    return false;
}

bool kymo__blocks_add(struct kymo_blocks *blocks, uintptr_t address, uint64_t value)
{
    uint64_t hash = kymo__hash_word(address);
    for (int i = 0; i < TABLES; i++) {
        if (kymo__unlikely(!kymo__load_acquire(&blocks->tables[i])) && !make_table(blocks, i))
            return false;
        uint32_t known = kymo__load_relaxed(&blocks->used);
        while (known < (uint32_t)i + 1 && !kymo__swap_if(&blocks->used, &known, (uint32_t)i + 1))
            continue;
        if (put_into(bucket_of(blocks, i, hash, 0), address, value) ||
            put_into(bucket_of(blocks, i, hash, 1), address, value))
            return true;
    }
    return false;
}

static inline bool find_in(struct kymo_bucket *bucket, uintptr_t address, bool take,
                           uint64_t *value)
{
    for (int i = 0; i < PLACES; i++)
        if (kymo__load_acquire(&bucket->address[i]) == address) {
            *value = kymo__load_relaxed(&bucket->value[i]);
            if (take)
                kymo__store_release(&bucket->address[i], (uintptr_t)FREE);
            return true;
        }
    return false;
}

static inline bool find_block(const struct kymo_blocks *blocks, uintptr_t address, bool take,
                              uint64_t *value)
{
    uint64_t hash = kymo__hash_word(address);
    int count = (int)kymo__load_acquire(&blocks->used);
    for (int i = 0; i < count; i++)
        if (find_in(bucket_of(blocks, i, hash, 0), address, take, value) ||
            find_in(bucket_of(blocks, i, hash, 1), address, take, value))
            return true;
    return false;
}

bool kymo__blocks_take(struct kymo_blocks *blocks, uintptr_t address, uint64_t *value)
{
    return find_block(blocks, address, true, value);
}

bool kymo__blocks_find(const struct kymo_blocks *blocks, uintptr_t address, uint64_t *value)
{
    return address > BUSY && find_block(blocks, address, false, value);
}
