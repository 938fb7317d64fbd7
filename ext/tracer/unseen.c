/* unseen.c — see unseen.h. */
#include "unseen.h"

#if KYMO_HAS_MONITORING

#include "callsites.h"
#include "tracer.h"

/* They nest when one calls back code that makes another. Beyond this number, a call ends at
   once: it counts, and its time goes to its caller. Few, because space for thread-local
   variables is limited. */
enum { MOST = 4 };

static __thread struct {
    const struct _PyInterpreterFrame *frame; /* the caller */
    const void *place;                       /* the current instruction in its code */
    uint32_t key;
} open_calls[MOST];
static __thread uint32_t epoch;          /* in which they were made */
static __thread uint32_t session, quick; /* the lane's values before the first */
__thread unsigned kymo__unseen;

static void end_unseen(uint32_t key)
{
    if (!kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, 0, key, kymo_ticks());
}

void kymo__unseen_begin(uint32_t key, const struct call_lines *lines)
{
    bool deep = kymo__too_deep_enter();
    if (!deep && lines)
        kymo__trace_enter_lines(0, key, 0, lines, 0);
    else if (!deep)
        kymo__trace_enter(0, key);
    struct kymo_lane *lane = kymo__lane;
    if (!lane || kymo__unseen == MOST) {
        end_unseen(key);
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

static void restore_quick_path(void)
{
    if (kymo__lane && kymo__lane->session == session && !kymo__open_calls)
        kymo__lane->quick = quick;
}

void kymo__unseen_end(void)
{
    if (!kymo__unseen)
        return;
    for (; kymo__unseen; kymo__unseen--)
        if (epoch == kymo__epoch)
            end_unseen(open_calls[kymo__unseen - 1].key);
    restore_quick_path();
}

void kymo__unseen_settle(void)
{
    const struct _PyInterpreterFrame *now = KYMO_TOP_FRAME(PyThreadState_Get());
    const bool recorded_anew = epoch != kymo__epoch; /* if so, the frames may be gone */
    for (; kymo__unseen; kymo__unseen--) {
        const struct _PyInterpreterFrame *frame = open_calls[kymo__unseen - 1].frame;
        if (!recorded_anew && frame != now &&
            KYMO_FRAME_PLACE(frame) == open_calls[kymo__unseen - 1].place)
            return; /* the event comes from what the call itself called */
        if (!recorded_anew)
            end_unseen(open_calls[kymo__unseen - 1].key);
    }
    restore_quick_path();
}

#endif
