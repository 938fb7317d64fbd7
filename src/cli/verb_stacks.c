/* verb_stacks.c — kymograph stacks FILE: a raw dump of stacks, with its functions named. */
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

/* By way of a file in memory: what is wrong with stdout is told in one place for all verbs. */
static int print(int from)
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

static int run(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    const char *path = arguments->words[0];
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        kymo__cli_complain("%s cannot be read: %s", path, strerror(errno));
        return CLI_BAD;
    }
    int rc = print(fd);
    if (!is_stdin)
        close(fd);
    if (rc == 0)
        return CLI_OK;
    kymo__cli_complain("%s: %s%s", is_stdin ? "standard input" : path, kymo_strerror(rc),
                       rc == -KYMO_ENOTSTACKS
                           ? "; it begins with the line 'kymograph stacks 1', as kymograph wrote it"
                           : "");
    return CLI_BAD;
}

static const struct cli_example examples[] = {
    {"kymograph stacks crash.txt", "the lines that a crash left, with functions and lines"},
    {"ssh host cat crash.txt | kymograph stacks -",
     "from another machine, whose files are here too"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph run --on-crash stacks app.py", "prints the stacks of all threads on a crash"},
    {0},
};

const struct cli_verb kymo__cli_verb_stacks = {
    .name = "stacks",
    .purpose = "print a dump of the stacks of all threads",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details =
        "Reads the raw text in which a process that crashed, or kymo_stacks_write of the C API, "
        "has said where its threads are, and prints it with functions, files and lines, the "
        "most recent call last. FILE may be -, for standard input.\n\n"
        "It need not be the machine, nor the moment: programs and libraries are looked for at "
        "their paths, and their debug files by build id. What is not found here is shown as file "
        "and offset.",
    .examples = examples,
    .next = next,
    .run = run,
};
