/* exports.h — exporting: write a capture in the format of another program. */
#ifndef KYMO_EXPORTS_H
#define KYMO_EXPORTS_H

#include <kymo/read.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which of calls, samples and memory to write, in formats that hold one of them. */
enum kymo_of {
    KYMO_OF_EITHER = 0, /* calls; without calls, samples; without samples, memory */
    KYMO_OF_CALLS = 1,
    KYMO_OF_SAMPLES = 2,
    KYMO_OF_MEMORY = 3, /* who held memory: see `set` below */
};

/* Which native frames of samples to show among the Python frames. A stack without any Python frame
   is shown whole, except with KYMO_NATIVE_NONE. */
enum kymo_native_shown {
    KYMO_NATIVE_BRIEF = 0, /* without the interpreter's internals: evaluation, calls, startup */
    KYMO_NATIVE_ALL = 1,
    KYMO_NATIVE_NONE = 2, /* their time counts as the Python function's that called them */
};

/* What to write, and how. */
struct kymo_export_options {
    size_t size;
    const char *format; /* a name from kymo_export_format; NULL: chosen by PATH's extension */
    kymo_ns from, to;   /* the part to write; calls open at its ends are cut there */
    int64_t thread;     /* an index, or -1 for all */
    /* Called now and then on the exporting thread with the number of events written and the total;
       a negative result ends the export and becomes its result. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
    /* Members to add to the outermost object of JSON formats, each as "key": value followed by a
       comma; written unchanged. May be NULL. With it, a Chrome trace has exactly Kineto's form, for
       tools that parse its names; without it, names begin with the function, for people. */
    const char *extra;
    int of;           /* enum kymo_of */
    int native;       /* enum kymo_native_shown */
    unsigned set;     /* memory: enum kymo_heap_set, of <kymo/heap.h>; 0 is the peak */
    kymo_ns at;       /* memory: the time, for KYMO_HEAP_AT_TIME */
    uint64_t entries; /* snapshot: most entries of its trace; 0 for the default, 200 000.
                         collapsed: most lines; 0 for as many as fit into 64 MiB */
    int overloads; /* Chrome: not 0: names of operators end in their overload, "aten::add.Tensor" */
    uint64_t bytes; /* html: how large the page may be; the timeline gets what the flame graph
                       leaves of it. 0 for the default, 20 MiB */
    /* Chrome, with `extra`: the names of files lose the first of these that they begin with, as in
       Kineto. Ends with NULL; may be NULL. */
    const char *const *prefixes;
    /* Chrome, with `extra`: not 0: names of functions have their first lines. 0: where lines were
       recorded, those at which they were entered or, when the recording began, were running. */
    int first_lines;
};

/* Store the name of export format INDEX, the extension of its files, and in a few words which
   programs it is for. The texts are static; any pointer may be NULL. Returns 0, or -ENOENT past the
   last. Any thread. */
KYMO_API int kymo_export_format(uint32_t index, const char **name, const char **extension,
                                const char **purpose);

/* Return the name of the format that PATH's extension selects, or NULL. The text is static. Any
   thread. */
KYMO_API const char *kymo_export_format_of(const char *path);

/* Check whether an export may overwrite PATH without asking. Returns 0 if nothing is there, or only
   an export of ours that nobody has changed since; -EEXIST if any other file is there; otherwise
   the negative errno of what failed. kymo_export itself does not check. Any thread. */
KYMO_API int kymo_export_check(const char *path);

/* Write CAPTURE in another format to PATH. The file appears whole or not at all; an older one is
   replaced. It gets the permissions of CAPTURE's file. A name that ends in .gz is compressed; "-"
   is standard output. OPTIONS may be NULL for everything in the format of PATH's extension;
   otherwise start with from = 0, to = INT64_MAX, thread = -1.

   Returns 0, KYMO_EFORMAT, -EINVAL, -ENODATA if samples or memory are requested and there are none,
   -ENOTSUP if there are only samples or memory and the format holds calls, the negative errno of what failed, or what
   PROGRESS returned. One thread at a time may use a capture. */
KYMO_API int kymo_export(struct kymo_capture *capture, const char *path,
                         const struct kymo_export_options *options);

#ifdef __cplusplus
}
#endif
#endif
