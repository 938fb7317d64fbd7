/* nearfile.h — which files of two captures are the same, when programs were moved, installed
   elsewhere or run on another Python.

   Try the steps in order: what found a partner in one step is left out of the next. */
#ifndef KYMO_NEARFILE_H
#define KYMO_NEARFILE_H

enum kymo_nearness { KYMO__NEAR_WHOLE, KYMO__NEAR_PACKAGE, KYMO__NEAR_LAST, KYMO__NEAR_STEPS };

/* The end of PATH that must be equal: all of it; what follows site-packages/ or dist-packages/,
   otherwise the last two parts; the last part. */
const char *kymo__near_part(const char *path, enum kymo_nearness nearness);

#endif
