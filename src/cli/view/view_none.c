/* view_none.c — the server of `kymograph view` when it was built without libmicrohttpd. */
#include <errno.h>

#include "message.h"
#include "server.h"

int kymo__server_start(struct view *view, uint16_t port, struct view_server **server)
{
    (void)view, (void)port, (void)server;
    kymo__cli_complain("this kymograph was built without libmicrohttpd; build it where its headers "
                       "are (libmicrohttpd-dev), or use 'kymograph export --to html'");
    return -ENOTSUP;
}

void kymo__server_stop(struct view_server *server)
{
    (void)server;
}

const char *kymo__server_address(const struct view_server *server)
{
    (void)server;
    return "";
}

unsigned kymo__server_pages(const struct view_server *server, bool *seen)
{
    (void)server;
    *seen = false;
    return 0;
}
