/* readable.h — is the memory at an address readable?

   For walks inside a signal handler, which may meet a half-built frame. Asks the system once per
   page and walk. */
#ifndef KYMO_EXT_READABLE_H
#define KYMO_EXT_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KYMO_PAGE_BYTES UINT64_C(4096) /* no system has smaller pages */

/* Pages recently found readable; all zero means none. */
struct kymo_pages {
    uint64_t seen[8]; /* page + 1 */
};

static inline bool kymo__page_readable(struct kymo_pages *pages, uint64_t page)
{
    uint64_t *slot = &pages->seen[page % 8];
    if (*slot == page + 1)
        return true;
    /* The kernel reads the signal set from the address first, then rejects the request because the
       operation does not exist. */
    int error = errno;
    bool there = page && !(syscall(SYS_rt_sigprocmask, ~0, (void *)(page * KYMO_PAGE_BYTES), NULL,
                                   sizeof(uint64_t)) == -1 &&
                           errno == EFAULT);
    errno = error;
    if (there)
        *slot = page + 1;
    return there;
}

static inline bool kymo__readable(struct kymo_pages *pages, const void *memory, size_t bytes)
{
    uint64_t at = (uint64_t)(uintptr_t)memory;
    return at % sizeof(void *) == 0 && at + bytes > at &&
           kymo__page_readable(pages, at / KYMO_PAGE_BYTES) &&
           kymo__page_readable(pages, (at + bytes - 1) / KYMO_PAGE_BYTES);
}

#endif
