/* naming.h — names for the enums of kymo.h: a stable word for programs, and a phrase for
   people. */
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

/* One word for an enum kymo_class. */
const char *kymo__cli_name_class(unsigned class);

/* A word for the detail of an event of KIND, or NULL. */
const char *kymo__cli_name_detail(int kind, int detail);

/* What to print when no loss is known: nothing lost, or unknown if the end of the file is
   missing. */
struct kymo_info;
const char *kymo__cli_name_no_loss(const struct kymo_info *info);

#endif
