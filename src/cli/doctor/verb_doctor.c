/* verb_doctor.c — kymograph doctor [DIR]: what works on this machine, what does not, and why. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kymo/kymo.h>

#include "doctor.h"
#include "memory.h"
#include "message.h"
#include "terminal.h"
#include "text.h"
#include "verb.h"

enum { OPTION_JSON };
enum { STATUS_CELLS = 6, NAME_CELLS = 12 };

static const struct {
    const char *word;
    enum cli_colour colour;
} healths[] = {
    [CLI_FINE] = {"ok", CLI_GREEN},
    [CLI_WARN] = {"warn", CLI_YELLOW},
    [CLI_FAIL] = {"fail", CLI_RED},
};

static void report_json(struct kymo_jsonout *json, enum cli_health health, const char *name,
                        const char *way_out, const char *found)
{
    kymo__jsonout_object(json, NULL);
    kymo__jsonout_string(json, "name", name);
    kymo__jsonout_string(json, "status", healths[health].word);
    kymo__jsonout_string(json, "found", found);
    if (way_out)
        kymo__jsonout_string(json, "way_out", way_out);
    else
        kymo__jsonout_null(json, "way_out");
    kymo__jsonout_end(json);
}

static void report_text(enum cli_health health, const char *name, const char *way_out,
                        const char *found)
{
    int column = STATUS_CELLS + NAME_CELLS;
    printf("%s%-*s%s%-*s", kymo__cli_colour(healths[health].colour), STATUS_CELLS,
           healths[health].word, kymo__cli_colour(CLI_PLAIN), NAME_CELLS, name);
    char *clean = kymo__cli_clean(found);
    kymo__cli_wrap(stdout, clean, column, kymo__cli_text_width(), column);
    kymo__cli_free(clean);
    if (way_out) {
        printf("%*s-> ", column, "");
        kymo__cli_wrap(stdout, way_out, column + 3, kymo__cli_text_width(), column + 3);
    }
    fflush(stdout);
}

void kymo__cli_doctor_report(struct cli_doctor *doctor, enum cli_health health, const char *name,
                             const char *way_out, const char *format, ...)
{
    char found[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found, sizeof found, format, arguments);
    va_end(arguments);

    doctor->failed += health == CLI_FAIL;
    doctor->warned += health == CLI_WARN;
    if (doctor->as_json)
        report_json(&doctor->json, health, name, way_out, found);
    else
        report_text(health, name, way_out, found);
}

bool kymo__cli_doctor_line(const char *file, char *line, size_t size)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, line, size - 1);
    close(fd);
    if (length <= 0)
        return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static void (*const checks[])(struct cli_doctor *) = {
    kymo__cli_doctor_system,  kymo__cli_doctor_cores,      kymo__cli_doctor_memory,
    kymo__cli_doctor_counter, kymo__cli_doctor_membarrier, kymo__cli_doctor_fork,
    kymo__cli_doctor_disk,    kymo__cli_doctor_recording,  kymo__cli_doctor_perf,
    kymo__cli_doctor_ptrace,  kymo__cli_doctor_python,
};

static void run_checks(struct cli_doctor *doctor)
{
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i](doctor);
}

static void run_for_programs(struct cli_doctor *doctor)
{
    kymo__jsonout_object(&doctor->json, NULL);
    kymo__jsonout_string(&doctor->json, "kymograph", kymo_version());
    kymo__jsonout_array(&doctor->json, "checks");
    run_checks(doctor);
    kymo__jsonout_end(&doctor->json);
    kymo__jsonout_bool(&doctor->json, "ok", doctor->failed == 0);
    kymo__jsonout_end(&doctor->json);
    putchar('\n');
}

static void run_for_people(struct cli_doctor *doctor)
{
    run_checks(doctor);
    putchar('\n');
    kymo__cli_wrap(stdout,
                   doctor->failed > 0 ? "kymograph cannot record here: see the failures above."
                   : doctor->warned > 0
                       ? "kymograph can record and read captures here; the warnings show what is "
                         "limited."
                       : "Everything works.",
                   0, kymo__cli_text_width(), 0);
}

static int run_doctor(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    struct cli_doctor doctor = {
        .directory = arguments->count > 0 ? arguments->words[0] : ".",
        .python = arguments->python,
        .as_json = arguments->value[OPTION_JSON] != NULL,
        .json = {.out = stdout},
    };
    struct stat file;
    int error = stat(doctor.directory, &file) != 0 ? errno : S_ISDIR(file.st_mode) ? 0 : ENOTDIR;
    if (error) {
        kymo__cli_complain("%s: %s; name the directory where captures will be written",
                           doctor.directory, strerror(error));
        return CLI_BAD;
    }
    if (doctor.as_json)
        run_for_programs(&doctor);
    else
        run_for_people(&doctor);
    return doctor.failed > 0 ? CLI_NO : CLI_OK;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "print all checks as one JSON object"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph doctor", "check the machine and the current directory"},
    {"kymograph doctor /scratch", "check another directory for captures"},
    {"kymograph --python .venv/bin/python doctor", "check with a project's Python"},
    {0},
};

const struct cli_verb kymo__cli_verb_doctor = {
    .name = "doctor",
    .purpose = "check what works on this machine and how to fix what does not",
    .operands = "[DIR]",
    .most = 1,
    .operand = CLI_FOLDERS,
    .details =
        "Each check is ok, warn or fail. A warning means that something is limited or slower; a "
        "failure means that kymograph cannot record. Each comes with a fix. One check records a "
        "tiny capture in DIR (default: the current directory), reads it back and removes it. The "
        "exit code is 1 if a check failed.",
    .options = options,
    .examples = examples,
    .run = run_doctor,
};
