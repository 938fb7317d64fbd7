/* verb_run.c — kymograph run: what people are told about it. The verb itself lives in Python,
   python/kymograph/verbs/run.py; a test sees that both know the same options. */
#include <stddef.h>

#include "verb.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE",
     "where to: a capture (.kymo), or an export by its extension (.json, .pftrace, .html, ...); "
     "SCRIPT.kymo in the current directory without it"},
    {"calls", 0, "on|off", "calls of Python functions, and all that follows here; on without it"},
    {"sample", 0, "HZ[,wall]",
     "sample the stack of every thread, Python and native frames, HZ times for each second that "
     "it runs, 1000 for instance; with ,wall of all time, waiting too. With --calls off there "
     "are only samples, which cost next to nothing"},
    {"c-calls", 0, "on|off|fast",
     "calls of functions implemented in C; on without it; fast is cheaper, an experiment, and "
     "misses some"},
    {"gc", 0, "on|off", "garbage collections; on without it"},
    {"include", 0, "PATTERN",
     "only these functions: a file ('*/myapp/*', views.py), a package or module (numpy), or a "
     "function ('Parser.*'); may be repeated"},
    {"exclude", 0, "PATTERN", "not these; may be repeated"},
    {"no-stdlib", 0, NULL, "not the Python code of the standard library"},
    {"max-depth", 0, "N", "no calls nested deeper than N"},
    {"overhead", 0, "5%",
     "the share of its time the program may lose: the tiniest, most frequent calls are switched "
     "off until it fits, and the capture says which"},
    {"flight", 0, "10s|100M",
     "a flight recorder: keep only the last seconds or megabytes, in memory, and write them at "
     "the end, on SIGUSR2, and on an exception that nobody catches; both as 10s,100M"},
    {"slow", 0, "200ms", "with --flight: write also when a call has taken this long"},
    {"budget", 0, "SIZE", "memory for records not yet written, 64M without it"},
    {"policy", 0, "help|drop",
     "when that is used up: help, the program waits and nothing is lost (the default); drop, "
     "records are dropped and counted"},
    {"level", 0, "N", "zstd compression level, 1 to 19; 1 without it"},
    {"on-crash", 0, "stacks",
     "when a signal such as SIGSEGV ends the program: print the stacks of all threads, Python "
     "and native, to stderr; it still ends by that signal"},
    {"quiet", 'q', NULL, "no summary at the end"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph run train.py --epochs 3", "records into train.kymo"},
    {"kymograph run -o night.kymo -m myapp.worker", "a module, into night.kymo"},
    {"kymograph run -o trace.json train.py", "a Chrome trace, for ui.perfetto.dev"},
    {"kymograph run --no-stdlib --c-calls off train.py", "a smaller recording: your own code"},
    {"kymograph run --sample 1000 --calls off train.py", "samples instead of every call"},
    {"kymograph run --overhead 5% server.py", "whatever is worth recording at that price"},
    {"kymograph run --flight 30s --slow 500ms server.py",
     "stays on; keeps what led to a slow call"},
    {"kymograph run --include '*/myapp/*' -m pytest tests", "only what lies in myapp"},
    {"kymograph run -c 'import myapp'", "what an import costs"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph report train.kymo", "where the time went"},
    {"kymograph export train.kymo --to chrome", "for ui.perfetto.dev"},
    {"kymograph info train.kymo", "what was recorded, and whether anything is missing"},
    {0},
};

const struct cli_verb kymo__cli_verb_run = {
    .name = "run",
    .purpose = "run a Python program and record every call",
    .operands = "SCRIPT | -m MODULE | -c CODE [ARGUMENT...]",
    .least = 1,
    .most = CLI_ANY,
    .operand = CLI_SCRIPTS,
    .details =
        "The program runs as python would run it: its arguments, standard input, signals and "
        "exit code are its own. Every call on every thread is recorded, until the program "
        "ends, however it ends. SCRIPT may be a directory or a zip file with a __main__.py.\n\n"
        "Options of kymograph stand before the script; all behind it belongs to the program. Child "
        "processes are not recorded.\n\n"
        "The exit code is the program's; it is 2, after one line on stderr, when nothing was "
        "run.",
    .options = options,
    .examples = examples,
    .next = next,
    .python = true,
};
