/* naming.h — the words for the numbers of kymo.h: one for programs, which never
   changes, and one for people. */
#ifndef KYMO_CLI_NAMING_H
#define KYMO_CLI_NAMING_H

struct cli_name {
    const char *word;   /* in JSON and in columns */
    const char *phrase; /* in a sentence */
};

struct cli_name kymo__cli_name_ending(int ending); /* enum kymo_ending */
struct cli_name kymo__cli_name_clock(int clock);   /* enum kymo_clock */
struct cli_name kymo__cli_name_gap(int reason);    /* enum kymo_gap */

/* One word for an enum kymo_kind. */
const char *kymo__cli_name_kind(int kind);

/* The detail of an event of KIND, or NULL when there is nothing to say. */
const char *kymo__cli_name_detail(int kind, int detail);

/* What to say of losses when none is known of: of a file without its end nobody knows. */
struct kymo_info;
const char *kymo__cli_name_no_loss(const struct kymo_info *info);

#endif
