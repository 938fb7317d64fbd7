/* Addresses stand for what addr2line and llvm-symbolizer say, on this program itself and
   on libraries that others built. */
#include "verdict.h"

static void this_program(void)
{
    char path[512];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    CHECK(len > 0);
    path[len] = '\0';
    judge(path);
}

/* The C library, mostly without debug information; Debian has some for it in a package. */
static void c_library(void)
{
    if (shell("cc -print-file-name=libc.so.6 >'%s' 2>/dev/null", check_path("where")) != 0)
        CHECK_SKIP("there is no cc to say where the C library is");
    char path[512] = "";
    FILE *f = fopen(check_path("where"), "r");
    if (f && fgets(path, sizeof(path), f))
        path[strcspn(path, "\n")] = '\0';
    if (f)
        fclose(f);
    if (path[0] != '/')
        CHECK_SKIP("the C library is not where cc looks");
    judge(path);
}

static void python_library(void)
{
    char path[512] = "";
    FILE *f =
        popen("for p in \"$HOME\"/.pyenv/versions/*/lib/libpython3.1*.so.1.0; do echo \"$p\"; "
              "done | tail -1",
              "r");
    if (f && fgets(path, sizeof(path), f))
        path[strcspn(path, "\n")] = '\0';
    if (f)
        pclose(f);
    if (!*path || access(path, R_OK) != 0)
        CHECK_SKIP("there is no libpython of pyenv");
    judge(path);
}

static const struct check_case cases[] = {
    CHECK_CASE(this_program),
    CHECK_CASE(c_library),
    CHECK_CASE(python_library),
};

CHECK_MAIN(cases)
