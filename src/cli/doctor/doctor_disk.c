/* doctor_disk.c — checks that a capture can be written here and read back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <kymo/kymo.h>

#include "doctor.h"
#include "memory.h"
#include "units.h"

static const uint64_t gib = (uint64_t)1 << 30;
static const char name[] = "kymograph doctor";

void kymo__cli_doctor_disk(struct cli_doctor *doctor)
{
    struct statvfs disk;
    if (statvfs(doctor->directory, &disk) != 0) {
        kymo__cli_doctor_report(doctor, CLI_WARN, "disk",
                                "name another directory: kymograph doctor DIR", "%s: %s",
                                doctor->directory, strerror(errno));
        return;
    }
    uint64_t space = (uint64_t)disk.f_bavail * disk.f_frsize;
    kymo__cli_doctor_report(doctor, space >= gib ? CLI_FINE : CLI_WARN, "disk",
                            space >= gib ? NULL
                                         : "a recorded call takes about 5 bytes; record to "
                                           "another disk, or free some space",
                            "%s free in %s", kymo__cli_bytes(space).text, doctor->directory);
}

/* Record one span and one counter into PATH. */
static int record_some(const char *path)
{
    struct kymo_options options = {.size = sizeof options, .path = path};
    int error = kymo_start(&options);
    if (error < 0)
        return error;
    struct kymo_span span = kymo_span_begin(name);
    kymo_counter(name, 42);
    kymo_span_end(span);
    return kymo_stop();
}

/* Read PATH back. Returns NULL, or what differs from what was recorded. */
static const char *read_back(const char *path, uint64_t *bytes)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    int error = kymo_open(path, &capture);
    if (error < 0)
        return kymo_strerror(error);
    struct kymo_info info = {.size = sizeof info};
    kymo_capture_info(capture, &info);
    *bytes = info.file_bytes;
    const char *wrong = NULL;
    if (info.ending != KYMO_ENDED_CLEAN)
        wrong = "the capture is incomplete";
    else if ((error = kymo_cursor_new(capture, NULL, &cursor)) < 0)
        wrong = kymo_strerror(error);
    if (!wrong) {
        static const int expected[] = {KYMO_ENTER, KYMO_COUNTER, KYMO_LEAVE};
        struct kymo_event event = {.size = sizeof event};
        for (int i = 0; i < 3 && !wrong; i++)
            if (kymo_cursor_next(cursor, &event) != 1 || event.kind != expected[i] ||
                (event.kind != KYMO_LEAVE && strcmp(event.name, name) != 0))
                wrong = "the records read differ from those written";
        kymo_cursor_free(cursor);
    }
    kymo_close(capture);
    return wrong;
}

/* How to fix a recording that failed with ERROR. */
static const char *way_out_of(int error)
{
    switch (error) {
    case -EACCES:
    case -EPERM:
    case -EROFS:
        return "choose a directory you can write to: kymograph doctor DIR";
    case -ENOSPC:
    case -EDQUOT:
        return "free some space, or record to another disk: kymograph doctor DIR";
    case -EFBIG:
        return "raise the file size limit: ulimit -f";
    case -ENOMEM:
        return "raise the memory limit: ulimit -v";
    default:
        return "try another directory: kymograph doctor DIR";
    }
}

void kymo__cli_doctor_recording(struct cli_doctor *doctor)
{
    char *path = kymo__cli_format("%s/.kymo-doctor-%ld.kymo", doctor->directory, (long)getpid());
    char *live = kymo__cli_format("%s.live", path);
    uint64_t bytes = 0;
    int error = record_some(path);
    const char *wrong = error < 0 ? NULL : read_back(path, &bytes);
    if (error < 0)
        kymo__cli_doctor_report(doctor, CLI_FAIL, "recording", way_out_of(error),
                                "cannot record a capture in %s: %s", doctor->directory,
                                kymo_strerror(error));
    else if (wrong)
        kymo__cli_doctor_report(doctor, CLI_FAIL, "recording",
                                "kymograph or the disk is at fault: try kymograph doctor /tmp",
                                "a capture recorded in %s cannot be read back: %s",
                                doctor->directory, wrong);
    else
        kymo__cli_doctor_report(doctor, CLI_FINE, "recording", NULL,
                                "recorded a capture in %s, read it back and removed it (%s)",
                                doctor->directory, kymo__cli_bytes(bytes).text);
    unlink(path);
    unlink(live);
    kymo__cli_free(live);
    kymo__cli_free(path);
}
