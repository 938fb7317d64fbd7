/* mapping.c — see mapping.h. */
#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the main thread's stack started. Absent in other C libraries. */
extern void *__libc_stack_end __attribute__((weak));

enum {
    PAGE = 4096,                 /* smallest page size; larger ones are multiples */
    PROBED = 2048,               /* pages to probe one by one, if nothing else works */
    MAIN_STACK_SPAN = 120 << 20, /* the kernel maps nothing this close below the main stack */
};

/* The kernel reads the new mask before checking the operation, which is invalid, so nothing
   happens. */
bool kymo__readable(uint64_t address)
{
    int saved = errno;
    long rc = syscall(SYS_rt_sigprocmask, -1, (void *)(uintptr_t)address, NULL, 8);
    bool readable = rc == 0 || errno != EFAULT;
    errno = saved;
    return readable;
}

uint64_t kymo__readable_from(uint64_t low, uint64_t high)
{
    if (low >= high || kymo__readable(low))
        return low;
    uint64_t bad = low / PAGE, good = high / PAGE; /* the page after the last need not be
                                                      readable */
    while (good - bad > 1) {
        uint64_t middle = bad + (good - bad) / 2;
        if (kymo__readable(middle * PAGE))
            good = middle;
        else
            bad = middle;
    }
    return good * PAGE < high ? good * PAGE : high;
}

/* Linux 6.11 finds a mapping by address; the header may be older. */
struct procmap_query_ours {
    uint64_t size, flags, address;
    uint64_t low, high, protection, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id;
};
enum { QUERY = 0x01 | 0x10 }; /* readable; this or the next one */
#define PROCMAP_QUERY_OURS _IOWR('f', 17, struct procmap_query_ours)

static bool ask_mapping(int fd, uint64_t address, struct kymo_range *range)
{
    struct procmap_query_ours query = {.size = sizeof(query), .flags = QUERY, .address = address};
    if (ioctl(fd, PROCMAP_QUERY_OURS, &query) != 0)
        return false;
    range->low = query.low;
    range->high = query.high;
    return true;
}

/* A partly read line of the file: two numbers, then the permissions. */
struct line {
    uint64_t numbers[2];
    unsigned field;
    bool readable;
};

/* Process C. True at the end of a line. */
static bool line_take(struct line *line, char c)
{
    if (c == '\n')
        return true;
    if (line->field < 2) {
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            line->field++;
        else
            line->numbers[line->field] = line->numbers[line->field] * 16 + (uint64_t)digit;
    } else if (line->field == 2) {
        line->readable = c == 'r';
        line->field++;
    }
    return false;
}

static bool read_mapping(int fd, uint64_t address, struct kymo_range *range)
{
    char text[512];
    struct line line = {0};
    for (ssize_t n; (n = read(fd, text, sizeof(text))) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (!line_take(&line, text[i]))
                continue;
            if (line.readable && address < line.numbers[1]) {
                range->low = line.numbers[0];
                range->high = line.numbers[1];
                return true;
            }
            line = (struct line){0};
        }
    return false;
}

/* Without /proc: probe page by page. */
static bool probe_mapping(uint64_t address, struct kymo_range *range)
{
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    for (unsigned i = 0; i < PROBED && !kymo__readable(page); i++)
        page += PAGE;
    if (!kymo__readable(page))
        return false;
    range->low = page;
    range->high = page + PAGE;
    for (unsigned i = 0; i < PROBED && kymo__readable(range->high); i++)
        range->high += PAGE;
    return true;
}

static bool mapping_around(uint64_t address, struct kymo_range *range)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool found = false;
    if (fd >= 0) {
        found = ask_mapping(fd, address, range) || read_mapping(fd, address, range);
        close(fd);
    }
    return found || probe_mapping(address, range);
}

/* The main thread's stack grows, so it is larger than what is mapped now. */
static void extend_main(struct kymo_range *range)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return;
    uint64_t span = limit.rlim_cur < MAIN_STACK_SPAN ? limit.rlim_cur : MAIN_STACK_SPAN;
    if (range->high - range->low < span)
        range->low = range->high - span;
}

bool kymo__stack_around(uint64_t sp, struct kymo_range *range)
{
    int saved = errno;
    *range = (struct kymo_range){0};
    bool found = mapping_around(sp, range);
    if (found && &__libc_stack_end) {
        uint64_t end = (uint64_t)(uintptr_t)__libc_stack_end;
        if (range->low <= end && end < range->high) {
            range->own = true;
            extend_main(range);
        }
    }
    /* Other threads have their descriptor above their stack, in the same mapping. */
    uint64_t self = (uint64_t)pthread_self();
    if (found && !range->own && sp < self && self < range->high &&
        syscall(SYS_gettid) != syscall(SYS_getpid)) {
        range->own = true;
        range->high = self & ~UINT64_C(7);
    }
    errno = saved;
    return found;
}
