/* Addresses stand for what addr2line and llvm-symbolizer say, on programs compiled in many ways. */
#include "subjects.h"
#include "verdict.h"

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
};

CHECK_MAIN(cases)
