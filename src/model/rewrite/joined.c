/* joined.c — kymo_open_family: a family, or some of its processes, as one capture.

   They are merged into a temporary file that is removed as soon as it is open. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "family.h"

/* Set the shift of all parts. Processes of one run are on one machine, with few exceptions. */
static void align_parts(struct kymo_part *parts, size_t count)
{
    struct kymo_alignment alignment;
    if (kymo__align(parts, count, KYMO__ALIGN_BEST, &alignment) < 0)
        kymo__align(parts, count, KYMO__ALIGN_WALL, &alignment);
}

/* Write PARTS to a temporary file and open it. */
static int write_and_open(struct kymo_part *parts, size_t count, struct kymo_capture **capture)
{
    const char *where = getenv("TMPDIR");
    char folder[4000], path[4096];
    int len =
        snprintf(folder, sizeof(folder), "%s/kymograph-XXXXXX", where && *where ? where : "/tmp");
    if (len < 0 || len >= (int)sizeof(folder))
        return -ENAMETOOLONG;
    if (!mkdtemp(folder))
        return -errno;
    snprintf(path, sizeof(path), "%s/family.kymo", folder);
    char number[24];
    snprintf(number, sizeof(number), "%zu", count);
    const struct kymo_rewrite_note notes[] = {{"processes", number}, {0}};
    const struct kymo_rewrite_options options = {.notes = count > 1 ? notes : NULL};
    align_parts(parts, count);
    int rc = kymo__rewrite(parts, count, path, &options);
    if (rc == 0)
        rc = kymo_open(path, capture);
    unlink(path);
    rmdir(folder);
    return rc;
}

/* The result has the ending of the first of COUNT parts, and their sizes together. */
static void describe_joined(struct kymo_capture *joined, const struct kymo_part *parts,
                            size_t count)
{
    joined->joined = true;
    for (size_t i = 0; i < count; i++) {
        struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
        kymo_capture_info(parts[i].capture, &info);
        if (i == 0) {
            joined->ending = info.ending;
            joined->error = info.error;
        }
        joined->file_bytes += info.file_bytes;
        joined->live_bytes += info.live_bytes;
        joined->recovered += info.recovered_records;
        joined->unknown += info.unknown_parts;
        if (info.version_minor > joined->version_minor)
            joined->version_minor = info.version_minor;
    }
}

/* Choose the threads of CAPTURE, which was merged, that belong to the process WANTED. */
static int choose_threads(const struct kymo_capture *capture, const char *wanted, bool *chosen)
{
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(capture, &info);
    char *end;
    bool pid = strncmp(wanted, "pid:", 4) == 0;
    long long number = strtoll(pid ? wanted + 4 : wanted, &end, 10);
    bool numeric = *end == '\0' && end != wanted, any = false;
    for (uint32_t i = 0; i < info.threads; i++) {
        struct kymo_thread_info thread = {.size = sizeof(thread)};
        struct kymo_process_info process = {.size = sizeof(process), .name = ""};
        kymo_capture_thread(capture, i, &thread);
        kymo_capture_process(capture, thread.process, &process);
        chosen[i] = numeric ? (pid ? process.pid == number
                                   : thread.process == number || process.pid == number)
                            : strcmp(process.name, wanted) == 0;
        any |= chosen[i];
    }
    return any ? 0 : -ESRCH;
}

/* A capture that may itself have several processes. */
static int open_alone(struct kymo_family *family, const char *wanted, struct kymo_capture **capture)
{
    struct kymo_capture *only = family->captures[0];
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(only, &info);
    if (!wanted || (info.processes < 2 && kymo__family_matches(family, 0, wanted))) {
        *capture = only;
        family->captures[0] = NULL;
        return 0;
    }
    if (info.processes < 2)
        return -ESRCH;
    bool *chosen = kymo__alloc_zeroed(info.threads + 1);
    if (!chosen)
        return -ENOMEM;
    struct kymo_part part = {.capture = only, .from = INT64_MIN, .to = INT64_MAX, .chosen = chosen};
    int rc = choose_threads(only, wanted, chosen);
    if (rc == 0)
        rc = write_and_open(&part, 1, capture);
    if (rc == 0)
        describe_joined(*capture, &part, 1);
    kymo__free(chosen);
    return rc;
}

static int join_family(struct kymo_family *family, const char *wanted,
                       struct kymo_capture **capture)
{
    if (family->count == 1)
        return open_alone(family, wanted, capture);
    struct kymo_part *parts = kymo__alloc(family->count * sizeof(*parts));
    if (!parts)
        return -ENOMEM;
    size_t count = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < family->count; i++)
        if (!wanted || kymo__family_matches(family, i, wanted)) {
            parts[count++] = (struct kymo_part){
                .capture = family->captures[i], .from = INT64_MIN, .to = INT64_MAX};
            last = i;
        }
    int rc = count ? 0 : -ESRCH;
    if (count == 1) {
        *capture = family->captures[last];
        family->captures[last] = NULL;
    } else if (count > 1) {
        rc = write_and_open(parts, count, capture);
        if (rc == 0)
            describe_joined(*capture, parts, count);
    }
    kymo__free(parts);
    return rc;
}

int kymo_open_family(const char *path, const char *process, struct kymo_capture **capture)
{
    struct kymo_family family;
    int rc = kymo__family_open(path, &family);
    if (rc == 0)
        rc = join_family(&family, process, capture);
    kymo__family_close(&family);
    return rc;
}
