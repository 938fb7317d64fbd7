/* family.h — the captures of one run: that of the first process, NAME.kymo, and those of its child
   processes, in the folder NAME.kymo.d.

   All have the same value for "family" in their metadata: files of an earlier run of that name do
   not belong to it. */
#ifndef KYMO_FAMILY_H
#define KYMO_FAMILY_H

#include "rewrite.h"

struct kymo_family {
    uint32_t count;                 /* processes; 1 if there are no others */
    struct kymo_capture **captures; /* the first process, then its children by start */
    char **paths;                   /* by process: the file */
    uint32_t unreadable;            /* files in the folder that cannot be opened */
};

/* The value of KEY in CAPTURE's metadata; NULL if it has none. */
const char *kymo__family_metadata(const struct kymo_capture *capture, const char *key);

/* Open the capture at PATH and those of its children. Returns 0 or the code of kymo_open for PATH,
   -ENOMEM or -EMFILE; free FAMILY in any case. */
int kymo__family_open(const char *path, struct kymo_family *family);
void kymo__family_close(struct kymo_family *family);

/* Is process INDEX the one, or one of those, that WANTED names: a pid, "pid:N", "rank:N", its index
   (unless that is the pid of another), or its name? */
bool kymo__family_matches(const struct kymo_family *family, uint32_t index, const char *wanted);

#endif
