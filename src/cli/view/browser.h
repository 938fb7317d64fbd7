/* browser.h — opens an address in the user's browser. */
#ifndef KYMO_CLI_BROWSER_H
#define KYMO_CLI_BROWSER_H

#include <stdbool.h>

/* Start a browser at ADDRESS. Returns false where there is none, or no screen for it. */
bool kymo__browser_open(const char *address);

#endif
