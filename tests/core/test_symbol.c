/* What symbolizers promise whatever the files are: see include/kymo/symbol.h. That names and
   lines are right is judged by others in test_symbol_judge.c. */
#include <dlfcn.h>
#include <errno.h>

#include "alloc.h"
#include "symbolized.h"

/* ---- this program ---- */

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

static void no_places_is_not_an_error(void)
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

static void a_file_that_is_not_a_program_has_no_names(void)
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
    CHECK_CASE(no_places_is_not_an_error),
    CHECK_CASE(an_answer_is_remembered_when_the_file_is_gone),
    CHECK_CASE(a_file_that_is_not_a_program_has_no_names),
    CHECK_CASE(a_pipe_does_not_hang),
    CHECK_CASE(damaged_files_are_read_without_harm),
    CHECK_CASE(a_stripped_file_has_no_names),
    CHECK_CASE(every_allocation_may_fail),
};

CHECK_MAIN(cases)
