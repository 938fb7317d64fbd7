/* Addresses stand for what addr2line and llvm-symbolizer say, on programs compiled in many ways.

   Every address of .text is compared, or some thousands of them. All frames are: the functions,
   from the innermost to the one that is not inlined, the files and the lines. Where the two
   judges are of one mind nothing else is accepted. They are not where

   - the outermost function has several names: addr2line takes the one of the debug information,
     llvm-symbolizer the one of the symbol table, and of aliases there they take any. Ours must be
     one of them: what a judge says, or an alias of that by nm, or that without what the compiler
     put behind it for a part or a copy of the function (hot_and_cold.cold).
   - a name of C++ can be spelt in several ways: blanks are not compared, and what llvm-symbolizer
     cannot demangle is given to c++filt.
   - functions are inlined in one another: addr2line leaves some out, while giving their lines.
     llvm-symbolizer decides, unless it has no more than a name.
   - an address lies between functions: addr2line names the function before it. We name none, as
     llvm-symbolizer.
   - there is no debug information at all, or an address has no line: llvm-symbolizer leaves out
     what addr2line finds. Either will do.
   - a file that is included is shown by addr2line with the name of the one that includes it, for
     some functions: files are judged by llvm-symbolizer alone.
   - there is a file but no line: both take it from the symbol table, which we do not.
   - the directory of compilation is a relative one: both write it twice. */
#include <kymo/symbol.h>
#include <stdarg.h>

#include "check.h"
#include "elffile.h"
#include "fault.h"
#include "random.h"
#include "strtab.h"

enum { FRAMES_MOST = 64, ADDRESSES_MOST = FAULT_TIMES(20000, 4000) };

struct frame {
    const char *name, *file;
    unsigned line;
};

struct answer {
    uint64_t address;
    struct frame frames[FRAMES_MOST];
    int count;
};

/* ---- the judges ---- */

static int have(const char *tool)
{
    char command[200];
    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
    return system(command) == 0;
}

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command);
}

/* Texts that last, each of them once. */
static const char *keep(const char *text)
{
    static struct kymo_strtab texts;
    int added;
    int64_t id = kymo__strtab_add(&texts, text, strlen(text), &added);
    CHECK(id > 0);
    return kymo__strtab_get(&texts, (uint32_t)id)->text;
}

/* FILE:LINE, FILE:?, FILE:LINE:COLUMN, each perhaps with words behind it. */
static void split_place(char *text, struct frame *frame)
{
    char *words = strstr(text, " (discriminator");
    if (words)
        *words = '\0';
    char *colon = strrchr(text, ':');
    if (colon) {
        *colon = '\0';
        frame->line = (unsigned)strtoul(colon + 1, NULL, 10);
        char *second = strrchr(text, ':');
        if (second && second[1] >= '0' && second[1] <= '9') {
            *second = '\0';
            frame->line = (unsigned)strtoul(second + 1, NULL, 10);
        }
    }
    frame->file = strcmp(text, "??") == 0 || !*text ? "" : keep(text);
}

/* What COMMAND, of addr2line's manners, says of the addresses, through FILTER. */
static struct answer *ask(const char *command, const char *filter, const uint64_t *addresses,
                          size_t count)
{
    FILE *in = fopen(check_path("addresses"), "w");
    CHECK(in != NULL);
    for (size_t i = 0; i < count; i++)
        fprintf(in, "0x%" PRIx64 "\n", addresses[i]);
    fclose(in);
    CHECK_EQ(shell("%s <'%s' 2>/dev/null | %s >'%s'", command, check_path("addresses"), filter,
                   check_path("answers")),
             0);
    struct answer *answers = calloc(count, sizeof(*answers));
    FILE *out = fopen(check_path("answers"), "r");
    static char line[1 << 16];
    size_t at = 0;
    while (fgets(line, sizeof(line), out)) {
        line[strcspn(line, "\n")] = '\0';
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        if (strncmp(line, "0x", 2) == 0 && *end == '\0') {
            CHECK(at < count && address == addresses[at]);
            answers[at++].address = address;
        } else if (*line) {
            struct answer *answer = &answers[at - 1];
            CHECK(at > 0 && answer->count < FRAMES_MOST);
            struct frame *frame = &answer->frames[answer->count++];
            frame->name = strcmp(line, "??") == 0 ? "" : keep(line);
            CHECK(fgets(line, sizeof(line), out) != NULL);
            line[strcspn(line, "\n")] = '\0';
            split_place(line, frame);
        }
    }
    fclose(out);
    CHECK_EQ(at, count);
    return answers;
}

/* ---- the comparison ---- */

static struct {
    size_t addresses, inlined, names_of_debug, between, no_line;
} seen;

static const char *same_dir(const char *file)
{
    /* "x/x/name" of a relative directory x, which both judges write twice. */
    size_t len = strlen(file);
    if (*file == '/')
        return file;
    for (size_t n = 1; 2 * n + 1 < len; n++)
        if (file[n] == '/' && file[2 * n + 1] == '/' && strncmp(file, file + n + 1, n) == 0)
            return file + n + 1;
    return file;
}

static void show(const char *who, const struct frame *frames, int count)
{
    for (int i = 0; i < count; i++)
        printf("#   %s: %.100s at %s:%u\n", who, frames[i].name, frames[i].file, frames[i].line);
}

/* The symbols by nm. */
static struct {
    uint64_t address;
    char *name;
} * symbols_known;
static size_t symbols_count;

static void list_symbols(const char *path)
{
    static char line[1 << 16];
    for (size_t i = 0; i < symbols_count; i++)
        free(symbols_known[i].name);
    symbols_count = 0;
    /* Those of a separate debug file too, where Debian puts it. */
    CHECK(
        shell("id=$(readelf -n '%s' | sed -n 's/.*Build ID: //p'); rest=${id#??}; "
              "(nm -C '%s'; nm -CD '%s'; nm -C /usr/lib/debug/.build-id/${id%%$rest}/$rest.debug) "
              ">'%s' 2>/dev/null",
              path, path, path, check_path("symbols")) >= 0);
    FILE *in = fopen(check_path("symbols"), "r");
    CHECK(in != NULL);
    while (fgets(line, sizeof(line), in)) {
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        if (end == line || strlen(end) < 4)
            continue;
        char *name = end + 3;
        name[strcspn(name, "@\n")] = '\0';
        symbols_known = realloc(symbols_known, (symbols_count + 1) * sizeof(*symbols_known));
        symbols_known[symbols_count].address = address;
        symbols_known[symbols_count++].name = strdup(name);
    }
    fclose(in);
}

static int aliases(const char *a, const char *b)
{
    for (size_t i = 0; i < symbols_count; i++)
        for (size_t k = 0; strcmp(symbols_known[i].name, a) == 0 && k < symbols_count; k++)
            if (symbols_known[k].address == symbols_known[i].address &&
                strcmp(symbols_known[k].name, b) == 0)
                return 1;
    return 0;
}

static int same_spelling(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " ");
        b += strspn(b, " ");
        if (*a != *b)
            return 0;
        if (!*a)
            return 1;
    }
}

/* Whether OURS is a name of what a judge calls THEIRS. */
static int same_function(const char *ours, const char *theirs)
{
    size_t len = strlen(ours);
    if (same_spelling(ours, theirs))
        return 1;
    if (len && strncmp(ours, theirs, len) == 0 &&
        (theirs[len] == '.' || strncmp(theirs + len, " [clone ", 8) == 0))
        return 1;
    return *ours && *theirs && aliases(ours, theirs);
}

/* NULL when OURS is what the judges say, or else what is wrong with it. */
static const char *compare(const struct frame *ours, int count, const struct answer *bin,
                           const struct answer *llvm)
{
    int last = count - 1;
    int between = count == 1 && !*ours[0].name && !*llvm->frames[0].name && llvm->count == 1;
    if (between) {
        seen.between++;
    } else {
        const struct answer *deep = llvm->count > 1 || bin->count == 1 ? llvm : bin;
        if (deep->count != count)
            return "the number of frames";
        for (int i = 0; i < last; i++)
            if (!same_spelling(ours[i].name, deep->frames[i].name))
                return "the name of an inlined function";
        if (strcmp(ours[last].name, bin->frames[bin->count - 1].name) == 0)
            seen.names_of_debug++;
        else if (!same_function(ours[last].name, llvm->frames[llvm->count - 1].name) &&
                 !same_function(ours[last].name, bin->frames[bin->count - 1].name))
            return "the name of the function";
    }
    for (int i = 0; i < count; i++) {
        const struct frame *judge = &llvm->frames[i < llvm->count ? i : 0];
        int from_symbols = judge->line == 0 && !strchr(judge->file, '/') && !*ours[i].file;
        if (llvm->count == count && *judge->file && !from_symbols) {
            if (strcmp(same_dir(judge->file), same_dir(ours[i].file)) != 0)
                return "a file";
            if (judge->line != ours[i].line)
                return "a line";
        } else if (bin->count == count && !(between && ours[i].line == judge->line)) {
            seen.no_line++;
            if (ours[i].line != bin->frames[i].line)
                return "a line";
        }
    }
    return NULL;
}

static size_t text_of(const char *path, uint64_t *addresses)
{
    struct kymo_elf elf;
    struct kymo_section section;
    CHECK_EQ(kymo__elf_open(&elf, path), 0);
    uint32_t index = 0;
    for (uint32_t i = 1; kymo__elf_section(&elf, i, &section); i++)
        if ((section.flags & 4) && section.type == 1 && kymo__elf_named(&elf, ".text") == i)
            index = i;
    CHECK(kymo__elf_section(&elf, index, &section) && index);
    uint64_t state = 1, step = section.size / ADDRESSES_MOST + 1;
    size_t count = 0;
    for (uint64_t at = 0; at < section.size && count<ADDRESSES_MOST; at += step> 1
                              ? 1 + random_next(&state) % (2 * step)
                              : 1)
        addresses[count++] = section.address + at;
    kymo__elf_fini(&elf);
    return count;
}

/* Judge all of .text of the file GIVEN by the judges ADDR2LINE and llvm-symbolizer, which read
   JUDGED_GIVEN. */
static void judge_as(const char *given, const char *judged_given, const char *addr2line)
{
    char path[512], judged[512]; /* those of check_path do not last */
    snprintf(path, sizeof(path), "%s", given);
    snprintf(judged, sizeof(judged), "%s", judged_given);
    static uint64_t addresses[ADDRESSES_MOST];
    char command[1024];
    if (!have(addr2line) || !have("llvm-symbolizer"))
        CHECK_SKIP("addr2line or llvm-symbolizer is not installed, and they are the judges");
    if (shell("%s -e '%s' 0 >/dev/null 2>&1", addr2line, judged) != 0)
        CHECK_SKIP("addr2line does not read files of this machine");
    size_t count = text_of(path, addresses);
    list_symbols(judged);
    snprintf(command, sizeof(command), "%s -fCia -e '%s'", addr2line, judged);
    struct answer *bin = ask(command, "cat", addresses, count);
    snprintf(command, sizeof(command),
             "DEBUGINFOD_URLS= llvm-symbolizer --output-style=GNU --addresses --inlines --demangle "
             "-e '%s'",
             judged);
    struct answer *llvm = ask(command, "c++filt", addresses, count);

    struct kymo_symbolizer *symbolizer;
    struct kymo_place *places = calloc(count, sizeof(*places));
    size_t *first = calloc(count + 1, sizeof(*first)), wrong = 0;
    const struct kymo_symbol *symbols;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct kymo_place){.path = path, .offset = addresses[i]};
    CHECK_EQ(kymo_symbolizer_new(KYMO_SYMBOL_FULL, &symbolizer), 0);
    CHECK_EQ(kymo_symbolize(symbolizer, places, count, &symbols, first), 0);

    memset(&seen, 0, sizeof(seen));
    for (size_t i = 0; i < count; i++) {
        struct frame ours[FRAMES_MOST];
        int n = (int)(first[i + 1] - first[i]);
        CHECK(n > 0 && n <= FRAMES_MOST);
        for (int k = 0; k < n; k++) {
            const struct kymo_symbol *symbol = &symbols[first[i] + (size_t)k];
            ours[k] = (struct frame){symbol->name, symbol->file, symbol->line};
            CHECK_EQ(symbol->inlined, k < n - 1);
        }
        seen.addresses++;
        seen.inlined += n > 1;
        const char *why = compare(ours, n, &bin[i], &llvm[i]);
        if (why && wrong++ < 2) {
            printf("# %s, 0x%" PRIx64 ": %s is wrong\n", path, addresses[i], why);
            show("kymo", ours, n);
            show("addr2line", bin[i].frames, bin[i].count);
            show("llvm-symbolizer", llvm[i].frames, llvm[i].count);
        }
    }
    printf("# %zu addresses, %zu in inlined functions, %zu named as addr2line does, %zu between "
           "functions, %zu frames of which only addr2line knows the line\n",
           seen.addresses, seen.inlined, seen.names_of_debug, seen.between, seen.no_line);
    kymo_symbolizer_free(symbolizer);
    free(places);
    free(first);
    free(bin);
    free(llvm);
    if (wrong)
        CHECK_FAIL("%zu of %zu addresses are wrong", wrong, count);
}

static void judge(const char *path)
{
    judge_as(path, path, "addr2line");
}

/* ---- what is judged ---- */

static const char header[] =
    "static inline __attribute__((always_inline)) int deepest(int a, int b)\n"
    "{\n"
    "    if (a > 100)\n"
    "        return a / (b | 1);\n"
    "    return a * b;\n"
    "}\n"
    "static inline __attribute__((always_inline)) int deeper(int *p, int n)\n"
    "{\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < n; i++)\n"
    "        sum += deepest(p[i], n) + deepest(n, p[0]);\n"
    "    return sum;\n"
    "}\n";

static const char one[] =
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "#include \"shared.h\"\n"
    "int other(int *p, int n, int (*f)(int));\n"
    "volatile int sink;\n"
    "static __attribute__((noinline, cold)) void complain(int n)\n"
    "{\n"
    "    fprintf(stderr, \"%d\\n\", n);\n"
    "}\n"
    "static int small(int x) { return x * 3 + sink; }\n"
    "__attribute__((noinline)) int hot_and_cold(int *p, int n)\n"
    "{\n"
    "    if (__builtin_expect(n > 1000000, 0)) {\n"
    "        complain(n);\n"
    "        complain(deeper(p, 3));\n"
    "        return -1;\n"
    "    }\n"
    "    return deeper(p, n) + small(n);\n"
    "}\n"
    "static __attribute__((noinline)) int part(int *p, int n, int k)\n"
    "{\n"
    "    if (!p)\n"
    "        return 0;\n"
    "    for (int i = 0; i < n; i++)\n"
    "        p[i] += small(p[i]) + k;\n"
    "    return p[n - 1];\n"
    "}\n"
    "int unused_function(int x) { return deepest(x, x) + small(x); }\n"
    "int recursive(int n)\n"
    "{\n"
    "    return n < 2 ? n : recursive(n - 1) + recursive(n - 2);\n"
    "}\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    int p[64];\n"
    "    memset(p, argc, sizeof(p));\n"
    "    sink = hot_and_cold(p, 64) + other(p, argc, small) + recursive(argc);\n"
    "    return part(p, 10, 3) + part(p, argc, 3) + (int)strlen(argv[0]);\n"
    "}\n";

static const char two[] = "#include \"shared.h\"\n"
                          "static int shared_name(int x) { return x + 1; }\n"
                          "int other(int *p, int n, int (*f)(int))\n"
                          "{\n"
                          "    int sum = f(n);\n"
                          "#line 1000 \"made/up.y\"\n"
                          "    switch (n & 7) {\n"
                          "    case 1: sum += deeper(p, 1); break;\n"
                          "    case 2: sum -= deeper(p, sum); break;\n"
                          "    case 3: sum += shared_name(sum); break;\n"
                          "    default: sum *= 2;\n"
                          "    }\n"
                          "    return sum;\n"
                          "}\n";

static const char cxx[] =
    "#include <algorithm>\n"
    "#include <map>\n"
    "#include <string>\n"
    "#include <vector>\n"
    "namespace outer { namespace inner {\n"
    "template <typename T> struct box {\n"
    "    T value;\n"
    "    __attribute__((noinline)) T twice(T more) const { return value + value + more; }\n"
    "    T thrice() const { return twice(value) + value; }\n"
    "};\n"
    "} }\n"
    "namespace {\n"
    "__attribute__((noinline)) int hidden(const std::vector<int> &v)\n"
    "{\n"
    "    int sum = 0;\n"
    "    std::for_each(v.begin(), v.end(), [&sum](int x) { sum += x * 3; });\n"
    "    return sum;\n"
    "}\n"
    "struct local_things {\n"
    "    virtual ~local_things() {}\n"
    "    virtual int ask(int x) { return x + 1; }\n"
    "};\n"
    "}\n"
    "static __attribute__((noinline)) int in_order(std::vector<int> &v)\n"
    "{\n"
    "    struct by_size {\n"
    "        bool operator()(int a, int b) const { return a % 7 < b % 7; }\n"
    "    };\n"
    "    std::sort(v.begin(), v.end(), by_size());\n"
    "    return v.front();\n"
    "}\n"
    "int main(int argc, char **)\n"
    "{\n"
    "    std::map<std::string, std::vector<int>> words;\n"
    "    words[std::string(argc, 'x')].push_back(argc);\n"
    "    outer::inner::box<double> d = {1.5};\n"
    "    outer::inner::box<long> l = {argc};\n"
    "    local_things things;\n"
    "    std::vector<int> &v = words.begin()->second;\n"
    "    for (int i = 0; i < 10; i++)\n"
    "        v.push_back(things.ask(i));\n"
    "    return hidden(v) + in_order(v) + (int)d.thrice() + (int)l.thrice();\n"
    "}\n";

/* A function inside a function, which gcc knows: its entry is inside that of the other. */
static const char nested[] = "int apply(int (*f)(int), int n)\n"
                             "{\n"
                             "    int sum = 0;\n"
                             "    for (int i = 0; i < n; i++)\n"
                             "        sum += f(i);\n"
                             "    return sum;\n"
                             "}\n"
                             "int around(int n)\n"
                             "{\n"
                             "    int kept = n;\n"
                             "    __attribute__((noinline)) int inside(int x)\n"
                             "    {\n"
                             "        kept += x;\n"
                             "        return kept * 2;\n"
                             "    }\n"
                             "    return apply(inside, n) + kept;\n"
                             "}\n"
                             "int main(int argc, char **argv)\n"
                             "{\n"
                             "    (void)argv;\n"
                             "    return around(argc);\n"
                             "}\n";

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(check_path(name), "w");
    CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
}

static void write_sources(void)
{
    write_text("shared.h", header);
    write_text("one.c", one);
    write_text("two.c", two);
    write_text("program.cc", cxx);
}

/* Compile the C program with COMPILER and FLAGS. Returns where it is. */
static const char *build(const char *compiler, const char *flags)
{
    static char path[512];
    write_sources();
    if (!have(compiler))
        CHECK_SKIP("the compiler is not installed");
    snprintf(path, sizeof(path), "%s", check_path("program"));
    if (shell("cd '%s' && %s %s -o program one.c two.c 2>errors", check_dir, compiler, flags) !=
        0) {
        shell("sed 's/^/# /' '%s' | head -5", check_path("errors"));
        CHECK_SKIP("the compiler does not do that, as said above");
    }
    return path;
}

#define JUDGES(name, compiler, flags)                                                              \
    static void name(void)                                                                         \
    {                                                                                              \
        judge(build(compiler, flags));                                                             \
    }

JUDGES(gcc_default, "gcc", "-O2 -g")
JUDGES(gcc_unoptimised, "gcc", "-O0 -g")
JUDGES(gcc_dwarf_2, "gcc", "-O2 -gdwarf-2")
/* Strictly, a function is one range, and gcc makes another function of its cold part. */
JUDGES(gcc_strict_dwarf_2, "gcc", "-O2 -gdwarf-2 -gstrict-dwarf -fno-reorder-blocks-and-partition")
JUDGES(gcc_dwarf_3, "gcc", "-O2 -gdwarf-3")
JUDGES(gcc_dwarf_4, "gcc", "-O2 -gdwarf-4")
JUDGES(gcc_dwarf_5, "gcc", "-O3 -gdwarf-5")
JUDGES(gcc_dwarf_64_bits, "gcc", "-O2 -g -gdwarf64")
JUDGES(gcc_compressed, "gcc", "-O2 -g -gz=zlib")
JUDGES(gcc_compressed_old, "gcc", "-O2 -g -gz=zlib-gnu")
JUDGES(gcc_lto, "gcc", "-O2 -g -flto")
JUDGES(gcc_lto_dwarf_4, "gcc", "-O2 -gdwarf-4 -flto")
JUDGES(gcc_sections, "gcc", "-O2 -g -ffunction-sections -Wl,--gc-sections")
JUDGES(gcc_sections_dwarf_4, "gcc", "-O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections")
JUDGES(gcc_fixed_addresses, "gcc", "-O2 -g -no-pie -fno-pie")
JUDGES(gcc_library, "gcc", "-O2 -g -fPIC -shared")
JUDGES(gcc_lines_only, "gcc", "-O2 -g1")
JUDGES(gcc_no_debug_information, "gcc", "-O2")
JUDGES(clang_default, "clang", "-O2 -g")
JUDGES(clang_dwarf_2, "clang", "-O2 -gdwarf-2")
JUDGES(clang_dwarf_3, "clang", "-O2 -gdwarf-3")
JUDGES(clang_dwarf_4, "clang", "-O2 -gdwarf-4")
JUDGES(clang_dwarf_5, "clang", "-O2 -gdwarf-5")
JUDGES(clang_compressed, "clang", "-O2 -g -gz")
JUDGES(clang_sections, "clang", "-O2 -gdwarf-5 -ffunction-sections -Wl,--gc-sections")
JUDGES(clang_lines_only, "clang", "-O2 -gline-tables-only")
JUDGES(clang_lto, "clang", "-O2 -g -flto -fuse-ld=gold")

/* Most of it is the C library's, without debug information of ours. */
JUDGES(gcc_static, "gcc", "-O2 -g -static")

static void build_cxx(const char *compiler, const char *flags)
{
    write_sources();
    if (!have(compiler))
        CHECK_SKIP("the compiler is not installed");
    if (shell("cd '%s' && %s %s -o program program.cc 2>errors", check_dir, compiler, flags) != 0)
        CHECK_SKIP("the compiler cannot build the program");
    judge(check_path("program"));
}

static void gxx_default(void)
{
    build_cxx("g++", "-O2 -g");
}

static void gxx_dwarf_4_types(void)
{
    build_cxx("g++", "-O2 -gdwarf-4 -fdebug-types-section");
}

static void gxx_dwarf_5_types(void)
{
    build_cxx("g++", "-O1 -gdwarf-5 -fdebug-types-section");
}

static void clangxx_default(void)
{
    build_cxx("clang++", "-O2 -g");
}

static void gcc_nested_functions(void)
{
    write_text("nested.c", nested);
    if (!have("gcc"))
        CHECK_SKIP("gcc is not installed");
    if (shell("cd '%s' && gcc -O1 -g -o program nested.c 2>errors", check_dir) != 0)
        CHECK_SKIP("this gcc does not know functions in functions");
    judge(check_path("program"));
}

/* An instruction is four bytes there, and lines count in them. */
static void aarch64_library(void)
{
    const char *cc = "aarch64-linux-gnu-gcc";
    write_sources();
    if (!have(cc))
        CHECK_SKIP("aarch64-linux-gnu-gcc is not installed");
    if (shell("cd '%s' && %s -O2 -g -fPIC -shared -nostdlib -o arm.so two.c 2>errors", check_dir,
              cc) != 0)
        CHECK_SKIP("aarch64-linux-gnu-gcc cannot build the library");
    judge_as(check_path("arm.so"), check_path("arm.so"), "aarch64-linux-gnu-addr2line");
}

/* ---- debug information elsewhere ---- */

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

/* ---- what others built ---- */

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
    CHECK_CASE(gcc_default),
    CHECK_CASE(gcc_unoptimised),
    CHECK_CASE(gcc_dwarf_2),
    CHECK_CASE(gcc_strict_dwarf_2),
    CHECK_CASE(gcc_dwarf_3),
    CHECK_CASE(gcc_dwarf_4),
    CHECK_CASE(gcc_dwarf_5),
    CHECK_CASE(gcc_dwarf_64_bits),
    CHECK_CASE(gcc_compressed),
    CHECK_CASE(gcc_compressed_old),
    CHECK_CASE(gcc_lto),
    CHECK_CASE(gcc_lto_dwarf_4),
    CHECK_CASE(gcc_sections),
    CHECK_CASE(gcc_sections_dwarf_4),
    CHECK_CASE(gcc_fixed_addresses),
    CHECK_CASE(gcc_library),
    CHECK_CASE(gcc_lines_only),
    CHECK_CASE(gcc_no_debug_information),
    CHECK_CASE(gcc_static),
    CHECK_CASE(clang_default),
    CHECK_CASE(clang_dwarf_2),
    CHECK_CASE(clang_dwarf_3),
    CHECK_CASE(clang_dwarf_4),
    CHECK_CASE(clang_dwarf_5),
    CHECK_CASE(clang_compressed),
    CHECK_CASE(clang_sections),
    CHECK_CASE(clang_lines_only),
    CHECK_CASE(clang_lto),
    CHECK_CASE(gxx_default),
    CHECK_CASE(gxx_dwarf_4_types),
    CHECK_CASE(gxx_dwarf_5_types),
    CHECK_CASE(clangxx_default),
    CHECK_CASE(gcc_nested_functions),
    CHECK_CASE(aarch64_library),
    CHECK_CASE(compressed_with_zstd),
    CHECK_CASE(stripped_with_link),
    CHECK_CASE(stripped_with_build_id),
    CHECK_CASE(shared_by_dwz),
    CHECK_CASE(this_program),
    CHECK_CASE(c_library),
    CHECK_CASE(python_library),
};

CHECK_MAIN(cases)
