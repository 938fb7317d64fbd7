/* Addresses stand for what addr2line and llvm-symbolizer say, when the debug information was moved
   or packed after the program was linked. */
#include "subjects.h"
#include "verdict.h"

static void stripped_with_link(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s", build("gcc", "-O2 -g -Wl,--build-id=none"));
    if (shell("cd '%s' && cp program whole && objcopy --only-keep-debug program program.debug && "
              "strip -s program && objcopy --add-gnu-debuglink=program.debug program",
              check_dir) != 0)
        CHECK_SKIP("objcopy or strip is not installed");
    judge_as(path, check_path("whole"), "addr2line");
}

static void stripped_with_build_id(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s", build("gcc", "-O2 -g -Wl,--build-id=0xabcdef0123456789"));
    if (shell("cd '%s' && cp program whole && mkdir -p dirs/.build-id/ab && "
              "objcopy --only-keep-debug --compress-debug-sections program "
              "dirs/.build-id/ab/cdef0123456789.debug && strip -s program",
              check_dir) != 0)
        CHECK_SKIP("objcopy or strip is not installed");
    setenv("KYMO_DEBUG_DIRS", check_path("dirs"), 1);
    judge_as(path, check_path("whole"), "addr2line");
    unsetenv("KYMO_DEBUG_DIRS");
}

/* llvm-symbolizer may not know zstd, so both judge what it was before. */
static void compressed_with_zstd(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s", build("gcc", "-O2 -g"));
    if (shell("cd '%s' && cp program whole && "
              "objcopy --compress-debug-sections=zstd whole program 2>/dev/null",
              check_dir) != 0)
        CHECK_SKIP("this objcopy does not know zstd");
    judge_as(path, check_path("whole"), "addr2line");
}

/* Two programs share what they have in common in a third file, which the judges do not read: they
   judge what it was before. */
static void shared_by_dwz(void)
{
    write_sources();
    if (!have("dwz"))
        CHECK_SKIP("dwz is not installed");
    if (shell("cd '%s' && g++ -O2 -g -o program program.cc && g++ -O1 -g -o second program.cc && "
              "cp program whole && dwz -m common.debug -M \"$PWD/common.debug\" program second",
              check_dir) != 0)
        CHECK_SKIP("g++ and dwz cannot make such programs");
    judge_as(check_path("program"), check_path("whole"), "addr2line");
}

static const struct check_case cases[] = {
    CHECK_CASE(compressed_with_zstd),
    CHECK_CASE(stripped_with_link),
    CHECK_CASE(stripped_with_build_id),
    CHECK_CASE(shared_by_dwz),
};

CHECK_MAIN(cases)
