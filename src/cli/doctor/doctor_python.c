/* doctor_python.c — checks the Python that runs the verbs written in Python. */
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "handover.h"
#include "memory.h"
#include "process.h"
#include "verb.h"

/* Prints the version and whether it is recent enough, in two lines. Works in every version of
   Python. */
static const char question[] = "import sys; print('.'.join(map(str, sys.version_info[:3]))); "
                               "print(sys.version_info >= (3, 10))";

/* The string KEY of the JSON object TEXT, or "". Not a full parser, but enough for the paths that
   the package prints. */
static void find_string(const char *text, const char *key, char *value, size_t size)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = strstr(text, quoted);
    size_t length = 0;
    if (at) {
        at += strlen(quoted);
        at += strspn(at, " :");
        for (at += *at == '"'; *at && *at != '"' && length + 1 < size; at++) {
            if (*at == '\\' && at[1])
                at++;
            value[length++] = *at;
        }
    }
    value[length] = '\0';
}

static void check_package(struct cli_doctor *doctor, const struct cli_python *python)
{
    const char *const command[] = {python->path, "-m", "kymograph", "python-info", NULL};
    struct cli_process answer;
    kymo__cli_process_run(command, &answer);
    if (answer.status != 0) {
        char *way_out =
            kymo__cli_format("install it there: %s -m pip install kymograph; or name another "
                             "Python with kymograph --python PATH or KYMO_PYTHON",
                             python->path);
        kymo__cli_doctor_report(doctor, CLI_WARN, "package", way_out,
                                "the kymograph package does not work in that Python: %s",
                                answer.reason);
        kymo__cli_free(way_out);
        return;
    }
    char extension[1024], library[1024];
    find_string(answer.output, "extension", extension, sizeof extension);
    find_string(answer.output, "library", library, sizeof library);
    kymo__cli_doctor_report(doctor, CLI_FINE, "package", NULL, "kymograph can be imported%s%s%s%s",
                            *extension ? "; extension " : "", extension,
                            *library ? ", library " : "", library);
}

void kymo__cli_doctor_python(struct cli_doctor *doctor)
{
    struct cli_python python;
    char complaint[4608];
    if (kymo__cli_python_choose(doctor->python, &python, complaint, sizeof complaint) != CLI_OK) {
        kymo__cli_doctor_report(doctor, CLI_WARN, "python",
                                "only verbs written in Python need one; recording C programs "
                                "does not",
                                "%s", complaint);
        return;
    }
    const char *const command[] = {python.path, "-c", question, NULL};
    struct cli_process answer;
    kymo__cli_process_run(command, &answer);
    char version[32] = "";
    bool recent = false;
    if (answer.status == 0) {
        size_t length = strcspn(answer.output, "\n");
        snprintf(version, sizeof version, "%.*s", (int)length, answer.output);
        recent = strstr(answer.output, "True") != NULL;
    }
    if (!*version) {
        kymo__cli_doctor_report(doctor, CLI_WARN, "python",
                                "name one that runs with kymograph --python PATH or KYMO_PYTHON",
                                "%s (%s) does not run: %s", python.path, python.origin,
                                answer.reason);
        return;
    }
    kymo__cli_doctor_report(
        doctor, recent ? CLI_FINE : CLI_WARN, "python",
        recent ? NULL : "kymograph needs Python 3.10 or later: kymograph --python PATH",
        "%s at %s (%s)", version, python.path, python.origin);
    if (recent)
        check_package(doctor, &python);
}
