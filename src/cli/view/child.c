/* child.c — see child.h. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "atomic.h"
#include "clock.h"

enum { WORDS_MOST = 16, STEP_MS = 100 };

static int start_child(const char *const *argv, int out, int err, pid_t *pid)
{
    const char *words[WORDS_MOST + 2] = {"kymograph"};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    for (size_t i = 0; argv[i] && i < WORDS_MOST; i++)
        words[i + 1] = argv[i];
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error =
        posix_spawn(pid, "/proc/self/exe", &actions, &attributes, (char *const *)words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

/* Keep the last line of TEXT. */
static void keep_reason(struct view_child *child, const char *text, size_t length)
{
    static const char prefix[] = "kymograph: ";
    while (length && text[length - 1] == '\n')
        length--;
    const char *line = memrchr(text, '\n', length);
    line = line ? line + 1 : text;
    length -= (size_t)(line - text);
    if (length > sizeof prefix - 1 && memcmp(line, prefix, sizeof prefix - 1) == 0) {
        line += sizeof prefix - 1;
        length -= sizeof prefix - 1;
    }
    length = length < sizeof child->reason - 1 ? length : sizeof child->reason - 1;
    memcpy(child->reason, line, length);
    child->reason[length] = 0;
}

/* Read both pipes to their ends. */
static int read_pipes(struct view *view, struct pollfd *pipes, size_t most, int64_t deadline,
                      struct view_child *child)
{
    char block[1 << 16], said[4096];
    size_t said_length = 0;
    while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
        child->too_long = kymo__clock_ns(CLOCK_MONOTONIC) > deadline;
        if (child->too_long || kymo__load_relaxed(&view->stopping))
            return -ECANCELED;
        if (poll(pipes, 2, STEP_MS) < 0 && errno != EINTR)
            return -errno;
        for (int i = 0; i < 2; i++) {
            if (pipes[i].fd < 0 || !pipes[i].revents)
                continue;
            ssize_t count = read(pipes[i].fd, block, sizeof block);
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0) {
                pipes[i].fd = -1;
                continue;
            }
            if (i == 1) {
                size_t room = sizeof said - said_length;
                room = (size_t)count < room ? (size_t)count : room;
                memcpy(said + said_length, block, room);
                said_length += room;
                continue;
            }
            child->too_much = child->output.len + (size_t)count > most;
            if (child->too_much)
                return -EFBIG;
            int rc = kymo__buffer_add(&child->output, block, (size_t)count);
            if (rc < 0)
                return rc;
        }
    }
    keep_reason(child, said, said_length);
    return 0;
}

int kymo__child_run(struct view *view, const char *const *argv, size_t most, int seconds,
                    struct view_child *child)
{
    int out[2], err[2];
    pid_t pid;
    *child = (struct view_child){.status = -1};
    if (pipe2(out, O_CLOEXEC) != 0)
        return -errno;
    if (pipe2(err, O_CLOEXEC) != 0) {
        int error = errno;
        close(out[0]);
        close(out[1]);
        return -error;
    }
    int rc = start_child(argv, out[1], err[1], &pid);
    close(out[1]);
    close(err[1]);
    if (rc == 0) {
        struct pollfd pipes[2] = {{.fd = out[0], .events = POLLIN},
                                  {.fd = err[0], .events = POLLIN}};
        int64_t deadline = kymo__clock_ns(CLOCK_MONOTONIC) + seconds * (int64_t)1000000000;
        int status;
        rc = read_pipes(view, pipes, most, deadline, child);
        if (rc < 0)
            kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (rc == 0 && WIFEXITED(status))
            child->status = WEXITSTATUS(status);
    }
    close(out[0]);
    close(err[0]);
    return rc;
}

void kymo__child_fini(struct view_child *child)
{
    kymo__buffer_fini(&child->output);
}
