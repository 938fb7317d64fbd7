/* heapties.c — see heapties.h.

   A search in depth through the orders of the lanes' events, the usual one first. Nearly always no address
   is in two lanes, and nothing is searched; otherwise there are a few events. */
#include "heapties.h"

enum {
    EVENTS = 8,   /* of one lane that are looked at */
    STEPS = 4096, /* of one search */
};

struct search {
    const struct kymo_merge *merge;
    struct kymo_merge_lane **lanes;
    size_t count, done[KYMO__TIES_MOST], events[KYMO__TIES_MOST];
    unsigned steps;
    struct {
        uint64_t address;
        bool alive;
    } changes[KYMO__TIES_MOST * EVENTS]; /* the newest last */
    size_t change_count;
};

static const struct kymo_heap_event *next_of(const struct kymo_merge_lane *lane)
{
    return &lane->front.events[lane->at];
}

static bool is_free(const struct kymo_heap_event *e)
{
    return e->kind == KYMO__HEAP_FREE;
}

static bool is_block(const struct kymo_heap_event *e)
{
    return is_free(e) || e->kind == KYMO__HEAP_ALLOC || e->kind == KYMO__HEAP_REALLOC;
}

bool kymo__ties_usual(const struct kymo_merge_lane *a, const struct kymo_merge_lane *b)
{
    bool a_free = is_free(next_of(a)), b_free = is_free(next_of(b));
    return a_free != b_free ? a_free : a->lane.thread < b->lane.thread;
}

/* How many of LANE's next events are at this time. */
static size_t events_now(const struct kymo_merge_lane *lane)
{
    size_t count = 1;
    while (count < EVENTS && lane->at + count < lane->front.count &&
           next_of(lane)[count].ticks == next_of(lane)->ticks)
        count++;
    return count;
}

static bool has_address(const struct search *s, size_t lane, uint64_t address)
{
    const struct kymo_heap_event *e = next_of(s->lanes[lane]);
    for (size_t i = 0; i < s->events[lane]; i++)
        if (is_block(&e[i]) && e[i].address == address)
            return true;
    return false;
}

static bool have_common_address(const struct search *s)
{
    for (size_t a = 0; a < s->count; a++)
        for (size_t i = 0; i < s->events[a]; i++) {
            const struct kymo_heap_event *e = next_of(s->lanes[a]) + i;
            for (size_t b = a + 1; is_block(e) && b < s->count; b++)
                if (has_address(s, b, e->address))
                    return true;
        }
    return false;
}

static bool is_alive(const struct search *s, const struct kymo_merge_lane *lane, uint64_t address)
{
    for (size_t i = s->change_count; i-- > 0;)
        if (s->changes[i].address == address)
            return s->changes[i].alive;
    return s->merge->alive && s->merge->alive(s->merge->alive_arg, lane, address);
}

/* Can the next event of LANE happen now? If so, it has happened. */
static bool step_forward(struct search *s, size_t lane)
{
    const struct kymo_heap_event *e = next_of(s->lanes[lane]) + s->done[lane];
    if (is_block(e)) {
        if (is_alive(s, s->lanes[lane], e->address) != is_free(e))
            return false;
        s->changes[s->change_count].address = e->address;
        s->changes[s->change_count++].alive = !is_free(e);
    }
    s->done[lane]++;
    return true;
}

static void step_back(struct search *s, size_t lane)
{
    s->done[lane]--;
    s->change_count -= is_block(next_of(s->lanes[lane]) + s->done[lane]);
}

/* Can everything that is left happen in some order? */
static bool can_go_on(struct search *s)
{
    bool left = false;
    for (size_t i = 0; i < s->count; i++) {
        if (s->done[i] == s->events[i])
            continue;
        left = true;
        if (++s->steps > STEPS || !step_forward(s, i))
            continue;
        if (can_go_on(s))
            return true;
        step_back(s, i);
    }
    return !left;
}

struct kymo_merge_lane *kymo__ties_first(const struct kymo_merge *merge,
                                         struct kymo_merge_lane **lanes, size_t count)
{
    struct search s = {.merge = merge, .lanes = lanes, .count = count};
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && kymo__ties_usual(lanes[k], lanes[k - 1]); k--) {
            struct kymo_merge_lane *swap = lanes[k];
            lanes[k] = lanes[k - 1];
            lanes[k - 1] = swap;
        }
    for (size_t i = 0; i < count; i++)
        s.events[i] = events_now(lanes[i]);
    if (!have_common_address(&s))
        return lanes[0];
    for (size_t i = 0; i < count; i++) {
        if (!step_forward(&s, i))
            continue;
        if (can_go_on(&s))
            return lanes[i];
        step_back(&s, i);
    }
    return lanes[0];
}
