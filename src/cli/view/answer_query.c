/* answer_query.c — rows of SQL, as `kymograph query --json` prints them: values capture and sql. And
   a piece of a capture, as `kymograph cut` writes it: values capture, from and to. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers.h"
#include "child.h"
#include "memory.h"

enum { ROWS_BYTES = 8 << 20, CUT_BYTES = 1 << 30, SECONDS = 120 };

static void explain_child(struct view_answer *answer, int rc, const struct view_child *child)
{
    if (child->too_much)
        kymo__answer_problem(answer, 400, "too many rows for this page; add a LIMIT");
    else if (child->too_long)
        kymo__answer_problem(answer, 503, "this took more than two minutes and was ended");
    else if (rc < 0)
        kymo__answer_problem(answer, 503, kymo_strerror(rc));
    else
        kymo__answer_problem(answer, 400, child->reason[0] ? child->reason : "it failed");
}

void kymo__answer_query(const struct view_request *request, struct view_answer *answer)
{
    const char *sql = request->value(request->arg, "sql");
    int64_t capture;
    if (!sql ||
        !kymo__request_number(request, "capture", 0, request->view->count - 1, 0, &capture)) {
        kymo__answer_problem(answer, 400, "query needs sql");
        return;
    }
    /* "--" before the words: SQL may begin with a comment. */
    const char *argv[] = {"query", "--json", "--", request->view->full_path[capture], sql, NULL};
    struct view_child child;
    int rc = kymo__child_run(request->view, argv, ROWS_BYTES, SECONDS, &child);
    if (rc == 0 && child.status == 0) {
        answer->bytes = child.output;
        child.output = (struct kymo_buffer){0};
        answer->type = "application/jsonl";
        answer->status = 200;
    } else {
        explain_child(answer, rc, &child);
    }
    kymo__child_fini(&child);
}

/* Read the file at PATH into ANSWER. */
static int read_file(const char *path, struct view_answer *answer)
{
    struct stat file = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = fstat(fd, &file) != 0 ? -errno : file.st_size > CUT_BYTES ? -EFBIG : 0;
    size_t size = (size_t)file.st_size;
    rc = rc < 0 ? rc : kymo__buffer_reserve(&answer->bytes, size);
    while (rc == 0 && answer->bytes.len < size) {
        ssize_t count = read(fd, answer->bytes.bytes + answer->bytes.len, size - answer->bytes.len);
        if (count <= 0)
            rc = -EIO;
        else
            answer->bytes.len += (size_t)count;
    }
    close(fd);
    return rc;
}

static void cut_into(const struct view_request *request, struct view_answer *answer,
                     const char *folder, int64_t capture, int64_t from, int64_t to)
{
    struct view_child child;
    char *path = kymo__cli_format("%s/cut.kymo", folder);
    char *begin = kymo__cli_format("%lldns", (long long)from);
    char *end = kymo__cli_format("%lldns", (long long)to);
    const char *argv[] = {
        "cut", "--from", begin, "--to", end, "-o", path, request->view->full_path[capture], NULL};
    int rc = kymo__child_run(request->view, argv, ROWS_BYTES, SECONDS, &child);
    if (rc < 0 || child.status != 0)
        explain_child(answer, rc, &child);
    else if ((rc = read_file(path, answer)) < 0)
        kymo__answer_problem(answer, 500, kymo_strerror(rc));
    else {
        answer->status = 200;
        answer->type = "application/octet-stream";
        answer->file_name = "cut.kymo";
    }
    kymo__child_fini(&child);
    unlink(path);
    kymo__cli_free(path);
    kymo__cli_free(begin);
    kymo__cli_free(end);
}

void kymo__answer_cut(const struct view_request *request, struct view_answer *answer)
{
    int64_t capture, from, to;
    if (!kymo__request_number(request, "capture", 0, request->view->count - 1, 0, &capture) ||
        !kymo__request_number(request, "from", 0, (int64_t)1 << 61, -1, &from) ||
        !kymo__request_number(request, "to", from + 1, (int64_t)1 << 61, -1, &to)) {
        kymo__answer_problem(answer, 400, "cut needs from and to, the later one last");
        return;
    }
    const char *base = getenv("TMPDIR");
    char *folder = kymo__cli_format("%s/kymograph-view-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(folder)) {
        cut_into(request, answer, folder, capture, from, to);
        rmdir(folder);
    } else {
        kymo__answer_problem(answer, 500, "no temporary folder could be made");
    }
    kymo__cli_free(folder);
}
