/* crc32c.h — the Castagnoli checksum, for headers of a few dozen bytes.

   Large payloads have zstd's own checksum, so this needs to be simple and well known to authors of
   other readers, not fast. */
#ifndef KYMO_CRC32C_H
#define KYMO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t kymo__crc32c(const void *bytes, size_t len);

#endif
