/* What symbolizers promise whatever the files are: see include/kymo/symbol.h. That names and
   lines are right is judged by others in test_symbol_judge.c. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <kymo/symbol.h>
#include <stdarg.h>

#include "alloc.h"
#include "check.h"
#include "demangle.h"
#include "elffile.h"
#include "symtab.h"

/* ---- helpers ---- */

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command);
}

/* A path that lasts. */
static char *copy_path(const char *path)
{
    static char paths[16][512];
    static int next;
    CHECK(next < 16);
    snprintf(paths[next], sizeof(paths[0]), "%s", path);
    return paths[next++];
}

static void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    CHECK_EQ(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

/* This very program, which has functions we know. */
static const char *self(void)
{
    static char path[1024];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    CHECK(len > 0);
    path[len] = '\0';
    return path;
}

/* The place of FUNCTION of this program: its address less where the program begins. */
static struct kymo_place place_of(void *function)
{
    Dl_info info;
    CHECK(dladdr(function, &info) != 0);
    uint64_t base = (uint64_t)(uintptr_t)info.dli_fbase, address = (uint64_t)(uintptr_t)function;
    return (struct kymo_place){.path = self(), .offset = address - base};
}

__attribute__((noinline)) static int a_function_of_ours(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static struct kymo_place our_place(void)
{
    int (*function)(int) = a_function_of_ours;
    void *address;
    CHECK_EQ(function(1), 2);
    memcpy(&address, &function, sizeof(address));
    return place_of(address);
}

static struct kymo_symbolizer *new_symbolizer(int mode)
{
    struct kymo_symbolizer *symbolizer;
    CHECK_EQ(kymo_symbolizer_new(mode, &symbolizer), 0);
    return symbolizer;
}

/* The one symbol of PLACE, which lives until SYMBOLIZER goes. */
static struct kymo_symbol symbol_of(struct kymo_symbolizer *symbolizer, struct kymo_place place)
{
    const struct kymo_symbol *symbols;
    size_t first[2];
    CHECK_EQ(kymo_symbolize(symbolizer, &place, 1, &symbols, first), 0);
    CHECK_EQ(first[0], 0);
    CHECK(first[1] >= 1);
    return symbols[first[1] - 1];
}

/* A program of one function, and an address in it. KIND is for the compiler. */
static struct kymo_place build(const char *name, const char *function, const char *kind)
{
    char *path = copy_path(check_path(name));
    FILE *f = fopen(check_path("source.c"), "w");
    CHECK(f != NULL);
    fprintf(f, "int %s(int x)\n{\n    return x * 3;\n}\n", function);
    fclose(f);
    if (shell("cd '%s' && cc -O1 -shared -fPIC -nostdlib %s -o '%s' source.c 2>/dev/null",
              check_dir, kind, path) != 0)
        CHECK_SKIP("there is no cc that can build a library");
    struct kymo_elf elf;
    struct kymo_symtab tab;
    struct kymo_place place = {.path = path};
    CHECK_EQ(kymo__elf_open(&elf, path), 0);
    CHECK_EQ(kymo__symtab_init(&tab, &elf, NULL), 0);
    for (size_t i = 0; i < tab.count; i++)
        if (strcmp(tab.stretches[i].name, function) == 0)
            place.offset = tab.stretches[i].begin;
    CHECK(place.offset != 0);
    kymo__symtab_fini(&tab);
    kymo__elf_fini(&elf);
    return place;
}

/* ---- modes ---- */

static void a_function_has_its_name_file_and_line(void)
{
    struct kymo_elf elf;
    CHECK_EQ(kymo__elf_open(&elf, self()), 0);
    uint32_t info = kymo__elf_named(&elf, ".debug_info");
    kymo__elf_fini(&elf);
    if (!info)
        CHECK_SKIP("this program was built without debug information");
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);

    struct kymo_symbol symbol = symbol_of(symbolizer, our_place());

    CHECK_STR(symbol.name, "a_function_of_ours");
    CHECK(strstr(symbol.file, "test_symbol.c") != NULL);
    CHECK(symbol.line > 0);
    CHECK_EQ(symbol.inlined, 0);
    kymo_symbolizer_free(symbolizer);
}

static void names_alone_come_without_files(void)
{
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_NAMES);

    struct kymo_symbol symbol = symbol_of(symbolizer, our_place());

    CHECK_STR(symbol.name, "a_function_of_ours");
    CHECK_STR(symbol.file, "");
    CHECK_EQ(symbol.line, 0);
    kymo_symbolizer_free(symbolizer);
}

static void with_mode_none_nothing_is_read(void)
{
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_NONE);

    struct kymo_symbol symbol = symbol_of(symbolizer, our_place());

    CHECK_STR(symbol.name, "");
    CHECK_STR(symbol.file, "");
    kymo_symbolizer_free(symbolizer);
}

static void an_unknown_mode_is_refused(void)
{
    struct kymo_symbolizer *symbolizer = NULL;

    CHECK_EQ(kymo_symbolizer_new(3, &symbolizer), -EINVAL);
    CHECK_EQ(kymo_symbolizer_new(-1, &symbolizer), -EINVAL);
    CHECK(symbolizer == NULL);
}

/* ---- many places ---- */

static void places_keep_their_order_and_equal_texts_are_one(void)
{
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_place ours = our_place(), nowhere = {.path = "/nowhere", .offset = 1};
    struct kymo_place places[] = {nowhere, ours, nowhere, ours, ours};
    const struct kymo_symbol *symbols;
    size_t first[6];

    CHECK_EQ(kymo_symbolize(symbolizer, places, 5, &symbols, first), 0);

    CHECK_EQ(first[0], 0);
    CHECK_STR(symbols[first[0]].name, "");
    CHECK_STR(symbols[first[2]].name, "");
    CHECK_STR(symbols[first[1]].name, "a_function_of_ours");
    CHECK(symbols[first[1]].name == symbols[first[3]].name);
    CHECK(symbols[first[1]].file == symbols[first[4]].file);
    CHECK(symbols[first[0]].name == symbols[first[2]].file);
    kymo_symbolizer_free(symbolizer);
}

static void no_places_are_no_error(void)
{
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    const struct kymo_symbol *symbols;
    size_t first[1] = {7};

    CHECK_EQ(kymo_symbolize(symbolizer, NULL, 0, &symbols, first), 0);

    CHECK_EQ(first[0], 0);
    kymo_symbolizer_free(symbolizer);
    kymo_symbolizer_free(NULL);
}

static void an_answer_is_remembered_when_the_file_is_gone(void)
{
    struct kymo_place place = build("gone.so", "here_today", "-g");
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol before = symbol_of(symbolizer, place);

    CHECK_EQ(unlink(place.path), 0);
    struct kymo_symbol after = symbol_of(symbolizer, place);

    CHECK_STR(before.name, "here_today");
    CHECK(after.name == before.name);
    CHECK_EQ(after.line, before.line);
    kymo_symbolizer_free(symbolizer);
}

/* ---- files that are no help ---- */

static void check_no_name(const char *path)
{
    for (int mode = KYMO_SYMBOL_FULL; mode <= KYMO_SYMBOL_NAMES; mode++) {
        struct kymo_symbolizer *symbolizer = new_symbolizer(mode);
        struct kymo_symbol symbol =
            symbol_of(symbolizer, (struct kymo_place){.path = path, .offset = 0x1000});
        CHECK_STR(symbol.name, "");
        CHECK_STR(symbol.file, "");
        CHECK_EQ(symbol.line, 0);
        kymo_symbolizer_free(symbolizer);
    }
}

static void what_is_no_program_has_no_names(void)
{
    check_no_name("/nowhere/at/all");
    check_no_name("");
    check_no_name(NULL);
    check_no_name("[vdso]");
    check_no_name(check_dir);
    check_no_name("/dev/null");
    check_no_name("/dev/zero");
    write_bytes(check_path("empty"), "", 0);
    check_no_name(check_path("empty"));
    write_bytes(check_path("text"), "#!/bin/sh\necho this is no program, but long enough to be\n",
                54);
    check_no_name(check_path("text"));
    write_bytes(check_path("magic"), "\177ELF\2\1\1", 7);
    check_no_name(check_path("magic"));
}

static void a_pipe_does_not_hang(void)
{
    CHECK_EQ(mkfifo(check_path("pipe"), 0600), 0);
    alarm(20);

    check_no_name(check_path("pipe"));

    alarm(0);
}

/* Cut anywhere, or with bytes changed anywhere, a file is read without harm. */
static void damaged_files_are_read_without_harm(void)
{
    struct kymo_place place = build("whole.so", "to_be_damaged", "-g");
    static uint8_t bytes[1 << 16], changed[1 << 16];
    FILE *f = fopen(place.path, "rb");
    size_t len = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    CHECK(len > 1000 && len < sizeof(bytes));
    char *path = copy_path(check_path("damaged.so"));
    struct kymo_place damaged = {.path = path, .offset = place.offset};
    size_t named = 0;

    for (size_t cut = 0; cut <= len; cut += cut < 200 || len - cut < 200 ? 1 : 37) {
        write_bytes(path, bytes, cut);
        struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
        const char *name = symbol_of(symbolizer, damaged).name;
        CHECK(strcmp(name, "") == 0 || strcmp(name, "to_be_damaged") == 0);
        named += *name != '\0';
        kymo_symbolizer_free(symbolizer);
    }
    CHECK(named > 0); /* the whole one, at least */
    for (size_t at = 0; at < len; at += 11) {
        memcpy(changed, bytes, len);
        memset(changed + at, (int)(at * 7), at % 9 + 1 < len - at ? at % 9 + 1 : 1);
        write_bytes(path, changed, len);
        struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
        symbol_of(symbolizer, damaged);
        kymo_symbolizer_free(symbolizer);
    }
}

static void a_stripped_file_has_no_names(void)
{
    struct kymo_place place = build("stripped.so", "without_a_name", "-g -fvisibility=hidden");
    if (shell("strip -s '%s'", place.path) != 0)
        CHECK_SKIP("strip is not installed");
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);

    struct kymo_symbol symbol = symbol_of(symbolizer, place);

    CHECK_STR(symbol.name, "");
    CHECK_EQ(symbol.line, 0);
    kymo_symbolizer_free(symbolizer);
}

/* ---- build ids and debug files ---- */

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

/* ---- names ---- */

static void check_demangled(const char *name, const char *expected)
{
    char *text;
    CHECK_EQ(kymo__demangle(name, strlen(name), &text), 0);
    CHECK_STR(text ? text : name, expected);
    kymo__free(text);
}

static void names_are_demangled_where_there_is_a_cxx_library(void)
{
    if (!dlopen("libstdc++.so.6", RTLD_LAZY) && !dlopen("libc++abi.so.1", RTLD_LAZY))
        CHECK_SKIP("there is no C++ library to demangle with");
    check_demangled("_ZN5outer5inner3boxIdE5twiceEd", "outer::inner::box<double>::twice(double)");
    check_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                    "core::fmt::Write::write_fmt");
    check_demangled("_ZN61_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt17h"
                    "0123456789abcdefE",
                    "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt");
    check_demangled("_Z", "_Z");
    check_demangled("_Znot a name", "_Znot a name");
    check_demangled("main", "main");
}

/* As llvm-cxxfilt prints them. */
static void newer_names_of_rust_are_demangled(void)
{
    check_demangled("_RNvNtNtCsfEOYDRpO4Ta_11miniz_oxide7inflate4core10decompress",
                    "miniz_oxide::inflate::core::decompress");
    check_demangled(
        "_RNSNvYNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0INtNtNtCsgEmfK2I1SDS_4core3ops"
        "8function6FnOnceuE9call_once6vtableCs6GmmlP4bgsG_1r.llvm.3794398366585883001",
        "<std::rt::lang_start<()>::{closure#0} as core::ops::function::FnOnce<()>>::"
        "call_once::{shim:vtable#0}");
    check_demangled(
        "_RNvMNtCsgEmfK2I1SDS_4core6escapeINtB2_15EscapeIterInnerKja_NtB2_12MaybeEscapedE7to_charB4_",
        "<core::escape::EscapeIterInner<10, core::escape::MaybeEscaped>>::to_char");
    check_demangled(
        "_RINvC1a1fReQhPlOcAhj3_SeTlhEFKCdEuDNtC1a1TEL_E",
        "a::f::<&str, &mut u8, *const i32, *mut char, [u8; 3], [str], (i32, u8), extern "
        "\"C\" fn(f64), dyn a::T>");
    check_demangled("_RINvC1a1fFG_RL0_eEuE", "a::f::<for<'a> fn(&'a str)>");
    check_demangled("_RINvC1a1fKb1_Kc61_Kln5_E", "a::f::<true, 'a', -5>");
    /* Not names, or endless ones. */
    check_demangled("_R", "_R");
    check_demangled("_RNvC1a", "_RNvC1a");
    check_demangled("_RB_", "_RB_");
    check_demangled("_RNvB_1a", "_RNvB_1a");
    check_demangled("_RNvC99999999999999999999a1b", "_RNvC99999999999999999999a1b");
}

/* Each argument is twice the one before it: forty of them would fill any memory. */
static void a_name_of_rust_that_doubles_stays_as_it_is(void)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[1024] = "_RINvC1a1fThhE";
    size_t last = strlen("INvC1a1f"), len = strlen(name);
    for (int i = 0; i < 40; i++) {
        size_t here = len - 2, to = last - 1;
        char reference[8];
        if (to < 62)
            snprintf(reference, sizeof(reference), "B%c_", digits[to]);
        else
            snprintf(reference, sizeof(reference), "B%c%c_", digits[to / 62], digits[to % 62]);
        len += (size_t)snprintf(name + len, sizeof(name) - len, "T%s%sE", reference, reference);
        last = here;
    }
    char ends[1032];
    snprintf(ends, sizeof(ends), "%sE", name);

    check_demangled(ends, ends);
    check_demangled("_RINvC1a1fThhETB7_B7_EE", "a::f::<(u8, u8), ((u8, u8), (u8, u8))>");
}

/* ---- generated code ---- */

static void write_map(const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    write_bytes(path, text, strlen(text));
}

static void remove_maps(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    unlink(path);
    snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
    unlink(path);
}

static void a_perf_map_names_generated_code(void)
{
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol symbol;
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x1010, &symbol), 0);
    write_map("1000 20 py::f:/a b/c.py\nnonsense\n0x2000 10 g\n2008 4 g again\n3000 0 empty\n\n40");

    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x101f, &symbol), 1);
    CHECK_STR(symbol.name, "py::f:/a b/c.py");
    CHECK_STR(symbol.file, "");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x1020, &symbol), 0);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x2009, &symbol), 1);
    CHECK_STR(symbol.name, "g again");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x200c, &symbol), 1);
    CHECK_STR(symbol.name, "g");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x3000, &symbol), 0);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid() + 1, 0x1000, &symbol), 0);

    /* The process has gone on. */
    write_map("1000 20 py::f:/a b/c.py\n5000 10 later\n");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x5000, &symbol), 1);
    CHECK_STR(symbol.name, "later");
    remove_maps();
    kymo_symbolizer_free(symbolizer);
}

/* Numbers little-endian, as all machines we run on have them. */
static void put(FILE *f, uint64_t value, unsigned size)
{
    fwrite(&value, 1, size, f);
}

static void record_head(FILE *f, uint32_t kind, size_t body)
{
    put(f, kind, 4);
    put(f, 16 + body, 4);
    put(f, 99, 8);
}

static void a_jitdump_names_generated_code_and_its_lines(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
    FILE *f = fopen(path, "wb");
    put(f, 0x4A695444, 4);
    put(f, 1, 4);
    put(f, 40, 4);
    put(f, 62, 4);
    put(f, 0, 4);
    put(f, (uint64_t)getpid(), 4);
    put(f, 0, 8);
    put(f, 0, 8);
    record_head(f, 2, 16 + 16 + 5 + 16 + 2);
    put(f, 0x7000, 8);
    put(f, 2, 8);
    put(f, 0x7000, 8);
    put(f, 11, 4);
    put(f, 0, 4);
    fwrite("x.js", 1, 5, f);
    put(f, 0x7008, 8);
    put(f, 12, 4);
    put(f, 0, 4);
    fwrite("\xff", 1, 2, f);
    record_head(f, 0, 40 + 6 + 16);
    put(f, 1, 4);
    put(f, 1, 4);
    put(f, 0x7000, 8);
    put(f, 0x7000, 8);
    put(f, 16, 8);
    put(f, 1, 8);
    fwrite("loops\0................", 1, 6 + 16, f);
    record_head(f, 1, 48);
    put(f, 1, 4);
    put(f, 1, 4);
    put(f, 0, 8);
    put(f, 0x7000, 8);
    put(f, 0x9000, 8);
    put(f, 16, 8);
    put(f, 1, 8);
    put(f, 0, 4); /* cut short */
    fclose(f);
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol symbol;

    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x700f, &symbol), 1);
    CHECK_STR(symbol.name, "loops");
    CHECK_STR(symbol.file, "x.js");
    CHECK_EQ(symbol.line, 12);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x7007, &symbol), 1);
    CHECK_EQ(symbol.line, 11);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x9000, &symbol), 1);
    CHECK_STR(symbol.name, "loops");
    CHECK_EQ(symbol.line, 0);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x7010, &symbol), 0);
    remove_maps();
    kymo_symbolizer_free(symbolizer);
}

/* ---- memory ---- */

static void every_allocation_may_fail(void)
{
    struct kymo_place ours = our_place();
    struct kymo_place places[] = {ours, {.path = "/nowhere", .offset = 1}};
    places[0].offset += 1;
    struct kymo_symbolizer *calm = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol expected = symbol_of(calm, places[0]);
    long n = 0;
    int rc = -ENOMEM;

    for (; rc == -ENOMEM && n < 100000; n += n < 300 ? 1 : 97) {
        struct kymo_symbolizer *symbolizer;
        const struct kymo_symbol *symbols;
        size_t first[3];
        kymo__alloc_fail_after(n);
        rc = kymo_symbolizer_new(KYMO_SYMBOL_FULL, &symbolizer);
        if (rc == 0) {
            rc = kymo_symbolize(symbolizer, places, 2, &symbols, first);
            kymo__alloc_fail_after(-1);
            /* Having failed, it can be asked again. */
            if (rc == -ENOMEM) {
                CHECK_EQ(kymo_symbolize(symbolizer, places, 2, &symbols, first), 0);
                CHECK_STR(symbols[first[1]].name, "");
                CHECK_STR(symbols[first[1] - 1].name, "a_function_of_ours");
                CHECK_STR(symbols[first[1] - 1].file, expected.file);
                CHECK_EQ(symbols[first[1] - 1].line, expected.line);
            }
            kymo_symbolizer_free(symbolizer);
        }
        kymo__alloc_fail_after(-1);
    }
    CHECK_EQ(rc, 0);
    CHECK(n > 10);
    kymo_symbolizer_free(calm);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_function_has_its_name_file_and_line),
    CHECK_CASE(names_alone_come_without_files),
    CHECK_CASE(with_mode_none_nothing_is_read),
    CHECK_CASE(an_unknown_mode_is_refused),
    CHECK_CASE(places_keep_their_order_and_equal_texts_are_one),
    CHECK_CASE(no_places_are_no_error),
    CHECK_CASE(an_answer_is_remembered_when_the_file_is_gone),
    CHECK_CASE(what_is_no_program_has_no_names),
    CHECK_CASE(a_pipe_does_not_hang),
    CHECK_CASE(damaged_files_are_read_without_harm),
    CHECK_CASE(a_stripped_file_has_no_names),
    CHECK_CASE(a_file_that_was_replaced_is_not_believed),
    CHECK_CASE(a_file_without_build_id_is_not_the_one_with),
    CHECK_CASE(a_debug_file_is_found_by_build_id),
    CHECK_CASE(a_debug_file_is_found_by_link_if_its_checksum_fits),
    CHECK_CASE(a_debug_file_comes_from_the_network_only_when_asked),
    CHECK_CASE(split_debug_information_gives_names_and_lines),
    CHECK_CASE(names_are_demangled_where_there_is_a_cxx_library),
    CHECK_CASE(newer_names_of_rust_are_demangled),
    CHECK_CASE(a_name_of_rust_that_doubles_stays_as_it_is),
    CHECK_CASE(a_perf_map_names_generated_code),
    CHECK_CASE(a_jitdump_names_generated_code_and_its_lines),
    CHECK_CASE(every_allocation_may_fail),
};

CHECK_MAIN(cases)
