/* subjects.h — programs of C and of C++ to be judged, with what is hard about addresses: functions
   inlined in one another, cold parts, copies, lines of made-up files. A test compiles them with
   the compiler and the flags it is about. */
#ifndef KYMO_SUBJECTS_H
#define KYMO_SUBJECTS_H

#include "check.h"
#include "shell.h"

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

static inline void write_text(const char *name, const char *text)
{
    FILE *f = fopen(check_path(name), "w");
    CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
}

static inline void write_sources(void)
{
    write_text("shared.h", header);
    write_text("one.c", one);
    write_text("two.c", two);
    write_text("program.cc", cxx);
}

/* Compile the C program with COMPILER and FLAGS. Returns where it is. */
static inline const char *build(const char *compiler, const char *flags)
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

#endif
