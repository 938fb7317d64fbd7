/* clock_words.c — see clock_words.h. */
#include "clock_words.h"

#include "memory.h"
#include "units.h"

char *kymo__cli_order_words(const struct kymo_order *order)
{
    struct cli_text within = kymo__cli_duration(order->error);
    if (!order->hosts)
        return kymo__cli_format("one host, one clock");
    if (order->unsynchronised && order->unknown)
        return kymo__cli_format("unsynchronised clock: order between hosts is unknown");
    if (order->unsynchronised)
        return kymo__cli_format("unsynchronised clock: order between hosts is unknown within %s, "
                                "perhaps more",
                                within.text);
    if (order->unknown)
        return kymo__cli_format("the error of some clock was not recorded: order between hosts is "
                                "unknown");
    return kymo__cli_format(
        "order between hosts is known within %s%s", within.text,
        order->contradicted ? "; some wall clock was further off than its host believed" : "");
}

const char *kymo__cli_related_by(const struct kymo_relation *relation)
{
    static const char *const by[] = {"monotonic", "wall", "start", "pings", "collectives"};
    return by[relation->how];
}

char *kymo__cli_ping_words(const struct kymo_pings *pings)
{
    kymo_ns best = INT64_MAX;
    for (size_t i = 0; i < pings->count; i++) {
        const struct kymo_ping *p = &pings->all[i];
        kymo_ns round = (p->received - p->sent) - (p->answered - p->seen);
        best = round < best ? round : best;
    }
    if (!pings->count)
        return NULL;
    return kymo__cli_format("%s with other hosts noted; the fastest took %s",
                            kymo__cli_count(pings->count, "exchange", "exchanges").text,
                            kymo__cli_duration(best > 0 ? best : 0).text);
}

char *kymo__cli_clock_words(const struct kymo_hostclock *clock)
{
    char *moved = clock->moved < 1000000 ? kymo__cli_format("%s", "")
                                         : kymo__cli_format("; it was moved by up to %s meanwhile",
                                                            kymo__cli_duration(clock->moved).text);
    struct cli_text most = kymo__cli_duration(clock->most);
    char *words =
        clock->sync == KYMO__SYNC_UNKNOWN
            ? kymo__cli_format("error unknown: it was not recorded%s", moved)
        : clock->most < 0 ? kymo__cli_format("unsynchronised, error unknown%s", moved)
        : clock->sync == KYMO__SYNC_NO
            ? kymo__cli_format("unsynchronised, off by %s, perhaps more%s", most.text, moved)
            : kymo__cli_format("synchronised, off by %s at most%s", most.text, moved);
    kymo__cli_free(moved);
    return words;
}

char *kymo__cli_describe_relation(const struct kymo_relation *r)
{
    static const char *const sync[] = {"unknown", "yes", "no"};
    char *error =
        r->error < 0 ? kymo__cli_format("unknown") : kymo__cli_format("%lld", (long long)r->error);
    char *drift =
        r->drift_error < 0 ? kymo__cli_format("unknown") : kymo__cli_format("%.0f", r->drift_error);
    char *text = kymo__cli_format("by=%s offset_ns=%lld error_ns=%s synchronised=%s drift_ppb=%.0f "
                                  "drift_error_ppb=%s",
                                  kymo__cli_related_by(r), (long long)r->shift, error,
                                  sync[r->sync], r->drift, drift);
    kymo__cli_free(error);
    kymo__cli_free(drift);
    return text;
}
