/* gather.h — what an export made from the call tree stands on: the survey of the part that
   was asked for, what its threads are called, and a way to walk along all paths. */
#ifndef KYMO_GATHER_H
#define KYMO_GATHER_H

#include "export.h"
#include "samples.h"

/* The tree of an export is bounded; a fold is told of where the format has a place for it. */
enum { KYMO__GATHER_NODES = 1 << 22 };

/* Formats that write every path in full grow with the square of a recursion. Of paths longer
   than this the outermost calls are written, KYMO__DEEPER, and the innermost: together those
   that do not differ in what is left. */
enum { KYMO__PATH_MOST = 1024 };
#define KYMO__DEEPER UINT32_MAX
#define KYMO__DEEPER_NAME "(deeper)"

struct kymo_gathered {
    struct kymo_capture *capture;
    const struct kymo_export_options *options;
    struct kymo_outfile *out;
    struct kymo_survey *survey;
    struct kymo_samples *samples; /* the survey is of these, not of calls; NULL: it is of calls */
    struct kymo_info info;
    const char *process; /* its name, or "" */
    char **threads;      /* by index: names, none twice; NULL for those that made no calls */
    unsigned steps;
};

/* Survey what OPTIONS choose of CAPTURE: calls or samples, see enum kymo_of. BY_THREAD is the
   survey's. Returns 0 or a negative code, -ENODATA when samples are asked for and there are
   none; fini in any case. */
int kymo__gather(struct kymo_gathered *gathered, struct kymo_capture *capture,
                 const struct kymo_export_options *options, struct kymo_outfile *out,
                 bool by_thread);
void kymo__gather_fini(struct kymo_gathered *gathered);

/* For formats that can only hold calls: 0, or -ENOTSUP when samples are meant. */
int kymo__gather_calls_only(const struct kymo_gathered *gathered);

/* To be called for everything written: 0, or why to stop. */
int kymo__gather_step(struct kymo_gathered *gathered);

/* A path of a tree by thread: the call that NODE stands for, with those around it. */
struct kymo_path {
    const struct kymo_node *node;
    uint32_t thread;
    const uint32_t *callables; /* the outermost first, NODE's own last */
    size_t count;
};

/* Call EACH for every path, callers before what they call. Returns 0 or a negative code, EACH's
   perhaps. */
int kymo__gather_paths(struct kymo_gathered *gathered,
                       int (*each)(void *arg, const struct kymo_path *path), void *arg);

/* What to call the thread that INFO is about, to be freed, or NULL: a name that is not TAKEN,
   and is then. */
struct kymo_strtab;
char *kymo__gather_title(const struct kymo_thread_info *info, struct kymo_strtab *taken);

/* The value of metadata KEY, or "". */
const char *kymo__gather_metadata(const struct kymo_capture *capture, const char *key);

#endif
