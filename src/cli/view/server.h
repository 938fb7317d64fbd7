/* server.h — serves a view over HTTP, on loopback only.

   A request must know the token, which is in the address that is printed; must name this machine as
   its host, so that no other name leads here; and must not come from a page of another origin. No
   request names a file. */
#ifndef KYMO_CLI_SERVER_H
#define KYMO_CLI_SERVER_H

#include "view.h"

struct view_server;

/* Serve VIEW at PORT, 0 for any. Returns 0 or a negative errno. */
int kymo__server_start(struct view *view, uint16_t port, struct view_server **server);

/* Stop; requests under way are ended. NULL is fine. */
void kymo__server_stop(struct view_server *server);

/* The address of the page, with the token; lent until the server stops. */
const char *kymo__server_address(const struct view_server *server);

/* How many pages are open; *SEEN says whether one ever was. */
unsigned kymo__server_pages(const struct view_server *server, bool *seen);

#endif
