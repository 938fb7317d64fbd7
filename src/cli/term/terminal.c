#include "terminal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int kymo__cli_terminal_width(void)
{
    if (!isatty(STDOUT_FILENO))
        return 0;
    const char *columns = getenv("COLUMNS");
    int wanted = columns ? atoi(columns) : 0;
    if (wanted > 0)
        return wanted;
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int kymo__cli_text_width(void)
{
    int width = kymo__cli_terminal_width();
    if (width == 0)
        return 80;
    return width < 40 ? 40 : width > 100 ? 100 : width;
}

static bool takes_colours(void)
{
    static int known = -1;
    if (known < 0) {
        /* no-color.org: set and not empty, whatever its value. */
        const char *refused = getenv("NO_COLOR");
        const char *term = getenv("TERM");
        known = isatty(STDOUT_FILENO) && !(refused && *refused) && term && *term &&
                strcmp(term, "dumb") != 0;
    }
    return known != 0;
}

const char *kymo__cli_colour(enum cli_colour colour)
{
    static const char *const sequence[] = {
        [CLI_PLAIN] = "\033[0m", [CLI_BOLD] = "\033[1m",   [CLI_DIM] = "\033[2m",
        [CLI_RED] = "\033[31m",  [CLI_GREEN] = "\033[32m", [CLI_YELLOW] = "\033[33m",
        [CLI_CYAN] = "\033[36m",
    };
    return takes_colours() ? sequence[colour] : "";
}
