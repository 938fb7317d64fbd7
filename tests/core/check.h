/* check.h — the test harness: a case is a function whose name is a fact.

   A test program lists its cases in one table and ends with CHECK_MAIN. It prints
   TAP. A failed check prints both values and ends its case; the others still run.
   With a case's name as argument only that one runs. */
#ifndef KYMO_CHECK_H
#define KYMO_CHECK_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct check_case {
    const char *name;
    void (*run)(void);
};

static jmp_buf check_out;
static const char *check_skip_reason = "";
static char check_dir[256];

#define CHECK_FAIL(...)                                                                            \
    do {                                                                                           \
        printf("# %s:%d: ", __FILE__, __LINE__);                                                   \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        longjmp(check_out, 1);                                                                     \
    } while (0)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            CHECK_FAIL("not true: %s", #condition);                                                \
    } while (0)

/* Integers of any type; both are shown. */
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long check_a = (long long)(a), check_b = (long long)(b);                              \
        if (check_a != check_b)                                                                    \
            CHECK_FAIL("%s is %lld, %s is %lld", #a, check_a, #b, check_b);                        \
    } while (0)

#define CHECK_LE(a, b)                                                                             \
    do {                                                                                           \
        long long check_a = (long long)(a), check_b = (long long)(b);                              \
        if (check_a > check_b)                                                                     \
            CHECK_FAIL("%s is %lld, more than %s, %lld", #a, check_a, #b, check_b);                \
    } while (0)

#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *check_a = (a), *check_b = (b);                                                 \
        if (strcmp(check_a, check_b) != 0)                                                         \
            CHECK_FAIL("%s is \"%s\", %s is \"%s\"", #a, check_a, #b, check_b);                    \
    } while (0)

/* A library call that should have succeeded. */
#define CHECK_OK(call)                                                                             \
    do {                                                                                           \
        long long check_rc = (long long)(call);                                                    \
        if (check_rc < 0)                                                                          \
            CHECK_FAIL("%s gave %lld: %s", #call, check_rc, kymo_strerror((int)check_rc));         \
    } while (0)

#define CHECK_SKIP(reason)                                                                         \
    do {                                                                                           \
        check_skip_reason = (reason);                                                              \
        longjmp(check_out, 2);                                                                     \
    } while (0)

/* A path in a directory that belongs to this program run alone. */
static inline const char *check_path(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", check_dir, name);
    return path;
}

static inline int check_main(const struct check_case *cases, size_t count, int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(check_dir, sizeof(check_dir), "%s/kymograph-test-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(check_dir)) {
        perror("mkdtemp");
        return 1;
    }
    pid_t self = getpid();
    volatile int failed = 0;
    printf("1..%zu\n", count);
    for (volatile size_t i = 0; i < count; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0) {
            printf("ok %zu - %s # SKIP not asked for\n", i + 1, cases[i].name);
            continue;
        }
        fflush(stdout);
        int how = setjmp(check_out);
        if (how == 0) {
            cases[i].run();
            printf("ok %zu - %s\n", i + 1, cases[i].name);
        } else if (how == 2) {
            printf("ok %zu - %s # SKIP %s\n", i + 1, cases[i].name, check_skip_reason);
        } else {
            printf("not ok %zu - %s\n", i + 1, cases[i].name);
            failed++;
        }
        fflush(stdout);
        if (getpid() != self)
            _exit(99); /* a forked child fell out of its case */
    }
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", check_dir);
    if (system(command) != 0)
        perror(command);
    return failed != 0;
}

#define CHECK_CASE(name)                                                                           \
    {                                                                                              \
#name, name                                                                                \
    }
#define CHECK_MAIN(cases)                                                                          \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);                    \
    }

#endif
