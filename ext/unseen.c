/* unseen.c — see unseen.h. */
#include "unseen.h"

#if KYMO_HAS_MONITORING

#include "tracer.h"

/* They nest when one calls back what makes another. More are over at once: the call counts, and
   its time is its caller's. Few, because there is little room for variables of threads. */
enum { MOST = 4 };

static __thread struct {
    const struct _PyInterpreterFrame *frame; /* the caller */
    const void *place;                       /* where in its code it is */
    uint32_t key;
} open_calls[MOST];
static __thread uint32_t epoch;          /* in which they were made */
static __thread uint32_t session, quick; /* what the lane had before the first */
__thread unsigned kymo__unseen;

static void end(uint32_t key)
{
    if (!kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, 0, key, kymo_ticks());
}

void kymo__unseen_begin(uint32_t key)
{
    if (!kymo__too_deep_enter())
        kymo__trace_enter(0, key);
    struct kymo_lane *lane = kymo__lane;
    if (!lane || kymo__unseen == MOST) {
        end(key);
        return;
    }
    if (!kymo__unseen) {
        epoch = kymo__epoch;
        session = lane->session;
        quick = lane->quick;
        lane->quick = KYMO_NO_SESSION;
    }
    const struct _PyInterpreterFrame *frame = KYMO_TOP_FRAME(PyThreadState_Get());
    open_calls[kymo__unseen].frame = frame;
    open_calls[kymo__unseen].place = KYMO_FRAME_PLACE(frame);
    open_calls[kymo__unseen++].key = key;
}

void kymo__unseen_settle(void)
{
    const struct _PyInterpreterFrame *now = KYMO_TOP_FRAME(PyThreadState_Get());
    const bool told_anew = epoch != kymo__epoch; /* then the frames may be gone */
    for (; kymo__unseen; kymo__unseen--) {
        const struct _PyInterpreterFrame *frame = open_calls[kymo__unseen - 1].frame;
        if (!told_anew && frame != now &&
            KYMO_FRAME_PLACE(frame) == open_calls[kymo__unseen - 1].place)
            return; /* what happens is done by what it called */
        if (!told_anew)
            end(open_calls[kymo__unseen - 1].key);
    }
    if (kymo__lane && kymo__lane->session == session)
        kymo__lane->quick = quick;
}

#endif
