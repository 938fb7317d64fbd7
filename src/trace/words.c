/* words.c — the only table of words for the numbers of kymo.h. The commands, exports, SQL and
   Python all use it; a new kind needs its word only here. */
#include <kymo/kymo.h>
#include <kymo/lane.h>
#include <stddef.h>

/* The entry of WORDS for NUMBER. A newer capture may hold numbers that this version does not
   know. */
static const char *look_up(const char *const *words, size_t count, unsigned number)
{
    return number < count && words[number] ? words[number] : "unknown";
}

#define LOOK_UP(words, number) look_up(words, sizeof(words) / sizeof((words)[0]), number)

const char *kymo_kind_word(unsigned kind)
{
    static const char *const words[] = {
        [KYMO_ENTER] = "enter",
        [KYMO_LEAVE] = "leave",
        [KYMO_INSTANT] = "instant",
        [KYMO_COUNTER] = "counter",
        [KYMO_FLOW_OUT] = "flow_out",
        [KYMO_FLOW_IN] = "flow_in",
        [KYMO_ASYNC_BEGIN] = "async_begin",
        [KYMO_ASYNC_END] = "async_end",
        [KYMO_GAP] = "gap",
        [KYMO_COMPLETE] = "complete",
        [KYMO_ARG] = "arg",
        [KYMO_OFF] = "off",
        [KYMO_RESYNC] = "resync",
        [KYMO_SAMPLE] = "sample",
        [KYMO_ARG_TEXT] = "arg_text",
        [KYMO_PAYLOAD] = "payload",
    };
    return LOOK_UP(words, kind);
}

const char *kymo_detail_word(unsigned kind, unsigned detail)
{
    static const char *const enter[] = {"call", "resume", "throw", "open"};
    static const char *const leave[] = {"return", "yield", "unwind"};
    static const char *const off[] = {"function", "call site"};
    static const char *const sample[] = {[KYMO_SAMPLED_CPU] = "cpu", [KYMO_SAMPLED_WALL] = "wall"};
    static const char *const gap[] = {
        [KYMO_GAP_BUDGET] = "budget", [KYMO_GAP_DISK] = "disk",
        [KYMO_GAP_NESTED] = "nested", [KYMO_GAP_DAMAGED] = "damaged",
        [KYMO_GAP_FLIGHT] = "flight", [KYMO_GAP_PAYLOAD] = "payload",
    };
    switch (kind) {
    case KYMO_ENTER:
        return LOOK_UP(enter, detail);
    case KYMO_LEAVE:
        return LOOK_UP(leave, detail);
    case KYMO_OFF:
        return LOOK_UP(off, detail);
    case KYMO_SAMPLE:
        return LOOK_UP(sample, detail);
    case KYMO_GAP:
        return LOOK_UP(gap, detail);
    default:
        return NULL;
    }
}

const char *kymo_class_word(unsigned number)
{
    static const char *const words[] = {
        [KYMO_CLASS_NAME] = "span",
        [KYMO_CLASS_FUNCTION] = "function",
        [KYMO_CLASS_NATIVE] = "native",
        [KYMO_CLASS_METHOD] = "method",
        [KYMO_CLASS_TYPE] = "type",
        [KYMO_CLASS_CALLABLE] = "callable",
        [KYMO_CLASS_GC] = "gc",
        [KYMO_CLASS_WAIT] = "wait",
        [KYMO_CLASS_OPERATOR] = "operator",
    };
    return LOOK_UP(words, number);
}

const char *kymo_ending_word(unsigned ending)
{
    static const char *const words[] = {
        [KYMO_ENDED_CLEAN] = "clean",
        [KYMO_ENDED_RUNNING] = "running",
        [KYMO_ENDED_KILLED] = "killed",
        [KYMO_ENDED_FAILED] = "failed",
    };
    return LOOK_UP(words, ending);
}
