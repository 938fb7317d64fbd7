/* chrome_ids.c — see chrome_ids.h. */
#include "chrome_ids.h"

#include <errno.h>

#include "alloc.h"

enum { STEP = 1 << 20, GROUP = 8 }; /* events read at a time; words that are counted together */

/* A set of numbers. */
struct numbers {
    uint64_t *words;
    size_t count, capacity;
    uint64_t
        *before; /* by group of words: how many numbers are before it, in this set and others */
};

enum kind { CALLS, MARKS, KINDS };

struct kymo_chrome_ids {
    const struct kymo_chrome *c;
    struct numbers (*threads)[KINDS];
    uint32_t count;
    uint32_t thread; /* being read */
    uint64_t marks;  /* of all threads */
};

static int add_number(struct numbers *set, uint64_t number)
{
    size_t word = (size_t)(number / 64);
    while (set->count <= word) {
        int rc = kymo__array_grow(&set->words, &set->capacity, set->count, sizeof(*set->words));
        if (rc < 0)
            return rc;
        set->words[set->count++] = 0;
    }
    set->words[word] |= UINT64_C(1) << number % 64;
    return 0;
}

/* How many numbers of the set, and of those before it, are less than NUMBER. */
static uint64_t count_before(const struct numbers *set, uint64_t number)
{
    size_t word = (size_t)(number / 64), group = word / GROUP;
    if (word >= set->count)
        return 0; /* it is not in the set: the file has changed meanwhile */
    uint64_t count = set->before[group];
    for (size_t i = group * GROUP; i < word; i++)
        count += (uint64_t)__builtin_popcountll(set->words[i]);
    uint64_t below = (UINT64_C(1) << number % 64) - 1;
    return count + (uint64_t)__builtin_popcountll(set->words[word] & below);
}

/* SET comes after TOTAL numbers of others. Returns the total with it, or a negative code. */
static int64_t sum_up(struct numbers *set, int64_t total)
{
    if (!set->count)
        return total;
    set->before = kymo__alloc((set->count / GROUP + 1) * sizeof(*set->before));
    if (!set->before)
        return -ENOMEM;
    for (size_t i = 0; i < set->count; i++) {
        if (i % GROUP == 0)
            set->before[i / GROUP] = (uint64_t)total;
        total += __builtin_popcountll(set->words[i]);
    }
    return total;
}

/* A frame's mark is 1 for the call of an object that is not shown. */
static int take_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    const struct kymo_chrome_ids *ids = arg;
    frame->mark = 0;
    if (depth && kymo__chrome_hides_object(ids->c, frame))
        frame[-1].mark = 1;
    return 0;
}

static int take_leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_chrome_ids *ids = arg;
    const struct kymo_open_call *frame = slice->frame;
    const struct kymo_callable *callable =
        &ids->c->callables.all[kymo__callable_of(&ids->c->callables, frame->key)];
    bool call = !kymo__class_is_marked(callable->class);
    bool part = !call && slice->leave == KYMO__LEAVE_YIELD && !frame->id;
    if (frame->mark || part)
        return 0;
    return add_number(&ids->threads[ids->thread][call ? CALLS : MARKS], frame->number);
}

static int read_thread(struct kymo_chrome_ids *ids, struct kymo_capture *capture,
                       const struct kymo_export_options *options)
{
    const struct kymo_visitor visitor = {.arg = ids, .enter = take_enter, .leave = take_leave};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    int rc = kymo__calls_init(calls, capture, ids->thread,
                              options->from > 0 ? options->from : INT64_MIN, options->to, &visitor);
    rc = rc == 0 ? 1 : rc;
    while (rc > 0)
        rc = kymo__calls_read(calls, STEP);
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc;
}

int kymo__chrome_ids_new(const struct kymo_chrome *c, struct kymo_capture *capture,
                         const struct kymo_export_options *options, struct kymo_chrome_ids **ids)
{
    struct kymo_chrome_ids *new = *ids = kymo__alloc_zeroed(sizeof(*new));
    if (!new)
        return -ENOMEM;
    new->c = c;
    new->threads = kymo__alloc_zeroed((size_t)c->threads * sizeof(*new->threads) + 1);
    if (!new->threads)
        return -ENOMEM;
    new->count = (uint32_t)c->threads;
    int rc = 0;
    for (; rc == 0 && new->thread < new->count; new->thread++)
        if (options->thread < 0 || options->thread == (int64_t) new->thread)
            rc = read_thread(new, capture, options);
    int64_t calls = 0, marks = 0;
    for (uint32_t i = 0; rc == 0 && i < new->count &&calls >= 0 && marks >= 0; i++) {
        calls = sum_up(&new->threads[i][CALLS], calls);
        marks = sum_up(&new->threads[i][MARKS], marks);
    }
    new->marks = (uint64_t)marks;
    return rc < 0 ? rc : calls < 0 || marks < 0 ? -ENOMEM : 0;
}

void kymo__chrome_ids_free(struct kymo_chrome_ids *ids)
{
    if (!ids)
        return;
    for (uint32_t i = 0; i < ids->count; i++)
        for (unsigned kind = 0; kind < KINDS; kind++) {
            kymo__free(ids->threads[i][kind].words);
            kymo__free(ids->threads[i][kind].before);
        }
    kymo__free(ids->threads);
    kymo__free(ids);
}

uint64_t kymo__chrome_python_id(const struct kymo_chrome_ids *ids, uint32_t thread, uint64_t number)
{
    return count_before(&ids->threads[thread][CALLS], number) + 1;
}

uint64_t kymo__chrome_index(const struct kymo_chrome_ids *ids, uint32_t thread, uint64_t number,
                            bool call)
{
    return count_before(&ids->threads[thread][call ? CALLS : MARKS], number) +
           (call ? ids->marks : 0);
}
