/* ranks.c — see ranks.h. */
#include "ranks.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomic.h"
#include "calls.h"
#include "capture_file.h"
#include "exits.h"
#include "family.h"
#include "memory.h"
#include "message.h"
#include "thread.h"

enum { CORES_MOST = 16 };

/* ---- which files ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The captures in FOLDER, sorted; NULL after a message if it cannot be read or has none. */
static char **list_captures(const char *folder, size_t *count)
{
    DIR *open = opendir(folder);
    char **paths = NULL;
    *count = 0;
    if (!open) {
        kymo__cli_complain("%s: %s", folder, strerror(errno));
        return NULL;
    }
    for (struct dirent *entry; (entry = readdir(open));) {
        size_t len = strlen(entry->d_name);
        if (len <= 5 || entry->d_name[0] == '.' || strcmp(entry->d_name + len - 5, ".kymo") != 0)
            continue;
        paths = kymo__cli_grow(paths, *count + 1, sizeof *paths);
        paths[(*count)++] = kymo__cli_format("%s/%s", folder, entry->d_name);
    }
    closedir(open);
    if (*count == 0) {
        kymo__cli_complain("%s: no captures (.kymo) in this directory; 'kymograph run --dir %s' "
                           "records into it",
                           folder, folder);
        return NULL;
    }
    qsort(paths, *count, sizeof *paths, by_text);
    return paths;
}

/* ---- one process ---- */

static bool is_step(const char *name, const char *step)
{
    static const char usual[] = "ProfilerStep#";
    return step ? strcmp(name, step) == 0 : strncmp(name, usual, sizeof usual - 1) == 0;
}

static int measure_rank(struct kymo_capture *capture, const char *path, const char *step,
                        struct cli_rank *rank)
{
    struct kymo_figures *figures;
    int error = kymo_figures_new(capture, NULL, &figures);
    if (error < 0)
        return error;
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    struct kymo_process_info process = {.size = sizeof process, .name = "", .machine = ""};
    kymo_capture_info(capture, &info);
    kymo_capture_process(capture, 0, &process);
    const char *number = kymo__family_metadata(capture, "rank");
    *rank = (struct cli_rank){
        .path = kymo__cli_format("%s", path),
        .name = kymo__cli_format("%s", process.name),
        .host = kymo__cli_format("%s", process.machine),
        .rank = number ? strtoll(number, NULL, 10) : -1,
        .pid = info.pid,
        .start = info.start,
        .lasted = info.end - info.start,
    };
    error = kymo__evidence_read(&rank->evidence, capture);
    struct kymo_function_figures f = {.size = sizeof f};
    for (uint64_t i = 0; kymo_figures_function(figures, i, &f) == 0; i++) {
        rank->calls += f.calls;
        if (!is_step(f.name, step))
            continue;
        rank->steps += f.calls;
        rank->step_total += f.total;
        rank->step_most = f.most > rank->step_most ? f.most : rank->step_most;
    }
    kymo_figures_free(figures);
    return error;
}

/* ---- all of them, on all cores ---- */

struct gathering {
    struct cli_ranks *ranks;
    char **paths;
    size_t count;
    size_t next;          /* file to be read next */
    pthread_mutex_t lock; /* guards RANKS */
};

static void add_rank(struct gathering *g, const struct cli_rank *rank)
{
    struct cli_ranks *ranks = g->ranks;
    pthread_mutex_lock(&g->lock);
    if (rank) {
        if ((ranks->count & (ranks->count - 1)) == 0)
            ranks->all =
                kymo__cli_grow(ranks->all, ranks->count ? ranks->count * 2 : 1, sizeof *ranks->all);
        ranks->all[ranks->count++] = *rank;
    } else {
        ranks->unreadable++;
    }
    pthread_mutex_unlock(&g->lock);
}

/* Let RANK know what OTHER knows, if that is on the same host. */
static int add_pings(struct cli_rank *rank, const struct kymo_capture *other)
{
    struct kymo_hostclock clock;
    kymo__hostclock_read(other, &clock);
    return kymo__hostclock_same_boot(&rank->evidence.clock, &clock)
               ? kymo__pings_read(&rank->evidence.pings, other)
               : 0;
}

/* A launcher has no rank, but its children have: those are compared. Children of a rank are part of
   it. */
static void gather_file(struct gathering *g, const char *path)
{
    struct kymo_family family;
    if (kymo__family_open(path, &family) < 0) {
        add_rank(g, NULL);
        kymo__family_close(&family);
        return;
    }
    bool launcher = false;
    bool ranked = kymo__family_metadata(family.captures[0], "rank") != NULL;
    for (uint32_t i = 1; i < family.count && !ranked; i++)
        launcher |= kymo__family_metadata(family.captures[i], "rank") != NULL;
    for (uint32_t i = 0; i < family.count; i++) {
        const char *began = kymo__family_metadata(family.captures[i], "process.began");
        bool chosen = launcher ? kymo__family_metadata(family.captures[i], "rank") &&
                                     (!began || strcmp(began, "start") == 0)
                               : i == 0;
        if (!chosen)
            continue;
        struct cli_rank rank;
        int error = measure_rank(family.captures[i], family.paths[i], g->ranks->step, &rank);
        if (error == 0 && launcher) /* which compares the clock of the host with others */
            error = add_pings(&rank, family.captures[0]);
        add_rank(g, error < 0 ? NULL : &rank);
    }
    kymo__family_close(&family);
}

static void *gather_some(void *arg)
{
    struct gathering *g = arg;
    for (size_t i; (i = kymo__add_relaxed(&g->next, (size_t)1)) < g->count;)
        gather_file(g, g->paths[i]);
    return NULL;
}

static void gather_all(struct gathering *g)
{
    pthread_t threads[CORES_MOST];
    size_t started = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    while ((long)started + 1 < cores && started < CORES_MOST && started + 1 < g->count &&
           kymo__thread_start(&threads[started], "kymograph", 0, gather_some, g) == 0)
        started++;
    gather_some(g);
    while (started-- > 0)
        pthread_join(threads[started], NULL);
}

/* ---- comparing ---- */

static int by_rank(const void *a, const void *b)
{
    const struct cli_rank *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int by_number(const void *a, const void *b)
{
    kymo_ns x = *(const kymo_ns *)a, y = *(const kymo_ns *)b;
    return x < y ? -1 : x > y;
}

/* Put all starts on the first rank's clock, and count from the earliest. 0 or -ENOMEM. */
static int relate_clocks(struct cli_ranks *ranks)
{
    struct kymo_hosts hosts = {0};
    int *host_of = kymo__cli_array(ranks->count, sizeof *host_of), rc = 0;
    for (size_t i = 0; i < ranks->count && rc == 0; i++) {
        host_of[i] = kymo__hosts_add(&hosts, &ranks->all[i].evidence);
        rc = host_of[i] < 0 ? host_of[i] : 0;
    }
    if (rc == 0)
        ranks->order = kymo__hosts_order(&hosts, host_of[0]);
    kymo_ns earliest = INT64_MAX;
    for (size_t i = 0; i < ranks->count && rc == 0; i++) {
        struct cli_rank *rank = &ranks->all[i];
        rank->relation =
            kymo__relation_from(kymo__hosts_relate(&hosts, host_of[0], host_of[i]), rank->start);
        rank->start = kymo__relation_time(&rank->relation, rank->start);
        earliest = rank->start < earliest ? rank->start : earliest;
    }
    for (size_t i = 0; i < ranks->count; i++)
        ranks->all[i].start = kymo__ns_between(earliest, ranks->all[i].start);
    kymo__cli_free(host_of);
    kymo__hosts_fini(&hosts);
    return rc;
}

/* A straggler is at least 5 % slower than the median, and three times as far from it as ranks
   usually are. Figures are durations, each measured by one clock: the error between clocks of
   different hosts is no part of them. */
static void find_stragglers(struct cli_ranks *ranks)
{
    kymo_ns *figures = kymo__cli_array(ranks->count, sizeof *figures);
    ranks->by_step = true;
    for (size_t i = 0; i < ranks->count; i++)
        ranks->by_step &= ranks->all[i].steps > 0;
    for (size_t i = 0; i < ranks->count; i++) {
        struct cli_rank *rank = &ranks->all[i];
        rank->figure = ranks->by_step ? rank->step_total / (kymo_ns)rank->steps : rank->lasted;
        figures[i] = rank->figure;
    }
    qsort(figures, ranks->count, sizeof *figures, by_number);
    ranks->median = figures[(ranks->count - 1) / 2];
    kymo_ns nearest = INT64_MAX;
    for (size_t i = 0; i < ranks->count; i++) {
        kymo_ns far = llabs(ranks->all[i].figure - ranks->median);
        figures[i] = far;
        if (far < nearest) {
            nearest = far;
            ranks->typical = i;
        }
        if (ranks->all[i].figure > ranks->all[ranks->slowest].figure)
            ranks->slowest = i;
    }
    qsort(figures, ranks->count, sizeof *figures, by_number);
    kymo_ns usual = figures[(ranks->count - 1) / 2];
    for (size_t i = 0; i < ranks->count; i++) {
        kymo_ns more = ranks->all[i].figure - ranks->median;
        ranks->all[i].straggles = more > ranks->median / 20 && more > 3 * usual;
    }
    kymo__cli_free(figures);
}

/* ---- functions that differ ---- */

static int by_name(const void *a, const void *b)
{
    const struct cli_rank_change *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->file, y->file);
    return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int by_change(const void *a, const void *b)
{
    const struct cli_rank_change *x = a, *y = b;
    kymo_ns left = llabs(x->slowest - x->typical), right = llabs(y->slowest - y->typical);
    return left > right ? -1 : left < right ? 1 : by_name(a, b);
}

/* Add the functions of CAPTURE to the *COUNT in *CHANGES. */
static int add_functions(struct kymo_capture *capture, bool slowest,
                         struct cli_rank_change **changes, size_t *count)
{
    struct kymo_figures *figures;
    int error = kymo_figures_new(capture, NULL, &figures);
    if (error < 0)
        return error;
    size_t known = *count, more = 0;
    struct kymo_function_figures f = {.size = sizeof f};
    while (kymo_figures_function(figures, more, &f) == 0)
        more++;
    *changes = kymo__cli_grow(*changes, known + more + 1, sizeof **changes);
    for (uint64_t i = 0; i < more && kymo_figures_function(figures, i, &f) == 0; i++) {
        struct cli_rank_change new = {.name = f.name, .file = f.file, .line = f.line};
        /* The names are lent until the capture is closed. */
        *(slowest ? &new.slowest : &new.typical) = f.self;
        *(slowest ? &new.slowest_calls : &new.typical_calls) = f.calls;
        (*changes)[(*count)++] = new;
    }
    kymo_figures_free(figures);
    return 0;
}

/* Put the two entries of each function together, and sort by how much they differ. */
static size_t pair_functions(struct cli_rank_change *changes, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return 0;
    qsort(changes, count, sizeof *changes, by_name);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && by_name(&changes[kept - 1], &changes[i]) == 0) {
            changes[kept - 1].typical += changes[i].typical;
            changes[kept - 1].slowest += changes[i].slowest;
            changes[kept - 1].typical_calls += changes[i].typical_calls;
            changes[kept - 1].slowest_calls += changes[i].slowest_calls;
        } else {
            changes[kept++] = changes[i];
        }
    }
    qsort(changes, kept, sizeof *changes, by_change);
    return kept;
}

static int show_ranks(const struct cli_ranks *ranks, uint64_t limit, bool as_json)
{
    struct cli_rank_change *changes = NULL;
    struct kymo_capture *captures[2] = {NULL, NULL};
    const size_t chosen[2] = {ranks->typical, ranks->slowest};
    size_t count = 0;
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK && ranks->typical != ranks->slowest; i++) {
        const char *path = ranks->all[chosen[i]].path;
        int error = kymo_open(path, &captures[i]);
        if (error == 0)
            error = add_functions(captures[i], i == 1, &changes, &count);
        if (error < 0)
            code = kymo__cli_capture_broken(path, error);
    }
    count = pair_functions(changes, count);
    if (code == CLI_OK && as_json)
        kymo__cli_ranks_json(ranks, changes, count);
    else if (code == CLI_OK)
        kymo__cli_ranks_text(ranks, changes, count, limit);
    kymo_close(captures[0]);
    kymo_close(captures[1]);
    kymo__cli_free(changes);
    return code;
}

int kymo__cli_report_ranks(const char *folder, const char *step, uint64_t limit, bool as_json)
{
    struct cli_ranks ranks = {.folder = folder, .step = step};
    struct gathering g = {.ranks = &ranks, .lock = PTHREAD_MUTEX_INITIALIZER};
    g.paths = list_captures(folder, &g.count);
    if (!g.paths)
        return CLI_BAD;
    gather_all(&g);
    int code = CLI_OK;
    if (ranks.count == 0) {
        code = kymo__cli_capture_broken(g.paths[0], KYMO_EDAMAGED);
    } else {
        qsort(ranks.all, ranks.count, sizeof *ranks.all, by_rank);
        int error = relate_clocks(&ranks);
        find_stragglers(&ranks);
        code = error < 0 ? kymo__cli_capture_broken(folder, error)
                         : show_ranks(&ranks, limit, as_json);
    }
    for (size_t i = 0; i < g.count; i++)
        kymo__cli_free(g.paths[i]);
    kymo__cli_free(g.paths);
    for (size_t i = 0; i < ranks.count; i++) {
        kymo__cli_free(ranks.all[i].path);
        kymo__cli_free(ranks.all[i].name);
        kymo__cli_free(ranks.all[i].host);
        kymo__evidence_fini(&ranks.all[i].evidence);
    }
    kymo__cli_free(ranks.all);
    return code;
}
