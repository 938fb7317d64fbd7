/* save.c — see save.h. */
#include "save.h"

#include <errno.h>

#include "capture.h"
#include "exits.h"
#include "interrupt.h"
#include "message.h"
#include "outfile.h"
#include "timeline_html.h"
#include "units.h"
#include "written.h"

static int stop_if_interrupted(void *arg)
{
    (void)arg;
    return kymo__cli_interrupted() ? -ECANCELED : 0;
}

int kymo__view_save(struct view *view, const char *output, const struct cli_part *part,
                    uint64_t bytes)
{
    struct kymo_shown_capture captures[VIEW_CAPTURES];
    struct kymo_outfile out;
    kymo_ns shortest = 0;
    for (unsigned i = 0; i < view->count; i++) {
        kymo__view_shown(view, i, view->state[i], view->state[i]->capture, &captures[i]);
        captures[i].from = part->from;
        captures[i].to = part->to;
        captures[i].stop = stop_if_interrupted;
    }
    mode_t mode = kymo__outfile_mode_of(view->state[0]->capture->reader->fd);
    int rc = kymo__outfile_open(&out, output, mode);
    if (rc == 0) {
        rc = kymo__timeline_html_write(&out, captures, view->count, bytes, &shortest);
        int closed = kymo__outfile_close(&out, rc == 0 && !kymo__cli_interrupted());
        rc = rc < 0 ? rc : closed;
    }
    kymo__cli_interrupt_obey();
    if (rc == 0 && shortest)
        kymo__cli_complain("the page shows calls shorter than %s only together; --size makes it "
                           "larger, --from and --to choose a part",
                           kymo__cli_duration(shortest).text);
    return kymo__cli_written(output, rc);
}
