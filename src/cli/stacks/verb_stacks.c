/* verb_stacks.c — kymograph stacks FILE: prints a raw stack dump with function names. */
#include <errno.h>
#include <fcntl.h>
#include <kymo/stackdump.h>
#include <kymo/symbol.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "message.h"
#include "verb.h"

/* Goes through a memory file, so that errors on stdout are reported in the one place shared by all
   verbs. */
static int print_dump(int from)
{
    char part[4096];
    int text = memfd_create("kymograph-stacks", MFD_CLOEXEC);
    if (text < 0)
        return -errno;
    int rc = kymo_stacks_print(from, text, KYMO_SYMBOL_FULL);
    lseek(text, 0, SEEK_SET);
    for (ssize_t n; rc == 0 && (n = read(text, part, sizeof(part))) > 0;)
        fwrite(part, 1, (size_t)n, stdout);
    close(text);
    return rc;
}

static int run_stacks(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    const char *path = arguments->words[0];
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        kymo__cli_complain("%s: %s", path, strerror(errno));
        return CLI_BAD;
    }
    int rc = print_dump(fd);
    if (!is_stdin)
        close(fd);
    if (rc == 0)
        return CLI_OK;
    kymo__cli_complain("%s: %s%s", is_stdin ? "standard input" : path, kymo_strerror(rc),
                       rc == KYMO_ENOTSTACKS ? "; a stack dump starts with the line 'kymo stacks 1'"
                                             : "");
    return CLI_BAD;
}

static const struct cli_example examples[] = {
    {"kymograph stacks crash.txt", "a crash dump, with functions and line numbers"},
    {"ssh host cat crash.txt | kymograph stacks -", "a dump from another machine"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph run --on-crash stacks app.py", "prints the stacks of all threads on a crash"},
    {0},
};

const struct cli_verb kymo__cli_verb_stacks = {
    .name = "stacks",
    .purpose = "print a stack dump with function names",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_SCRIPTS,
    .details =
        "Reads a raw stack dump, written by a crashed process or by kymo_stacks_write of the C "
        "API, and prints it with functions, files and lines, most recent call last. FILE may be "
        "- for standard input.\n\n"
        "Works later and on another machine: programs and libraries are looked up by path, and "
        "debug files by build id. Addresses that cannot be resolved are shown as file and offset.",
    .examples = examples,
    .next = next,
    .run = run_stacks,
};
