/* handout.h — fill structs that start with their own size, set by the caller, so that older and
   newer callers get the members they know. */
#ifndef KYMO_HANDOUT_H
#define KYMO_HANDOUT_H

#include <errno.h>
#include <string.h>

/* Copy as much of FULL as OUT has room for. Returns 0, or -EINVAL if OUT's size is not set. */
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
