/* Raw text of stacks, and what is printed of it. */
#include "dumped.h"

#include <kymo/symbol.h>

#include "alloc.h"

/* What is printed of RAW, without reading the files that it names; or the error in *RC. */
static char *printed(const char *raw, size_t length, int *rc)
{
    int from = memfd_create("raw", 0), to = memfd_create("text", 0);
    CHECK_EQ(write(from, raw, length), (ssize_t)length);
    lseek(from, 0, SEEK_SET);
    *rc = kymo_stacks_print(from, to, KYMO_SYMBOL_NONE);
    char *text = text_of(to);
    close(from);
    close(to);
    return text;
}

static void check_printed(const char *raw, const char *wanted)
{
    int rc;
    char *text = printed(raw, strlen(raw), &rc);
    CHECK_OK(rc);
    CHECK_STR(text, wanted);
    free(text);
}

static void a_dump_is_printed(void)
{
    check_printed("kymo stacks 1\n"
                  "process 77 \"/opt/app\"\n"
                  "signal 11 \"SIGSEGV\" 1 0x10\n"
                  "thread 77 crashed \"app\"\n"
                  "native 5 0x1234 \"libnone.so\"\n"
                  "python 12 \"f\" \"x.py\"\n"
                  "native 0 0xabc0\n"
                  "thread 78 silent \"w\"\n"
                  "waits \"S\" 202 \"futex_wait\" 1\n"
                  "thread 79 gone \"\"\n"
                  "module 5 0x1000 0x2000 0x3000 - \"/nowhere/libnone.so\"\n"
                  "end\n",
                  "Process 77 (app): SIGSEGV, segmentation fault, address 0x10. 3 threads, most "
                  "recent call last.\n"
                  "\nThread 77 \"app\", which crashed:\n"
                  "  native code at 0xabc0 that is in no file\n"
                  "  File \"x.py\", line 12, in f\n"
                  "  native libnone.so+0x1234\n"
                  "\nThread 78 \"w\":\n"
                  "  It did not answer: it blocks signals. It is sleeping, in system call 202 "
                  "(futex_wait).\n"
                  "\nThread 79, which has ended:\n");
}

static void recursion_is_folded(void)
{
    char raw[8192] =
        "kymo stacks 1\nprocess 1 \"\"\nthread 1 other \"\"\npython 9 \"leaf\" \"x\"\n";
    for (int i = 0; i < 50; i++)
        strcat(raw, "python 2 \"b\" \"x\"\npython 1 \"a\" \"x\"\n");
    strcat(raw, "python 3 \"main\" \"x\"\nend\n");
    check_printed(raw, "Process 1. 1 thread, most recent call last.\n"
                       "\nThread 1:\n"
                       "  File \"x\", line 3, in main\n"
                       "  File \"x\", line 1, in a\n  File \"x\", line 2, in b\n"
                       "  File \"x\", line 1, in a\n  File \"x\", line 2, in b\n"
                       "  File \"x\", line 1, in a\n  File \"x\", line 2, in b\n"
                       "  [the last 2 calls repeated 47 more times]\n"
                       "  File \"x\", line 9, in leaf\n");
}

static void three_repetitions_are_not_folded(void)
{
    check_printed("kymo stacks 1\nprocess 1 \"\"\nthread 1 other \"\"\n"
                  "python 2 \"b\" \"x\"\npython 2 \"b\" \"x\"\npython 2 \"b\" \"x\"\nend\n",
                  "Process 1. 1 thread, most recent call last.\n\nThread 1:\n"
                  "  File \"x\", line 2, in b\n  File \"x\", line 2, in b\n"
                  "  File \"x\", line 2, in b\n");
}

static void names_are_escaped_for_the_terminal(void)
{
    check_printed("kymo stacks 1\nprocess 1 \"\"\nthread 1 other \"a\\x1b[31m\\x22\"\n"
                  "python 2 \"\\x0a\xc3\xa4\xff\" \"\\x5c\"\nend\n",
                  "Process 1. 1 thread, most recent call last.\n\nThread 1 \"a\\x1b[31m\"\":\n"
                  "  File \"\\\", line 2, in \\x0a\xc3\xa4\xef\xbf\xbd\n");
}

static void a_dump_that_was_cut_is_read_as_far_as_it_goes(void)
{
    check_printed("kymo stacks 1\nprocess 1 \"\"\nthread 1 other \"\"\npython 2 \"b\" \"x\"\nnati",
                  "Process 1. 1 thread, most recent call last.\n\nThread 1:\n"
                  "  File \"x\", line 2, in b\n"
                  "\nThe dump is cut short here.\n");
}

static void a_file_of_another_kind_is_refused(void)
{
    static const char *const others[] = {"", "kymo stacks 1", "kymo stacks 2\n", "KYMO", "\n"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        int rc;
        char *text = printed(others[i], strlen(others[i]), &rc);
        CHECK_EQ(rc, KYMO_ENOTSTACKS);
        CHECK_STR(text, "");
        free(text);
    }
}

/* Every beginning of a real dump, and one with each byte changed. */
static void damaged_dumps_are_harmless(void)
{
    int fd = memfd_create("raw", 0), rc;
    CHECK_OK(kymo_stacks_write(fd, NULL, 0));
    char *raw = text_of(fd);
    close(fd);
    size_t length = strlen(raw), step = FAULT_TIMES(7, 61);
    for (size_t i = 14; i < length; i += step)
        free(printed(raw, i, &rc));
    for (size_t i = 14; i < length; i += step) {
        char was = raw[i];
        raw[i] = (char)(i % 3 ? '"' : i % 2 ? ' ' : '9');
        free(printed(raw, length, &rc));
        raw[i] = was;
    }
    free(raw);
}

static void running_out_of_memory_is_an_error(void)
{
    static const char raw[] = "kymo stacks 1\nprocess 1 \"\"\nthread 1 other \"\"\n"
                              "native 1 0x1 \"x\"\nmodule 1 0x0 0x0 0x9 - \"/nowhere/x\"\nend\n";
    int rc = -ENOMEM;
    for (long n = 0; rc == -ENOMEM; n++) {
        CHECK(n < 1000);
        int from = memfd_create("raw", 0), to = memfd_create("text", 0);
        CHECK_EQ(write(from, raw, strlen(raw)), (ssize_t)strlen(raw));
        lseek(from, 0, SEEK_SET);
        kymo__alloc_fail_after(n);
        rc = kymo_stacks_print(from, to, KYMO_SYMBOL_FULL);
        kymo__alloc_fail_after(-1);
        close(from);
        close(to);
    }
    CHECK_EQ(rc, 0);
}

static void a_thread_has_the_title_it_was_given(void)
{
    const struct kymo_thread_title title = {.tid = (uint32_t)getpid(), .title = "the \"main\" one"};
    int raw = memfd_create("raw", 0), out = memfd_create("text", 0);
    CHECK_OK(kymo_stacks_write(raw, &title, 1));
    lseek(raw, 0, SEEK_SET);
    CHECK_OK(kymo_stacks_print(raw, out, KYMO_SYMBOL_NONE));
    char *text = text_of(out);
    CHECK(strstr(text, "\"the \"main\" one\", which asked:\n") != NULL);
    CHECK(strstr(text, "  native test_stacks_print+0x") != NULL);
    free(text);
    close(raw);
    close(out);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_dump_is_printed),
    CHECK_CASE(recursion_is_folded),
    CHECK_CASE(three_repetitions_are_not_folded),
    CHECK_CASE(names_are_escaped_for_the_terminal),
    CHECK_CASE(a_dump_that_was_cut_is_read_as_far_as_it_goes),
    CHECK_CASE(a_file_of_another_kind_is_refused),
    CHECK_CASE(damaged_dumps_are_harmless),
    CHECK_CASE(running_out_of_memory_is_an_error),
    CHECK_CASE(a_thread_has_the_title_it_was_given),
};
CHECK_MAIN(cases)
