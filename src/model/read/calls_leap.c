/* calls_leap.c — go to the beginning of a window quickly: apply to the stack of open calls what a
   leap (leap.h) leaves of the enters and leaves that it passed. */
#include "calls_leap.h"
#include "calls.h"

/* Are the calls that the decoder knows the topmost ones of NEST, and none of them a span that ended
   too early? Then leaves in the block end just these. */
static bool agrees(const struct kymo_nest *n, const struct kymo_decoder *d)
{
    if (d->depth > n->depth || d->depth > KYMO__ENCODE_DEPTH)
        return false;
    const struct kymo_open_call *frames = n->frames + n->depth - d->depth;
    for (uint64_t i = 0; i < d->depth; i++)
        if (frames[i].key != d->open[i] || frames[i].flags & KYMO__ENDED_INSIDE)
            return false;
    return d->depth == n->depth || !(frames[-1].flags & KYMO__ENDED_INSIDE);
}

/* An ended call waits for arguments that may follow; but others came. */
static void drop_ended(struct kymo_nest *n)
{
    if (n->receiver == KYMO__ENDED)
        n->arg_len = n->frames[n->depth].args;
    n->receiver = KYMO__NOBODY;
}

static int open_call(struct kymo_nest *n, const struct kymo_leap *leap,
                     const struct kymo_decoder *d, uint64_t slot)
{
    drop_ended(n);
    n->entered = leap->numbers[slot] - 1;
    return kymo__nest_open(n, d->open[slot], 0, 0);
}

/* BEFORE calls of the decoder were open. */
static int apply_leap(struct kymo_nest *n, const struct kymo_leap *leap,
                      const struct kymo_decoder *d, uint64_t before)
{
    int rc = 0;
    for (uint64_t i = before; i > leap->low; i--) {
        drop_ended(n);
        kymo__nest_leave_top(n, 0);
    }
    for (uint64_t i = leap->low; rc == 0 && i < d->depth; i++)
        rc = open_call(n, leap, d, i);
    /* The call that ended last: arguments of its leave may follow. */
    if (rc == 0 && leap->left && leap->numbers[d->depth] > leap->from) {
        rc = open_call(n, leap, d, d->depth);
        if (rc == 0)
            kymo__nest_leave_top(n, 0);
    }
    n->entered = leap->entered;
    return rc;
}

int kymo__calls_leap(struct kymo_calls *c, uint64_t limit, unsigned most)
{
    struct kymo_nest *n = &c->nest;
    struct kymo_decoder *d = kymo__stream_decoder(&c->stream);
    if (!d || n->receiver == KYMO__HELD || !agrees(n, d))
        return 0;
    uint64_t before = d->depth;
    c->leap.entered = n->entered;
    size_t passed = kymo__leap(&c->leap, d, limit, most);
    int rc = passed ? apply_leap(n, &c->leap, d, before) : 0;
    return rc < 0 ? rc : (int)passed;
}
