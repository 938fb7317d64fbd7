/* Debug information that is not in the file itself is found, and none that is of another file. */
#include <dlfcn.h>

#include "symbolized.h"

static const uint8_t an_id[] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0};
static const uint8_t another_id[] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf1};

static void a_file_that_was_replaced_is_not_believed(void)
{
    struct kymo_place place =
        build("replaced.so", "the_new_one", "-g -Wl,--build-id=0x123456789abcdef0");
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);

    place.build_id = an_id;
    place.build_id_bytes = sizeof(an_id);
    CHECK_STR(symbol_of(symbolizer, place).name, "the_new_one");
    place.build_id = another_id;
    CHECK_STR(symbol_of(symbolizer, place).name, "");
    place.build_id_bytes = 4;
    CHECK_STR(symbol_of(symbolizer, place).name, "");
    kymo_symbolizer_free(symbolizer);
}

static void a_file_without_build_id_is_not_the_one_with(void)
{
    struct kymo_place place = build("unmarked.so", "unmarked", "-g -Wl,--build-id=none");
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);

    place.build_id = an_id;
    place.build_id_bytes = sizeof(an_id);

    CHECK_STR(symbol_of(symbolizer, place).name, "");
    kymo_symbolizer_free(symbolizer);
}

/* Debug information is found by build id when the file itself is gone, or is another one now. */
static void a_debug_file_is_found_by_build_id(void)
{
    struct kymo_place place =
        build("by_id.so", "found_by_id", "-g -Wl,--build-id=0x123456789abcdef0");
    if (shell("cd '%s' && mkdir -p debug/.build-id/12 && objcopy --only-keep-debug by_id.so "
              "debug/.build-id/12/3456789abcdef0.debug",
              check_dir) != 0)
        CHECK_SKIP("objcopy is not installed");
    char dirs[600];
    snprintf(dirs, sizeof(dirs), "/nowhere::%s", check_path("debug"));
    setenv("KYMO_DEBUG_DIRS", dirs, 1);
    place.build_id = an_id;
    place.build_id_bytes = sizeof(an_id);

    CHECK_EQ(unlink(place.path), 0);
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol symbol = symbol_of(symbolizer, place);
    unsetenv("KYMO_DEBUG_DIRS");

    CHECK_STR(symbol.name, "found_by_id");
    CHECK(symbol.line >= 1 && symbol.line <= 4);
    kymo_symbolizer_free(symbolizer);
}

static const char *name_by_link(struct kymo_symbolizer *symbolizer, struct kymo_place place)
{
    return symbol_of(symbolizer, place).name;
}

static void a_debug_file_is_found_by_link_if_its_checksum_fits(void)
{
    struct kymo_place place =
        build("linked.so", "found_by_link", "-g -fvisibility=hidden -Wl,--build-id=none");
    if (shell(
            "cd '%s' && objcopy --only-keep-debug linked.so linked.debug && strip -s linked.so && "
            "objcopy --add-gnu-debuglink=linked.debug linked.so && mkdir .debug",
            check_dir) != 0)
        CHECK_SKIP("objcopy or strip is not installed");

    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    CHECK_STR(name_by_link(symbolizer, place), "found_by_link");
    kymo_symbolizer_free(symbolizer);

    /* In the directory for it. */
    CHECK_EQ(shell("cd '%s' && mv linked.debug .debug", check_dir), 0);
    symbolizer = new_symbolizer(KYMO_SYMBOL_NAMES);
    CHECK_STR(name_by_link(symbolizer, place), "found_by_link");
    kymo_symbolizer_free(symbolizer);

    /* Changed since. */
    CHECK_EQ(shell("cd '%s' && echo >>.debug/linked.debug", check_dir), 0);
    symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    CHECK_STR(name_by_link(symbolizer, place), "");
    kymo_symbolizer_free(symbolizer);
}

/* A server that is a directory: libdebuginfod takes it for one. */
static void a_debug_file_comes_from_the_network_only_when_asked(void)
{
    struct kymo_place place = build("remote.so", "found_far_away",
                                    "-g -fvisibility=hidden -Wl,--build-id=0x123456789abcdef0");
    if (!dlopen("libdebuginfod.so.1", RTLD_LAZY))
        CHECK_SKIP("libdebuginfod is not installed");
    if (shell("cd '%s' && mkdir -p server/buildid/123456789abcdef0 && objcopy --only-keep-debug "
              "remote.so server/buildid/123456789abcdef0/debuginfo && strip -s remote.so",
              check_dir) != 0)
        CHECK_SKIP("objcopy or strip is not installed");
    char url[600];
    snprintf(url, sizeof(url), "file://%s", check_path("server"));
    setenv("DEBUGINFOD_CACHE_PATH", check_path("cache"), 1);

    unsetenv("DEBUGINFOD_URLS");
    struct kymo_symbolizer *without = new_symbolizer(KYMO_SYMBOL_FULL);
    CHECK_STR(symbol_of(without, place).name, "");
    kymo_symbolizer_free(without);

    setenv("DEBUGINFOD_URLS", url, 1);
    struct kymo_symbolizer *with = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol symbol = symbol_of(with, place);
    unsetenv("DEBUGINFOD_URLS");
    CHECK_STR(symbol.name, "found_far_away");
    CHECK(symbol.line >= 1 && symbol.line <= 4);
    kymo_symbolizer_free(with);
}

/* Without the parts that were split off, names and lines are still there. */
static void split_debug_information_gives_names_and_lines(void)
{
    struct kymo_place place = build("split.so", "split_apart", "-g -gsplit-dwarf");
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);

    struct kymo_symbol symbol = symbol_of(symbolizer, place);

    CHECK_STR(symbol.name, "split_apart");
    CHECK(symbol.line >= 1 && symbol.line <= 4);
    CHECK(strstr(symbol.file, "source.c") != NULL);
    kymo_symbolizer_free(symbolizer);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_file_that_was_replaced_is_not_believed),
    CHECK_CASE(a_file_without_build_id_is_not_the_one_with),
    CHECK_CASE(a_debug_file_is_found_by_build_id),
    CHECK_CASE(a_debug_file_is_found_by_link_if_its_checksum_fits),
    CHECK_CASE(a_debug_file_comes_from_the_network_only_when_asked),
    CHECK_CASE(split_debug_information_gives_names_and_lines),
};

CHECK_MAIN(cases)
