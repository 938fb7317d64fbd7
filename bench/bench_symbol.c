/* How long ten thousand addresses of a large library take, with lines and inlined functions and
   by name alone, beside addr2line and llvm-symbolizer.

       bench_symbol [FILE...]

   Without files: the newest libpython of pyenv, if it has debug information, and two libraries
   that are built first, of C++ templates (some 35 MB; a minute or two) and of C as one unit by
   -flto. They stay in the temporary directory for the next time.

   CPU time and the most memory of a process of its own for each figure, since the machine has
   other things to do; of three rounds the best. Pages of the file count as memory too. */
#include <inttypes.h>
#include <kymo/symbol.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elffile.h"

enum { ADDRESSES = 10000, ROUNDS = 3 };

static struct kymo_place places[ADDRESSES];
static char address_file[] = "/tmp/kymograph-bench-addresses-XXXXXX";

struct cost {
    double ms, megabytes;
    long frames;
};

static double megabytes_of(const struct rusage *usage)
{
    return (double)usage->ru_maxrss / 1024;
}

static double ms_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e3 +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e3;
}

/* Addresses all over .text, the same ones every time. */
static int choose(const char *path)
{
    struct kymo_elf elf;
    struct kymo_section section;
    if (kymo__elf_open(&elf, path) < 0)
        return 0;
    int found = kymo__elf_section(&elf, kymo__elf_named(&elf, ".text"), &section) &&
                section.index && section.size;
    kymo__elf_fini(&elf);
    FILE *f = fopen(address_file, "w");
    if (!found || !f)
        return 0;
    uint64_t state = 1;
    for (size_t i = 0; i < ADDRESSES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        places[i] = (struct kymo_place){.path = path,
                                        .offset = section.address + (state >> 16) % section.size};
        fprintf(f, "0x%" PRIx64 "\n", places[i].offset);
    }
    fclose(f);
    return 1;
}

/* How long it takes in a process that does nothing else. */
static struct cost ours(int mode)
{
    struct cost best = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int pipe_fds[2];
        struct cost cost = {0};
        if (pipe(pipe_fds) < 0)
            abort();
        pid_t pid = fork();
        if (pid == 0) {
            static size_t first[ADDRESSES + 1];
            struct kymo_symbolizer *symbolizer;
            const struct kymo_symbol *symbols;
            struct rusage before, after;
            getrusage(RUSAGE_SELF, &before);
            if (kymo_symbolizer_new(mode, &symbolizer) < 0 ||
                kymo_symbolize(symbolizer, places, ADDRESSES, &symbols, first) < 0)
                abort();
            getrusage(RUSAGE_SELF, &after);
            cost =
                (struct cost){ms_of(&after) - ms_of(&before),
                              megabytes_of(&after) - megabytes_of(&before), (long)first[ADDRESSES]};
            if (write(pipe_fds[1], &cost, sizeof(cost)) != sizeof(cost))
                abort();
            _exit(0);
        }
        if (read(pipe_fds[0], &cost, sizeof(cost)) != sizeof(cost))
            abort();
        waitpid(pid, NULL, 0);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        if (round == 0 || cost.ms < best.ms)
            best = cost;
    }
    return best;
}

/* The same of a shell COMMAND; no time at all when it fails. */
static struct cost theirs(const char *command)
{
    struct cost best = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct rusage usage;
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
            _exit(127);
        }
        if (wait4(pid, &status, 0, &usage) < 0 || status != 0)
            return (struct cost){0};
        if (round == 0 || ms_of(&usage) < best.ms)
            best = (struct cost){ms_of(&usage), megabytes_of(&usage), 0};
    }
    return best;
}

static void show(const char *name, struct cost cost, struct cost base)
{
    if (cost.ms > 0)
        printf("  %-34s %9.1f ms  %7.0f MB   %6.2f times the first\n", name, cost.ms,
               cost.megabytes, cost.ms / base.ms);
    else
        printf("  %-34s not here\n", name);
}

static void measure(const char *path)
{
    if (!choose(path)) {
        printf("%s: no ELF file with code\n", path);
        return;
    }
    char command[2048];
    struct cost full = ours(KYMO_SYMBOL_FULL), names = ours(KYMO_SYMBOL_NAMES);
    printf("%s: %d addresses, %ld frames\n", path, ADDRESSES, full.frames);
    show("kymograph, lines and inlined functions", full, full);
    show("kymograph, names alone", names, full);
    snprintf(command, sizeof(command), "exec addr2line -fCi -e '%s' <%s >/dev/null", path,
             address_file);
    show("addr2line -fCi", theirs(command), full);
    snprintf(command, sizeof(command),
             "exec llvm-symbolizer --inlines --demangle -e '%s' <%s >/dev/null", path,
             address_file);
    show("llvm-symbolizer", theirs(command), full);
    fflush(stdout);
}

/* ---- libraries ---- */

static const char *python_library(void)
{
    static char path[1024];
    FILE *f = popen("for p in \"$HOME\"/.pyenv/versions/*/lib/libpython3.1*.so.1.0; do"
                    " echo \"$p\"; done | sort -V | tail -1",
                    "r");
    path[0] = '\0';
    if (f && fgets(path, sizeof(path), f))
        path[strcspn(path, "\n")] = '\0';
    if (f)
        pclose(f);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* One file of templates is compiled; its copies differ by a name in the assembler's text, which
   takes a fraction of the time. */
static const char cxx_script[] =
    "set -e; cd \"$1\"; [ -e templates.so ] && exit; ("
    "echo '#include <algorithm>'; echo '#include <map>'; echo '#include <string>';"
    "echo '#include <vector>'; echo '#include <unordered_map>';"
    "for i in 0 1 2 3 4 5 6 7 8 9 a b; do echo \"namespace n00 {"
    " struct S$i { int a; std::string s;"
    " bool operator<(const S$i &o) const { return a < o.a || s < o.s; } };"
    " int f$i(std::vector<S$i> &v, std::map<std::string, S$i> &m,"
    " std::unordered_map<int, S$i> &u) {"
    " std::sort(v.begin(), v.end()); for (auto &x : v) { m[x.s] = x; u[x.a] = x; }"
    " std::stable_sort(v.begin(), v.end(),"
    " [](const S$i &a, const S$i &b) { return a.s < b.s; });"
    " return (int)m.size() + (int)u.size(); } }\"; done) >templates.cc;"
    "g++ -O2 -g -fPIC -S -o templates.s templates.cc;"
    "for n in 10 11 12 13 14 15 16 17; do"
    " sed \"s/3n00/3n$n/g\" templates.s | as -o $n.o -; done;"
    "g++ -shared -o templates.new [0-9]*.o; mv templates.new templates.so; rm -f *.o *.s *.cc";

static const char lto_script[] =
    "set -e; cd \"$1\"; [ -e oneunit.so ] && exit;"
    "for n in 1 2 3 4 5 6 7 8; do ("
    "echo 'static inline int in(int a, int b) { return a > b ? a / (b | 1) : a * b; }';"
    "echo 'static inline int mid(int *p, int n) { int s = 0;';"
    "echo ' for (int i = 0; i < n; i++) s += in(p[i], n) + in(n, p[0]); return s; }';"
    "i=0; while [ $i -lt 400 ]; do i=$((i + 1));"
    " echo \"int f${n}_$i(int *p, int n) { return mid(p, n) + in(mid(p, 3), $i) - mid(p + 1, $i); }\";"
    "done) >unit$n.c; done;"
    "gcc -O2 -g -fPIC -shared -flto -flto-partition=one -o oneunit.new unit*.c;"
    "mv oneunit.new oneunit.so; rm -f *.c";

static void built(const char *name, const char *script)
{
    char dir[512], path[600], command[4096];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof(dir), "%s/kymograph-bench-symbol", tmp ? tmp : "/tmp");
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    setenv("SCRIPT", script, 1);
    snprintf(command, sizeof(command), "mkdir -p '%s' && exec sh -c \"$SCRIPT\" sh '%s'", dir, dir);
    if (system(command) == 0)
        measure(strdup(path));
    else
        printf("%s: cannot be built here\n", name);
}

int main(int argc, char **argv)
{
    int fd = mkstemp(address_file);
    if (fd < 0)
        return 1;
    close(fd);
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    if (argc == 1) {
        const char *python = python_library();
        if (python)
            measure(python);
        built("templates.so", cxx_script);
        built("oneunit.so", lto_script);
    }
    unlink(address_file);
    return 0;
}
