/* handout.h — structs that begin with their own size, which the caller has set: so older
   and newer callers get what they know of. */
#ifndef KYMO_HANDOUT_H
#define KYMO_HANDOUT_H

#include <errno.h>
#include <string.h>

/* Copy as much of FULL as OUT has room for. Returns 0, or -EINVAL when OUT has no size. */
static inline int kymo__hand_out(void *out, const void *full, size_t full_size)
{
    size_t size;
    memcpy(&size, out, sizeof(size));
    if (size < sizeof(size))
        return -EINVAL;
    memcpy((char *)out + sizeof(size), (const char *)full + sizeof(size),
           (size < full_size ? size : full_size) - sizeof(size));
    return 0;
}

#endif
