/* verb_run.c — kymograph run: its help. The verb itself is written in Python,
   python/kymograph/verbs/run.py; a test checks that both have the same options. */
#include <stddef.h>

#include "verb.h"

static const struct cli_option options[] = {
    {"output", 'o', "FILE",
     "the output: a capture (.kymo), or an export chosen by its extension (.json, .pftrace, "
     ".html, ...); default: SCRIPT.kymo in the current directory"},
    {"dir", 0, "DIRECTORY",
     "record into this directory, which other processes and hosts may use too, under a name of "
     "program, host and rank, or pid; 'kymograph report DIRECTORY' compares them"},
    {"calls", 0, "on|off",
     "record calls (default: on); off also disables the options for calls "
     "below"},
    {"sample", 0, "HZ[,wall]",
     "sample the stack of every thread, Python and native frames, HZ times per second of CPU "
     "time, for example 1000; with ,wall per second of elapsed time, waiting included. With "
     "--calls off only samples are recorded, at almost no cost"},
    {"c-calls", 0, "on|off", "record calls of functions implemented in C (default: on)"},
    {"gc", 0, "on|off", "record garbage collections (default: on)"},
    {"children", 0, "on|off",
     "record child processes that are Python, and theirs (default: on), into FILE.d; every verb "
     "reads them with FILE"},
    {"source", 0, "NAME=on|off",
     "switch an event source on or off by name; python is the source that --calls switches; may "
     "be repeated"},
    {"ops", 0, "names|shapes|full",
     "record PyTorch's operators on every thread: full, with their inputs and outputs (also without "
     "a value); shapes, with their inputs; names, without either"},
    {"execution-trace", 0, "FILE",
     "also write the operators as an execution trace, for Chakra's tools and et_replay: .json or "
     ".json.gz; implies --ops"},
    {"memory", 0, "exact|sampled|live",
     "record allocations of Python and native code with their stacks: exact, every one (also "
     "without a value); sampled, some, at almost no cost; live, only what is held at the end and "
     "at the peak"},
    {"memory-rate", 0, "SIZE",
     "with --memory=sampled: bytes between two samples, on average (default: 512K)"},
    {"memory-domains", 0, "LIST",
     "record only these allocations: native, mappings, python, tracked (default: all)"},
    {"memory-stacks", 0, "python|native|both|none",
     "the frames recorded with allocations (default: python)"},
    {"memory-objects", 0, NULL,
     "also record the Python objects that survive, by type, and what keeps them alive"},
    {"memory-signal", 0, "SIGNAL", "take a snapshot of the memory in use on this signal: USR2"},
    {"memory-preload", 0, NULL,
     "load a library into the program first (LD_PRELOAD) that also sees allocations by code which "
     "looks up malloc itself; always on for programs that are not Python"},
    {"include", 0, "PATTERN",
     "record only these functions: a file ('*/myapp/*', views.py), a package or module (numpy), "
     "or a function ('Parser.*'); may be repeated"},
    {"exclude", 0, "PATTERN", "do not record these; may be repeated"},
    {"no-stdlib", 0, NULL, "do not record the Python code of the standard library"},
    {"max-depth", 0, "N", "do not record calls nested deeper than N"},
    {"overhead", 0, "5%",
     "how much recording may slow the program down: the shortest, most frequent calls are "
     "switched off until it fits, and the capture lists them"},
    {"flight", 0, "10s|100M",
     "flight recorder: keep only the last seconds or megabytes, in memory, and write them at "
     "exit, on SIGUSR2 and on an uncaught exception; 10s,100M sets both limits"},
    {"slow", 0, "200ms",
     "with --flight: also write when a call has taken this long; or PATTERN=200ms"},
    {"budget", 0, "SIZE", "memory for records not yet written (default: 64M)"},
    {"policy", 0, "help|drop",
     "when that memory is full: help makes the program wait, so nothing is lost (default); drop "
     "drops and counts records"},
    {"level", 0, "N", "zstd compression level, 1 to 19 (default: 1)"},
    {"on-crash", 0, "stacks",
     "when a signal such as SIGSEGV kills the program, print the stacks of all threads, Python "
     "and native, to stderr; the program still dies by that signal"},
    {"no-command", 0, NULL, "do not store the program's arguments in the capture"},
    {"force", 0, NULL, "overwrite FILE even if kymograph did not write it"},
    {"quiet", 'q', NULL, "print no summary at the end"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph run train.py --epochs 3", "records into train.kymo"},
    {"kymograph run -o night.kymo -m myapp.worker", "a module, into night.kymo"},
    {"kymograph run -o trace.json train.py", "a Chrome trace, for ui.perfetto.dev"},
    {"kymograph run --no-stdlib --c-calls off train.py", "a smaller recording: your own code"},
    {"kymograph run --sample 1000 --calls off train.py", "samples instead of every call"},
    {"kymograph run --overhead 5% server.py", "slow the program down by at most 5%"},
    {"kymograph run --ops train.py", "calls, and torch's operators with their arguments"},
    {"kymograph run --execution-trace et.json train.py", "and an execution trace of them"},
    {"kymograph run --memory train.py", "calls and every allocation"},
    {"kymograph run --memory=live --calls off server.py", "only who holds memory"},
    {"kymograph run --flight 30s --slow 500ms server.py",
     "always on; keeps what led to a slow call"},
    {"kymograph run --include '*/myapp/*' -m pytest tests", "only code in myapp"},
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
        "The program runs as python would run it, with its own arguments, standard input, "
        "signals and exit code. Every call on every thread is recorded until the program ends, "
        "however it ends. SCRIPT may be a directory or a zip file with a __main__.py, or the "
        "name of an installed Python program.\n\n"
        "kymograph's options go before the script; everything after it is passed to the program. "
        "Child processes that are Python are recorded together with it, into the folder "
        "SCRIPT.kymo.d; every verb that reads SCRIPT.kymo reads them too.\n\n"
        "The exit code is the program's; it is 2, with one line on stderr, when nothing was run.",
    .options = options,
    .examples = examples,
    .next = next,
    .python = true,
};
