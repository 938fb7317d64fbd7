/* message.h — prints messages to stderr. */
#ifndef KYMO_CLI_MESSAGE_H
#define KYMO_CLI_MESSAGE_H

/* Print "kymograph: " and the message as one line, whatever its arguments contain. */
void kymo__cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
