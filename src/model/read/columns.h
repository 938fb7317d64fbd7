/* columns.h — a capture as tables, read on several cores: see kymo/read.h for its functions. */
#ifndef KYMO_COLUMNS_H
#define KYMO_COLUMNS_H

#include <stdint.h>

/* Tests only: work with so many MEMBERS, at most 8, and cut threads into pieces of about RECORDS
   records; 0: as usual. */
void kymo__columns_limit(unsigned members, uint64_t records);

#endif
