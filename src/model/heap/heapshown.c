/* heapshown.c — live memory of a range as the page of the timeline shows it; see heaplog.h. */
#include "heaplog.h"
#include "heapview.h"

/* Each series: its word, and the values before the range, at its end, the least and the most in it,
   and when that was. */
static void put_series(struct kymo_jsonout *json, const struct kymo_heaplog *log,
                       const struct kymo_heaplog_piece *piece)
{
    kymo__jsonout_array(json, "series");
    for (unsigned i = 0; i < KYMO__HEAPLOG_SERIES; i++) {
        if (!log->used[i])
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "series", i);
        kymo__jsonout_string(json, "name", kymo__heaplog_word(i));
        kymo__jsonout_uint(json, "start", piece->start[i]);
        kymo__jsonout_uint(json, "end", piece->end[i]);
        kymo__jsonout_uint(json, "least", piece->least[i]);
        kymo__jsonout_uint(json, "most", piece->most[i]);
        kymo__jsonout_int(json, "most_at", piece->most_at[i]);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

int kymo__heaplog_shown(const struct kymo_heaplog *log, const struct kymo_capture *capture,
                        kymo_ns from, kymo_ns to, struct kymo_jsonout *json)
{
    struct kymo_heaplog_piece piece;
    kymo__jsonout_string(json, "mode", kymo__heap_mode_word(capture));
    if (!log)
        return 0;
    int rc = kymo__heaplog_pieces(log, from, to - from, 1, &piece);
    if (rc < 0)
        return rc;
    kymo__jsonout_uint(json, "changes", log->changes);
    put_series(json, log, &piece);
    return 0;
}
