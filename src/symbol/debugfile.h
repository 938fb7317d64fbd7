/* debugfile.h — find the debug information of a stripped file.

   Searches by build id in the directories of KYMO_DEBUG_DIRS or /usr/lib/debug; by the link that
   strip leaves in the file; and, only if DEBUGINFOD_URLS is set, on those servers. */
#ifndef KYMO_DEBUGFILE_H
#define KYMO_DEBUGFILE_H

#include "elffile.h"

struct kymo_build_id {
    const uint8_t *bytes;
    uint32_t len; /* 0: not known */
};

/* Open the debug file for build ID as DEBUG. Returns 0 or a negative errno, usually -ENOENT. */
int kymo__debugfile_by_id(struct kymo_build_id id, struct kymo_elf *debug);

/* The same by the link in ELF. The file must have the checksum, or the build id, that ELF
   states. */
int kymo__debugfile_by_link(struct kymo_elf *elf, struct kymo_elf *debug);

/* The same from the network. */
int kymo__debugfile_by_net(struct kymo_build_id id, struct kymo_elf *debug);

/* The file in which DEBUG shares parts of its information with others (.gnu_debugaltlink). */
int kymo__debugfile_shared(struct kymo_elf *debug, struct kymo_elf *shared);

/* Does ELF have this build id? False if either has none. */
bool kymo__debugfile_is(const struct kymo_elf *elf, struct kymo_build_id id);

#endif
