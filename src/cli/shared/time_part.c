#include "time_part.h"

#include "message.h"
#include "units.h"

static bool read_time(const char *option, const char *text, int64_t *time)
{
    if (!text || kymo__cli_read_duration(text, time))
        return true;
    kymo__cli_complain("--%s %s is not a time; write 1.5s, 200ms, 30us, 10ns or plain seconds, "
                       "counted from the start of the capture",
                       option, text);
    return false;
}

bool kymo__cli_part_read(const char *from, const char *to, const char *until, struct cli_part *part)
{
    *part = (struct cli_part){0, INT64_MAX};
    if (!read_time("from", from, &part->from) || !read_time(until, to, &part->to))
        return false;
    if (part->from > part->to) {
        kymo__cli_complain("--from %s is later than --%s %s", from, until, to);
        return false;
    }
    return true;
}

bool kymo__cli_part_read_either(const char *from, const char *to, const char *until,
                                struct cli_part *part)
{
    if (to && until) {
        kymo__cli_complain("--to %s and --until %s mean the same; use one of them", to, until);
        return false;
    }
    return kymo__cli_part_read(from, to ? to : until, to ? "to" : "until", part);
}

kymo_ns kymo__cli_moment(kymo_ns start, int64_t since)
{
    kymo_ns moment;
    return since == INT64_MAX || __builtin_add_overflow(start, since, &moment) ? INT64_MAX : moment;
}
