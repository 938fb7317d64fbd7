/* dumped.h — what the tests of dumped stacks share: a dump as text, and its parts. */
#ifndef KYMO_TEST_DUMPED_H
#define KYMO_TEST_DUMPED_H

#include <kymo/stackdump.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "fault.h"
#include "procfs.h"

/* Why threads cannot be asked here, or NULL. To be asked while there is one only. */
static inline const char *cannot_ask(void)
{
    if (FAULT_TSAN)
        return "the thread sanitizer holds signals back";
    return kymo__tasks_list(NULL, 0) > 1 ? "an emulator has threads of its own here" : NULL;
}

static inline void threads_can_be_asked(void)
{
    CHECK_SKIP(cannot_ask());
}

/* CHECK_MAIN where they can, else one case that says why not. */
#define DUMPED_MAIN(cases)                                                                         \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct check_case none[] = {CHECK_CASE(threads_can_be_asked)};                \
        return cannot_ask() ? check_main(none, 1, argc, argv)                                      \
                            : check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);     \
    }

/* All that descriptor FD has; for the caller to free. */
static inline char *text_of(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    CHECK_EQ(pread(fd, text, (size_t)size, 0), size);
    return text;
}

/* A dump, by the calling thread. */
static inline char *dump(void)
{
    int fd = memfd_create("dump", 0);
    CHECK_OK(kymo_stacks_dump(fd));
    char *text = text_of(fd);
    close(fd);
    return text;
}

/* Whether the part of TEXT about thread TID has WORD. */
static inline bool part_has(const char *text, uint32_t tid, const char *word)
{
    char heading[64];
    snprintf(heading, sizeof(heading), "\nThread %u", tid);
    const char *from = strstr(text, heading);
    if (!from)
        return false;
    const char *to = strstr(from + 1, "\n\n"), *found = strstr(from, word);
    return found && (!to || found < to);
}

#define CHECK_PART(text, tid, word)                                                                \
    do {                                                                                           \
        if (!part_has(text, tid, word))                                                            \
            CHECK_FAIL("thread %u has no '%s' in:\n%s", (unsigned)(tid), word, text);              \
    } while (0)

/* A thread that waits somewhere, and says when it is there. */
struct waiter {
    pthread_t thread;
    void *(*run)(struct waiter *);
    uint32_t tid;
    int fds[2];
    int64_t took;
    int result, error; /* of what it waited in; 1: not back yet */
};

static inline void *waiter_main(void *arg)
{
    struct waiter *w = arg;
    __atomic_store_n(&w->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    w->run(w);
    return NULL;
}

static inline void waiter_start(struct waiter *w, void *(*run)(struct waiter *))
{
    w->run = run;
    w->result = 1;
    CHECK_EQ(pipe(w->fds), 0);
    CHECK_EQ(pthread_create(&w->thread, NULL, waiter_main, w), 0);
    while (!__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE))
        fault_sleep(100000);
}

/* Let it come back, if it waits for its pipe. */
static inline void waiter_end(struct waiter *w)
{
    close(w->fds[1]);
    pthread_join(w->thread, NULL);
    close(w->fds[0]);
}

#endif
