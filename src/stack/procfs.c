/* procfs.c — see procfs.h. */
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the system writes them; glibc's readdir allocates. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* The number that TEXT begins with, or 0. */
static uint32_t number_of(const char *text)
{
    uint32_t number = 0;
    while (*text >= '0' && *text <= '9')
        number = number * 10 + (uint32_t)(*text++ - '0');
    return number;
}

size_t kymo__tasks_list(uint32_t *tids, size_t capacity)
{
    _Alignas(struct entry) char buffer[1024];
    size_t count = 0;
    int saved = errno;
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long bytes; fd >= 0 && (bytes = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0;)
        for (long at = 0; at < bytes;) {
            const struct entry *entry = (const struct entry *)(void *)(buffer + at);
            uint32_t tid = number_of(entry->name);
            if (tid && count < capacity)
                tids[count] = tid;
            count += tid != 0;
            at += entry->size;
        }
    if (fd >= 0)
        close(fd);
    if (count == 0) {
        uint32_t here = (uint32_t)syscall(SYS_gettid), first = (uint32_t)getpid();
        const uint32_t known[] = {here, first};
        for (size_t n = here == first ? 1 : 2; count < n; count++)
            if (count < capacity)
                tids[count] = known[count];
    }
    errno = saved;
    return count;
}

/* Open file NAME of thread TID. Returns the descriptor or -1. */
static int task_open(uint32_t tid, const char *name)
{
    char path[64] = "/proc/self/task/", digits[12];
    size_t at = strlen(path), count = 0;
    do
        digits[count++] = (char)('0' + tid % 10);
    while ((tid /= 10) != 0);
    while (count)
        path[at++] = digits[--count];
    path[at++] = '/';
    size_t length = strnlen(name, sizeof(path) - 1 - at);
    memcpy(path + at, name, length);
    path[at + length] = '\0';
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool task_read(uint32_t tid, const char *name, char *text, size_t size)
{
    int saved = errno;
    int fd = task_open(tid, name);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    errno = saved;
    if (length < 0)
        return false;
    text[length] = '\0';
    return true;
}

bool kymo__task_text(uint32_t tid, const char *name, char *text, size_t size)
{
    if (!task_read(tid, name, text, size))
        return false;
    text[strcspn(text, "\n")] = '\0';
    return *text != '\0';
}

static uint64_t hex_of(const char *text)
{
    uint64_t number = 0;
    for (;; text++)
        if (*text >= '0' && *text <= '9')
            number = number * 16 + (uint64_t)(*text - '0');
        else if (*text >= 'a' && *text <= 'f')
            number = number * 16 + (uint64_t)(*text - 'a' + 10);
        else
            return number;
}

bool kymo__task_look(uint32_t tid, struct kymo_task *task)
{
    char text[2048];
    *task = (struct kymo_task){0};
    if (!task_read(tid, "status", text, sizeof(text)))
        return false;
    const char *state = strstr(text, "\nState:\t"), *blocked = strstr(text, "\nSigBlk:\t");
    if (state)
        task->state = state[8];
    if (blocked)
        task->blocked = hex_of(blocked + 9);
    return true;
}
