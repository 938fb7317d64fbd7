/* verb_view.c — kymograph view FILE [FILE2]: the timeline in a browser. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "browser.h"
#include "interrupt.h"
#include "message.h"
#include "save.h"
#include "server.h"
#include "timeline_html.h"
#include "units.h"
#include "verb.h"
#include "written.h"

enum {
    OPTION_NO_BROWSER,
    OPTION_PORT,
    OPTION_LINGER,
    OPTION_SAVE,
    OPTION_FROM,
    OPTION_TO,
    OPTION_SIZE,
    OPTION_FORCE,
};

enum { STEP_MS = 100, REFRESH_STEPS = 5, LINGER_SECONDS = 30 };

/* Wait until the user has had enough: Ctrl-C, or the page has been gone for LINGER nanoseconds. */
static void wait_for_end(struct view *view, const struct view_server *server, int64_t linger)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    int64_t alone = 0;
    for (unsigned steps = 0; !kymo__cli_interrupted(); steps++) {
        bool seen;
        alone = kymo__server_pages(server, &seen) == 0 && seen ? alone + STEP_MS * 1000000L : 0;
        if (linger && alone >= linger) {
            kymo__cli_complain("the page was closed; done");
            return;
        }
        if (steps % REFRESH_STEPS == 0)
            kymo__view_refresh(view);
        nanosleep(&step, NULL);
    }
}

static int serve_view(struct view *view, uint16_t port, bool browser, int64_t linger)
{
    struct view_server *server;
    int rc = kymo__server_start(view, port, &server);
    if (rc == -EADDRINUSE || rc == -EACCES) {
        kymo__cli_complain("port %u %s; use another --port, or none for any free one", port,
                           rc == -EACCES ? "may not be used" : "is in use");
        return CLI_BAD;
    }
    if (rc == -ENOTSUP)
        return CLI_BAD; /* explained already */
    if (rc < 0) {
        kymo__cli_complain("the page cannot be served: %s", kymo_strerror(rc));
        return CLI_BAD;
    }
    printf("%s\n", kymo__server_address(server));
    fflush(stdout);
    bool opened = browser && kymo__browser_open(kymo__server_address(server));
    kymo__cli_complain(opened ? "opened in the browser; Ctrl-C ends it"
                              : "open this address in a browser; Ctrl-C ends it");
    wait_for_end(view, server, linger);
    kymo__server_stop(server);
    return CLI_OK;
}

/* --save: write the page instead of serving it. */
static int save_view(struct view *view, const struct cli_arguments *arguments)
{
    const char *output = arguments->value[OPTION_SAVE], *size = arguments->value[OPTION_SIZE];
    struct cli_part part;
    uint64_t megabytes = KYMO__PAGE_BYTES >> 20;
    if (size && (!kymo__cli_read_number(size, &megabytes) || !megabytes || megabytes > 500)) {
        kymo__cli_complain("--size takes a number of megabytes from 1 to 500, not '%s'", size);
        return CLI_BAD;
    }
    if (!kymo__cli_part_read(arguments->value[OPTION_FROM], arguments->value[OPTION_TO], "--to",
                             &part))
        return CLI_BAD;
    part.to = part.to < (int64_t)1 << 61 ? part.to : (int64_t)1 << 61;
    for (unsigned i = 0; i < view->count; i++) {
        if (kymo__cli_same_file(output, view->path[i])) {
            kymo__cli_complain("--save %s would overwrite the capture; choose another name",
                               output);
            return CLI_BAD;
        }
    }
    if (!kymo__cli_may_replace(output, arguments->value[OPTION_FORCE]))
        return CLI_BAD;
    return kymo__view_save(view, output, &part, megabytes << 20);
}

static int run_view(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    uint64_t port = 0;
    int64_t linger = LINGER_SECONDS * (int64_t)1000000000;
    const char *text = arguments->value[OPTION_PORT];
    if (text && (!kymo__cli_read_number(text, &port) || port > UINT16_MAX)) {
        kymo__cli_complain("--port takes a number up to 65535, not '%s'", text);
        return CLI_BAD;
    }
    text = arguments->value[OPTION_LINGER];
    if (text && !kymo__cli_read_duration(text, &linger)) {
        kymo__cli_complain("--linger takes a duration such as 30s, or 0 to stay; not '%s'", text);
        return CLI_BAD;
    }
    if (!arguments->value[OPTION_SAVE] &&
        (arguments->value[OPTION_FROM] || arguments->value[OPTION_TO] ||
         arguments->value[OPTION_SIZE] || arguments->value[OPTION_FORCE])) {
        kymo__cli_complain("--from, --to, --size and --force work only with --save");
        return CLI_BAD;
    }
    struct view view;
    kymo__cli_interrupt_watch();
    int code = kymo__view_open(&view, arguments->words, (unsigned)arguments->count);
    if (code == CLI_OK && arguments->value[OPTION_SAVE])
        code = save_view(&view, arguments);
    else if (code == CLI_OK)
        code = serve_view(&view, (uint16_t)port, !arguments->value[OPTION_NO_BROWSER], linger);
    kymo__view_close(&view);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_NO_BROWSER] = {"no-browser", 0, NULL, "only print the address"},
    [OPTION_PORT] = {"port", 0, "N", "serve at this port (default: any free one)"},
    [OPTION_LINGER] = {"linger", 0, "TIME",
                       "how long to wait after the page was closed (default: 30s; 0: until "
                       "Ctrl-C)"},
    [OPTION_SAVE] = {"save", 0, "OUT", "write the page to a file instead, with its data inside"},
    [OPTION_FROM] = {"from", 0, "TIME", "with --save: all calls from this time on"},
    [OPTION_TO] = {"to", 0, "TIME", "with --save: all calls before this time"},
    [OPTION_SIZE] = {"size", 0, "MB", "with --save: how large the page may be (default: 20)"},
    [OPTION_FORCE] = {"force", 0, NULL, "let --save overwrite a file that kymograph did not write"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph view trace.kymo", "opens the browser"},
    {"kymograph view before.kymo after.kymo", "two runs, one above the other"},
    {"kymograph view --no-browser --port 8123 trace.kymo",
     "on another machine, with 'ssh -L 8123:127.0.0.1:8123'"},
    {"kymograph view --save page.html trace.kymo", "one file to send to somebody"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph export --to html trace.kymo", "one file with a flame graph and the timeline"},
    {"kymograph report trace.kymo", "the same figures as text"},
    {0},
};

const struct cli_verb kymo__cli_verb_view = {
    .name = "view",
    .purpose = "look at a capture's timeline in a browser",
    .operands = "FILE [FILE2]",
    .least = 1,
    .most = 2,
    .operand = CLI_FILES,
    .details =
        "Serves a page on this machine and opens it in the browser, or prints its address where "
        "there is none. Only programs on this machine that know the address can reach it, and "
        "the page loads nothing from elsewhere. A capture of any size opens at once: coarse "
        "pictures come from its summaries, fine ones from the part in sight. A capture that is "
        "still being recorded is followed.\n\n"
        "Ends with Ctrl-C, or when the page has been closed for a while.\n\n"
        "With --save nothing is served: the page is written to a file that works by itself, "
        "without a network. It has the overview and as many details as fit --size, and says what "
        "it left out.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run_view,
};
