#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

enum { PATIENCE_MS = 10000 };

/* One of the child's streams. */
struct stream {
    int ends[2];
    char text[8192]; /* its beginning; the rest is read and dropped */
    size_t length;
    bool open;
};

static int start_process(const char *const *argv, int out, int err, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    int error = posix_spawn(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void drain_stream(struct stream *stream)
{
    char block[4096];
    ssize_t count = read(stream->ends[0], block, sizeof block);
    if (count < 0 && errno == EINTR)
        return;
    if (count <= 0) {
        stream->open = false;
        return;
    }
    size_t room = sizeof stream->text - 1 - stream->length;
    size_t kept = (size_t)count < room ? (size_t)count : room;
    memcpy(stream->text + stream->length, block, kept);
    stream->length += kept;
}

/* Read both streams to their ends; false on timeout. */
static bool listen_to(struct stream *streams)
{
    int64_t deadline = kymo__clock_ns(CLOCK_MONOTONIC) / 1000000 + PATIENCE_MS;
    while (streams[0].open || streams[1].open) {
        struct pollfd fds[2];
        for (int i = 0; i < 2; i++)
            fds[i] = (struct pollfd){streams[i].open ? streams[i].ends[0] : -1, POLLIN, 0};
        int64_t left = deadline - kymo__clock_ns(CLOCK_MONOTONIC) / 1000000;
        if (left <= 0)
            return false;
        if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
            return false;
        for (int i = 0; i < 2; i++)
            if (fds[i].fd >= 0 && fds[i].revents)
                drain_stream(&streams[i]);
    }
    return true;
}

/* The last line of TEXT that is not blank: where Python names the exception. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = '\0';
    const char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

static void judge_end(struct cli_process *process, int status, bool in_time, char *errors)
{
    size_t size = sizeof process->reason;
    if (!in_time) {
        snprintf(process->reason, size, "it did not answer within %d s", PATIENCE_MS / 1000);
    } else if (WIFSIGNALED(status)) {
        snprintf(process->reason, size, "it was killed by %s", strsignal(WTERMSIG(status)));
    } else {
        process->status = WEXITSTATUS(status);
        const char *said = last_line(errors);
        if (process->status != 0)
            snprintf(process->reason, size, "it exits with code %d%s%.200s", process->status,
                     *said ? ": " : "", said);
    }
}

void kymo__cli_process_run(const char *const *argv, struct cli_process *process)
{
    *process = (struct cli_process){.status = -1};
    struct stream streams[2] = {{.open = true}, {.open = true}};
    if (pipe2(streams[0].ends, O_CLOEXEC) != 0) {
        snprintf(process->reason, sizeof process->reason, "%s", strerror(errno));
        return;
    }
    if (pipe2(streams[1].ends, O_CLOEXEC) != 0) {
        snprintf(process->reason, sizeof process->reason, "%s", strerror(errno));
        close(streams[0].ends[0]);
        close(streams[0].ends[1]);
        return;
    }

    pid_t pid;
    int error = start_process(argv, streams[0].ends[1], streams[1].ends[1], &pid);
    close(streams[0].ends[1]);
    close(streams[1].ends[1]);
    if (error) {
        snprintf(process->reason, sizeof process->reason, "%s", strerror(error));
    } else {
        bool in_time = listen_to(streams);
        int status = 0;
        if (!in_time)
            kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        judge_end(process, status, in_time, streams[1].text);
    }
    memcpy(process->output, streams[0].text, sizeof process->output);
    close(streams[0].ends[0]);
    close(streams[1].ends[0]);
}
