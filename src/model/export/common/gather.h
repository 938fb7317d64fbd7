/* gather.h — input for exports made from the call tree: the survey of the selected part, names for
   its threads, and a walk over all paths. */
#ifndef KYMO_GATHER_H
#define KYMO_GATHER_H

#include "export.h"
#include "heapgroups.h"
#include "samples.h"

/* Most nodes in an export's tree. Formats that can say so report how many calls were folded. */
enum { KYMO__GATHER_NODES = 1 << 22 };

/* Formats that write every path in full grow with the square of the recursion depth. For paths
   longer than this, write the outermost calls, KYMO__DEEPER, and the innermost call, and merge
   paths that then look the same. */
enum { KYMO__PATH_MOST = 1024 };
#define KYMO__DEEPER UINT32_MAX
#define KYMO__DEEPER_NAME "(deeper)"

struct kymo_gathered {
    struct kymo_capture *capture;
    const struct kymo_export_options *options;
    struct kymo_outfile *out;
    struct kymo_survey *survey;
    struct kymo_samples *samples; /* not NULL: the survey is of these samples, not of calls */
    struct kymo_heap
        *heap; /* not NULL: the samples are blocks of memory, and their time is bytes */
    struct kymo_info info;
    const char *process; /* the program's or process's name, or "" */
    char *program;       /* private to gather.c */
    char **threads;      /* by index: unique names; NULL for threads without calls */
    unsigned steps;
};

/* Survey what OPTIONS select of CAPTURE: calls, samples or memory, see enum kymo_of. BY_THREAD is passed to
   the survey. Returns 0 or a negative code, -ENODATA if samples or memory are requested and there are none;
   call fini in either case. */
int kymo__gather(struct kymo_gathered *gathered, struct kymo_capture *capture,
                 const struct kymo_export_options *options, struct kymo_outfile *out,
                 bool by_thread);
void kymo__gather_fini(struct kymo_gathered *gathered);

/* For formats that can only hold calls: returns 0, or -ENOTSUP if samples or memory were selected. */
int kymo__gather_calls_only(const struct kymo_gathered *gathered);

/* Call this for everything written. Returns 0, or a negative code to stop with. */
int kymo__gather_step(struct kymo_gathered *gathered);

/* A path in a tree by thread: NODE's call and its callers. */
struct kymo_path {
    const struct kymo_node *node;
    uint32_t thread;
    const uint32_t *callables; /* outermost first, NODE's own last */
    size_t count;
};

/* Call EACH for every path, callers before callees. Returns 0 or a negative code, perhaps
   EACH's. */
int kymo__gather_paths(struct kymo_gathered *gathered,
                       int (*each)(void *arg, const struct kymo_path *path), void *arg);

/* Return a name for thread INFO that is not in TAKEN and add it there. The caller frees it; NULL if
   memory is short. */
struct kymo_strtab;
char *kymo__gather_title(const struct kymo_thread_info *info, struct kymo_strtab *taken);

/* The value of metadata KEY, or "". */
const char *kymo__gather_metadata(const struct kymo_capture *capture, const char *key);

#endif
