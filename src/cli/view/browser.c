/* browser.c — see browser.h. */
#include "browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 3000, STEP_MS = 50 };

static bool has_screen(void)
{
    static const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return true;
    }
    return false;
}

/* Start PROGRAM without our terminal. Returns false if it cannot be started or fails at once. */
static bool start_program(const char *program, const char *address)
{
    const char *argv[] = {program, address, NULL};
    posix_spawn_file_actions_t actions;
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    int error = posix_spawnp(&pid, program, &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return false;
    /* Most return at once; one that is still there after a while is the browser itself. */
    for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&step, NULL);
    }
    return true;
}

bool kymo__browser_open(const char *address)
{
    static const char *const programs[] = {"xdg-open", "wslview", "sensible-browser",
                                           "x-www-browser", "open"};
    const char *chosen = getenv("BROWSER");
    if (chosen && *chosen && !strchr(chosen, ' ') && !strchr(chosen, ':'))
        return start_program(chosen, address);
    if (!has_screen())
        return false;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (start_program(programs[i], address))
            return true;
    return false;
}
