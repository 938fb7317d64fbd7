/* Ends in one of the ways that run no destructors, named by its first argument, after it has
   allocated: keeps two of three blocks. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 54321 };

static void *volatile kept[3];

static void leave(int number)
{
    (void)number;
    _exit(7);
}

static void *linger(void *arg)
{
    usleep(100000);
    kept[0] = malloc(SIZE + 1); /* the recording goes on */
    usleep(100000);
    return arg;
}

static void print_last(void)
{
    (void)!write(1, "quick\n", 6);
}

static void run_child(void)
{
    char *const echo[] = {"echo", "child", NULL};
    execvp("echo", echo);
    _exit(0);
}

/* Children that become another program, or end. */
static void make_children(void)
{
    pid_t child = fork();
    if (child == 0)
        run_child();
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0)
        run_child();
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char *const echo[] = {"echo", "became", NULL}, *const empty[] = {NULL};
    if (strcmp(how, "children") == 0)
        make_children();
    if (strcmp(how, "fails") == 0) {
        execl("/nowhere/at/all", "all", (char *)NULL);
        execlp("no such program", "program", (char *)NULL);
    }
    for (int i = 0; i < 3; i++)
        kept[i] = malloc(SIZE);
    free(kept[2]);
    if (strcmp(how, "_Exit") == 0)
        _Exit(7);
    if (strcmp(how, "quick_exit") == 0) {
        at_quick_exit(print_last);
        quick_exit(7);
    }
    pthread_t thread;
    if (strcmp(how, "pthread_exit") == 0 && pthread_create(&thread, NULL, linger, NULL) == 0)
        pthread_exit(NULL);
    if (strcmp(how, "signal") == 0) {
        signal(SIGTERM, leave);
        raise(SIGTERM);
    }
    if (strcmp(how, "execv") == 0)
        execv("/bin/echo", echo);
    if (strcmp(how, "execve") == 0)
        execve("/bin/echo", echo, empty);
    if (strcmp(how, "execvp") == 0)
        execvp("echo", echo);
    if (strcmp(how, "execvpe") == 0)
        execvpe("echo", echo, empty);
    if (strcmp(how, "fexecve") == 0)
        fexecve(open("/bin/echo", O_RDONLY), echo, empty);
    if (strcmp(how, "execl") == 0)
        execl("/bin/echo", "echo", "became", (char *)NULL);
    if (strcmp(how, "execlp") == 0)
        execlp("echo", "echo", "became", (char *)NULL);
    if (strcmp(how, "execle") == 0)
        execle("/bin/echo", "echo", "became", (char *)NULL, empty);
    _exit(7);
}
