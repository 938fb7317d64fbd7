#include "handover.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "message.h"
#include "process.h"
#include "verb.h"

static const char no_package[] = "import importlib.util as u, sys; "
                                 "sys.exit(97 if u.find_spec('kymograph') is None else 0)";
enum { NO_PACKAGE = 97 };

static bool runnable(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

/* Find NAME like a shell: a path as it is, a word in PATH. */
static bool locate(const char *name, char *found, size_t size)
{
    if (strchr(name, '/'))
        return (size_t)snprintf(found, size, "%s", name) < size && runnable(found);
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        int length = (int)strcspn(at, ":");
        if (length > 0 && (size_t)snprintf(found, size, "%.*s/%s", length, at, name) < size &&
            runnable(found))
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* The directory of this program, with links resolved. */
static bool own_directory(char *directory, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", directory, size - 1);
    if (length > 0) {
        directory[length] = '\0';
    } else { /* without /proc: the path that was executed */
        const char *executed = (const char *)getauxval(AT_EXECFN);
        char *real = executed ? realpath(executed, NULL) : NULL;
        bool fits = real && strlen(real) < size;
        if (fits)
            memcpy(directory, real, strlen(real) + 1);
        free(real);
        if (!fits)
            return false;
    }
    char *slash = strrchr(directory, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static bool locate_beside(char *found, size_t size)
{
    static const char *const names[] = {"python", "python3"};
    char directory[4096];
    if (!own_directory(directory, sizeof directory))
        return false;
    for (size_t i = 0; i < 2; i++)
        if ((size_t)snprintf(found, size, "%s/%s", directory, names[i]) < size && runnable(found))
            return true;
    return false;
}

int kymo__cli_python_choose(const char *wanted, struct cli_python *python, char *complaint,
                            unsigned long size)
{
    const char *variable = getenv("KYMO_PYTHON");
    if (!wanted && variable && *variable) {
        wanted = variable;
        python->origin = "KYMO_PYTHON";
    } else {
        python->origin = "--python";
    }
    if (wanted) {
        if (locate(wanted, python->path, sizeof python->path))
            return CLI_OK;
        snprintf(complaint, size, "%s names %s, which is not a program; give the path of a Python",
                 python->origin, wanted);
        return CLI_BAD;
    }

    python->origin = "next to this program";
    if (locate_beside(python->path, sizeof python->path))
        return CLI_OK;
    python->origin = "in PATH";
    if (locate("python3", python->path, sizeof python->path))
        return CLI_OK;
    snprintf(complaint, size,
             "no python next to this program and no python3 in PATH; name one with kymograph "
             "--python PATH or KYMO_PYTHON");
    return CLI_BAD;
}

/* True when the package is where this Python looks for it. This is the usual case, and checking
   saves starting Python to ask. */
static bool package_in_sight(const char *python)
{
    const char *slash = strrchr(python, '/');
    if (!slash)
        return false;
    glob_t found;
    char *pattern = kymo__cli_format("%.*s/../lib/python3*/site-packages/kymograph/__main__.py",
                                     (int)(slash - python), python);
    bool seen = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    if (seen)
        globfree(&found);
    kymo__cli_free(pattern);
    return seen;
}

/* Ask PYTHON itself whether it has the package. */
static int ask_for_package(const struct cli_python *python)
{
    const char *const question[] = {python->path, "-c", no_package, NULL};
    struct cli_process answer;
    kymo__cli_process_run(question, &answer);
    if (answer.status == 0)
        return CLI_OK;
    if (answer.status == NO_PACKAGE)
        kymo__cli_complain(
            "%s (%s) does not have the kymograph package; install it with '%s -m pip install "
            "kymograph', or name another with kymograph --python PATH or KYMO_PYTHON",
            python->path, python->origin, python->path);
    else
        kymo__cli_complain("%s (%s) is not a working Python: %s; name another with kymograph "
                           "--python PATH or KYMO_PYTHON",
                           python->path, python->origin, answer.reason);
    return CLI_BAD;
}

int kymo__cli_hand_over(const char *verb, const char *wanted, const char *const *arguments)
{
    struct cli_python python;
    char complaint[4608];
    if (kymo__cli_python_choose(wanted, &python, complaint, sizeof complaint) != CLI_OK) {
        kymo__cli_complain("'%s' needs Python: %s", verb, complaint);
        return CLI_BAD;
    }
    if (!package_in_sight(python.path) && ask_for_package(&python) != CLI_OK)
        return CLI_BAD;

    size_t count = 0;
    while (arguments[count])
        count++;
    const char **argv = kymo__cli_array(count + 5, sizeof *argv);
    argv[0] = python.path;
    argv[1] = "-m";
    argv[2] = "kymograph";
    argv[3] = verb;
    memcpy(argv + 4, arguments, count * sizeof *argv);
    fflush(stdout);
    execv(python.path, (char *const *)argv);
    kymo__cli_complain("%s (%s) cannot be run: %s", python.path, python.origin, strerror(errno));
    kymo__cli_free(argv);
    return CLI_BAD;
}
