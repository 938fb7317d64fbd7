/* Exports made from calls, their tree and their functions: what they hold to the nanosecond,
   and that no capture, however odd, makes one that cannot be read. What the programs read that
   the formats are for, tests/python asks these. */
#include <errno.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <stdbool.h>

#include "alloc.h"
#include "export.h"
#include "exported.h"
#include "tape.h"

static const char *const formats[] = {"html",   "speedscope", "pprof",
                                      "pstats", "collapsed",  "callgrind"};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

static void export(struct kymo_capture *capture, const char *format)
{
    const struct kymo_export_options options = {
        .size = sizeof(options), .format = format, .to = INT64_MAX, .thread = -1};
    CHECK_OK(kymo_export(capture, check_path("out"), &options));
    load_text(check_path("out"));
}

/* By hand: a sanitizer's strstr looks at the whole text each time. */
static size_t count(const char *part)
{
    size_t n = 0, len = strlen(part);
    const char *end = text + text_len;
    for (const char *at = text; (at = memchr(at, *part, (size_t)(end - at))); at++)
        n += (size_t)(end - at) >= len && memcmp(at, part, len) == 0;
    return n;
}

#define CHECK_HAS(part)                                                                            \
    do {                                                                                           \
        if (!strstr(text, part))                                                                   \
            CHECK_FAIL("%s is not in:\n%s", part, text);                                           \
    } while (0)

/* main calls f twice and g, which calls f, which calls itself; the thread is called "t". */
static struct kymo_capture *small_capture(const char *name)
{
    tape_start(name);
    kymo_thread_name("t");
    uint32_t main = tape_key("main", "a.py", 1, KYMO_CLASS_FUNCTION);
    uint32_t f = tape_key("f", "a.py", 5, KYMO_CLASS_FUNCTION);
    uint32_t g = tape_key("g", "b.py", 9, KYMO_CLASS_FUNCTION);
    tape_enter(0, main);
    for (uint64_t i = 0; i < 2; i++) {
        tape_enter(100 + 100 * i, f);
        tape_leave(110 + 100 * i, f);
    }
    tape_enter(300, g);
    tape_enter(400, f);
    tape_enter(500, f);
    tape_leave(530, f);
    tape_leave(600, f);
    tape_leave(700, g);
    tape_leave(1000, main);
    return tape_stop(name);
}

/* The sum of the numbers at the ends of the lines. */
static uint64_t sum_of_lines(void)
{
    uint64_t sum = 0;
    for (const char *at = text, *blank = text; *at; at++) {
        blank = *at == ' ' ? at : blank;
        sum += *at == '\n' ? strtoull(blank, NULL, 10) : 0;
    }
    return sum;
}

/* ---- what is in them ---- */

static void collapsed_has_a_line_for_each_path(void)
{
    struct kymo_capture *capture = small_capture("collapsed");
    export(capture, "collapsed");
    kymo_close(capture);
    CHECK_STR(text, "t;main (a.py:1) 580\n"
                    "t;main (a.py:1);g (b.py:9) 200\n"
                    "t;main (a.py:1);g (b.py:9);f (a.py:5) 170\n"
                    "t;main (a.py:1);g (b.py:9);f (a.py:5);f (a.py:5) 30\n"
                    "t;main (a.py:1);f (a.py:5) 20\n");
}

static void callgrind_has_functions_and_their_calls(void)
{
    struct kymo_capture *capture = small_capture("callgrind");
    export(capture, "callgrind");
    kymo_close(capture);
    CHECK_HAS("\npositions: line\n");
    CHECK_HAS("\nevents: ns\nsummary: 1000\n");
    CHECK_HAS("\nfl=(1) a.py\nfn=(2) main\n1 580\n"
              "cfi=(1)\ncfn=(3) f\ncalls=2 5\n1 20\n"
              "cfi=(2) b.py\ncfn=(4) g\ncalls=1 9\n1 400\n"
              "\nfl=(1)\nfn=(3)\n5 220\n"
              "cfi=(1)\ncfn=(3)\ncalls=1 5\n5 30\n"
              "\nfl=(2)\nfn=(4)\n9 200\n"
              "cfi=(1)\ncfn=(3)\ncalls=1 5\n9 200\n");
}

static void speedscope_has_every_call_at_its_time(void)
{
    struct kymo_capture *capture = small_capture("speedscope");
    export(capture, "speedscope");
    kymo_close(capture);
    CHECK_HAS("{\"type\":\"evented\",\"name\":\"t\",\"unit\":\"nanoseconds\",\"startValue\":0,"
              "\"endValue\":1000,\"events\":[\n"
              "{\"type\":\"O\",\"frame\":0,\"at\":0},\n"
              "{\"type\":\"O\",\"frame\":1,\"at\":100},\n"
              "{\"type\":\"C\",\"frame\":1,\"at\":110},\n"
              "{\"type\":\"O\",\"frame\":1,\"at\":200},\n");
    CHECK_HAS("{\"type\":\"C\",\"frame\":0,\"at\":1000}\n]}\n],\n\"shared\":{\"frames\":[\n"
              "{\"name\":\"main\",\"file\":\"a.py\",\"line\":1},\n"
              "{\"name\":\"f\",\"file\":\"a.py\",\"line\":5},\n"
              "{\"name\":\"g\",\"file\":\"b.py\",\"line\":9}\n]}}\n");
    CHECK_EQ(count("\"type\":\"O\""), 6);
    CHECK_EQ(count("\"type\":\"C\""), 6);
}

static void the_page_has_functions_and_nodes(void)
{
    struct kymo_capture *capture = small_capture("page");
    export(capture, "html");
    kymo_close(capture);
    CHECK_HAS("\n[\"main\",\"a.py\",1,1,1,0,580,1000,0,0],\n"
              "[\"f\",\"a.py\",5,1,4,0,220,220,0,0],\n"
              "[\"g\",\"b.py\",9,1,1,0,200,400,0,0]]");
    CHECK_HAS("{\"name\":\"t\",\"busy\":1000,\"nodes\":[0,0,1000,580,1,0,2,0,400,200,1,0,"
              "1,0,200,170,1,0,1,0,30,30,1,0,1,3,20,20,2,0]}]}");
    CHECK_EQ(count("<script"), 4); /* the data and the code, and the same of the timeline */
    CHECK_EQ(count("http://") + count("https://"), 0);
}

static void resumes_are_not_calls(void)
{
    tape_start("resumes");
    kymo_thread_name("t");
    uint32_t g = tape_function("g");
    tape_put_value(0, KYMO_ENTER, 0, g, 7);
    tape_put(10, KYMO_LEAVE, 1, g);
    tape_put_value(20, KYMO_ENTER, 1, g, 7);
    tape_put(50, KYMO_LEAVE, 0, g);
    struct kymo_capture *capture = tape_stop("resumes");
    export(capture, "html");
    CHECK_HAS("\n[\"g\",\"program.py\",1,1,1,1,40,40,0,0]]");
    export(capture, "collapsed");
    CHECK_STR(text, "t;g (program.py:1) 40\n");
    kymo_close(capture);
}

static void *thread_body(void *arg)
{
    kymo_thread_name("same");
    tape_enter(0, *(uint32_t *)arg);
    tape_leave(10, *(uint32_t *)arg);
    return NULL;
}

static void threads_of_the_same_name_are_kept_apart(void)
{
    tape_start("same");
    uint32_t f = tape_function("f");
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, thread_body, &f);
        pthread_join(thread, NULL);
    }
    struct kymo_capture *capture = tape_stop("same");
    export(capture, "collapsed");
    CHECK_EQ(count("same;f"), 1);
    CHECK_EQ(count("same (thread "), 2);
    export(capture, "speedscope");
    CHECK_EQ(count("\"name\":\"same\""), 1);
    CHECK_EQ(count("\"name\":\"same (thread "), 2);
    export(capture, "html");
    CHECK_EQ(count("\"busy\":10,"), 3);
    kymo_close(capture);
}

static void a_window_and_a_thread_are_respected(void)
{
    struct kymo_capture *capture = small_capture("window");
    struct kymo_export_options options = {.size = sizeof(options),
                                          .format = "collapsed",
                                          .from = (kymo_ns)tape_zero + 205,
                                          .to = (kymo_ns)tape_zero + 305,
                                          .thread = 0};
    CHECK_OK(kymo_export(capture, check_path("window.txt"), &options));
    load_text(check_path("window.txt"));
    CHECK_STR(text, "t;main (a.py:1) 90\nt;main (a.py:1);f (a.py:5) 5\n"
                    "t;main (a.py:1);g (b.py:9) 5\n");
    options.format = "speedscope";
    CHECK_OK(kymo_export(capture, check_path("window.txt"), &options));
    load_text(check_path("window.txt"));
    CHECK_HAS("\"endValue\":100,\"events\":[\n{\"type\":\"O\",\"frame\":0,\"at\":0},\n");
    CHECK_HAS("\"at\":100}\n]}");
    kymo_close(capture);
}

/* ---- odd captures ---- */

static void an_empty_capture_still_gives_a_file(void)
{
    tape_start("nothing");
    struct kymo_capture *capture = tape_stop("nothing");
    export(capture, "collapsed");
    CHECK_EQ(text_len, 0);
    export(capture, "pstats");
    CHECK_STR(text, "{0");
    export(capture, "callgrind");
    CHECK_HAS("summary: 0\n");
    export(capture, "speedscope");
    CHECK_HAS("\"name\":\"no calls\"");
    CHECK_HAS("\"shared\":{\"frames\":[\n]}}");
    export(capture, "html");
    CHECK_HAS("\"functions\":[],\n\"threads\":[]}");
    export(capture, "pprof");
    CHECK_LE(1, text_len);
    kymo_close(capture);
}

static void unfinished_and_lost_calls_are_whole_in_all(void)
{
    tape_start("unfinished");
    kymo_thread_name("t");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    tape_enter(10, g);
    tape_gap(5);
    tape_leave(40, f); /* g's end is lost */
    tape_leave(50, g); /* its begin is */
    tape_enter(60, f);
    tape_enter(80, g); /* both are open at the end */
    struct kymo_capture *capture = tape_stop("unfinished");
    export(capture, "speedscope");
    CHECK_EQ(count("\"type\":\"O\""), count("\"type\":\"C\""));
    export(capture, "html");
    CHECK_HAS("\"lost\":5");
    export(capture, "collapsed");
    CHECK_HAS("t;f (program.py:1);g (program.py:1) ");
    for (int i = 0; i < FORMATS; i++)
        export(capture, formats[i]);
    kymo_close(capture);
}

static bool valid_utf8(void)
{
    for (const char *at = text; at < text + text_len;) {
        unsigned char c = (unsigned char)*at++;
        int more = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
        if (more < 0 || (c == 0xed && (unsigned char)*at > 0x9f))
            return false;
        for (; more > 0; more--)
            if (((unsigned char)*at++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static void names_of_any_bytes_are_harmless(void)
{
    static char bytes[256], longest[10001];
    for (int i = 1; i < 256; i++)
        bytes[i - 1] = (char)i;
    memset(longest, 'x', sizeof(longest) - 1);
    const char *names[] = {"",       "</script><script>alert(1)</script>",
                           "<!--",   "a;b",
                           "a\nb",   "\"\\\"",
                           "(1) fn", "\xed\xa0\x80",
                           "größe",  "\xe2\x80\xa8",
                           "# 12",   " 7",
                           bytes,    longest};
    enum { NAMES = sizeof(names) / sizeof(names[0]) };
    tape_start("hostile");
    kymo_thread_name("t;1\n</script>");
    for (uint64_t i = 0; i < NAMES; i++) {
        uint32_t span = *names[i] ? tape_span(names[i]) : tape_span("\n");
        uint32_t f = tape_key(names[i], names[i], 1, KYMO_CLASS_FUNCTION);
        tape_enter(100 * i, span);
        tape_enter(100 * i + 10, f);
        tape_leave(100 * i + 20, f);
        tape_leave(100 * i + 50, span);
    }
    struct kymo_capture *capture = tape_stop("hostile");

    export(capture, "html");
    CHECK_EQ(count("<script"), 4);
    CHECK_EQ(count("</script"), 4);
    CHECK_EQ(count("<!--"), 0);
    CHECK_HAS("\\u003c/script\\u003e");
    CHECK_HAS("\"\\u2028\"");
    CHECK(valid_utf8());
    export(capture, "speedscope");
    CHECK(valid_utf8());
    CHECK_EQ(strlen(text), text_len);
    export(capture, "collapsed");
    CHECK(valid_utf8());
    CHECK_EQ(count("\n"), 2 * NAMES);
    CHECK_EQ(count("t\\x3b1\\x0a</script>;"), 2 * NAMES);
    CHECK_HAS(";a\\x3bb (a\\x3bb:1) 10\n");
    export(capture, "callgrind");
    CHECK(valid_utf8());
    CHECK_HAS("a\\x0ab\n");
    export(capture, "pstats");
    export(capture, "pprof");
    kymo_close(capture);
}

static void the_smallest_paths_are_summed_up(void)
{
    struct kymo_capture *capture = small_capture("summed");
    const struct kymo_export_options options = {.size = sizeof(options),
                                                .format = "collapsed",
                                                .to = INT64_MAX,
                                                .thread = -1,
                                                .entries = 4};
    CHECK_OK(kymo_export(capture, check_path("out"), &options));
    load_text(check_path("out"));
    CHECK_STR(text, "t;main (a.py:1) 580\n"
                    "t;main (a.py:1);(small calls) 20\n"
                    "t;main (a.py:1);g (b.py:9) 200\n"
                    "t;main (a.py:1);g (b.py:9);(small calls) 200\n");
    kymo_close(capture);
}

static void collapsed_stacks_of_long_paths_stay_within_a_size(void)
{
    enum { DEEP = 900, NAME = 240 };
    tape_start("long");
    uint32_t keys[DEEP];
    for (int i = 0; i < DEEP; i++) {
        char name[NAME + 1];
        snprintf(name, sizeof(name), "%0*d", NAME, i);
        keys[i] = tape_function(name);
        tape_enter((uint64_t)(10 * i), keys[i]);
    }
    for (int i = DEEP; i-- > 0;)
        tape_leave((uint64_t)(10 * (2 * DEEP - i)), keys[i]);
    struct kymo_capture *capture = tape_stop("long");
    export(capture, "collapsed"); /* 93 MiB if all was written */
    CHECK_LE(text_len, 64 << 20);
    CHECK_LE(16 << 20, text_len);
    CHECK_EQ(count(";(small calls) "), 1);
    CHECK_EQ(sum_of_lines(), 20 * DEEP);
    kymo_close(capture);
}

static void deep_recursion_is_exported(void)
{
    enum { DEEP = 20000 };
    tape_start("deep");
    kymo_thread_name("t");
    uint32_t f = tape_function("f"), g = tape_function("g");
    for (uint64_t i = 0; i < DEEP; i++)
        tape_enter(i, i == DEEP - 1 ? g : f);
    for (uint64_t i = 0; i < DEEP; i++)
        tape_leave(DEEP + i, i == 0 ? g : f);
    struct kymo_capture *capture = tape_stop("deep");
    export(capture, "speedscope");
    CHECK_EQ(count("\"type\":\"O\""), DEEP);
    export(capture, "callgrind");
    CHECK_HAS("calls=19998 1\n");
    CHECK_HAS("summary: 39999\n");
    export(capture, "collapsed"); /* does not grow with the square of that */
    CHECK_EQ(count("\n"), 1024 + 2);
    CHECK_HAS(";(deeper);f (program.py:1) ");
    CHECK_HAS(";(deeper);g (program.py:1) 1\n");
    CHECK_EQ(sum_of_lines(), 2 * DEEP - 1);
    export(capture, "html");
    CHECK_HAS("\"hidden\":0");
    export(capture, "pstats");
    export(capture, "pprof");
    kymo_close(capture);
}

/* main calls COUNT different functions, each for as long as its number says. */
static struct kymo_capture *wide_capture(const char *name, uint32_t functions, bool equal)
{
    tape_start(name);
    uint32_t main = tape_function("main");
    uint64_t time = 0;
    tape_enter(time, main);
    for (uint32_t i = 0; i < functions; i++) {
        char text_of[16];
        snprintf(text_of, sizeof(text_of), "f%u", i);
        uint32_t f = tape_function(text_of);
        tape_enter(time, f);
        time += equal ? 5 : i + 1;
        tape_leave(time, f);
    }
    tape_leave(time, main);
    return tape_stop(name);
}

static size_t page_nodes(void)
{
    const char *at = strstr(text, "\"nodes\":[");
    CHECK(at != NULL);
    size_t commas = 1;
    for (at += 9; *at != ']'; at++)
        commas += *at == ',';
    CHECK_EQ(commas % 6, 0);
    return commas / 6;
}

static void a_page_leaves_out_the_shortest_of_too_many(void)
{
    struct kymo_capture *capture = wide_capture("wide", 200100, false);
    export(capture, "html");
    CHECK_EQ(page_nodes(), 199999); /* with the thread two hundred thousand */
    CHECK_HAS("\"hidden\":102,");
    CHECK_EQ(count("\n[\"f"), 200100); /* the table has them all */
    kymo_close(capture);

    capture = wide_capture("equal", 200100, true); /* any may be left out, but not all */
    export(capture, "html");
    CHECK_EQ(page_nodes(), 199999);
    kymo_close(capture);
}

/* ---- files ---- */

static void an_export_is_always_the_same(void)
{
    struct kymo_capture *capture = small_capture("again");
    for (int i = 0; i < FORMATS; i++) {
        export(capture, formats[i]);
        char *first = text;
        size_t len = text_len;
        text = NULL;
        export(capture, formats[i]);
        CHECK_EQ(len, text_len);
        CHECK_EQ(memcmp(first, text, len), 0);
        free(first);
    }
    kymo_close(capture);
}

static void the_format_follows_from_the_file_name(void)
{
    const struct {
        const char *path, *format;
    } names[] = {
        {"a.json", "chrome"},
        {"a.json.gz", "chrome"},
        {"a.speedscope.json", "speedscope"},
        {"a.speedscope.json.gz", "speedscope"},
        {"a.pb.gz", "pprof"},
        {"a.pb", "pprof"},
        {"a.collapsed", "collapsed"},
        {"a.folded.gz", "collapsed"},
        {"a.pstats", "pstats"},
        {"a.prof", "pstats"},
        {"a.callgrind", "callgrind"},
        {"dir/callgrind.out.77", "callgrind"},
        {"a.html", "html"},
        {"a.htm", "html"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct kymo_export_format *format = kymo__export_for(names[i].path);
        CHECK(format != NULL);
        CHECK_STR(format->name, names[i].format);
    }
    CHECK(kymo__export_for(".html") == NULL);
    CHECK(kymo__export_for("html") == NULL);
    CHECK(kymo__export_for("a.callgrind.out.1") == NULL);
}

static void formats_can_be_listed(void)
{
    const char *name, *extension, *purpose;
    uint32_t found = 0, all = 0;
    for (; kymo_export_format(all, &name, &extension, &purpose) == 0; all++) {
        CHECK_EQ(*extension, '.');
        CHECK(*purpose != '\0');
        for (int i = 0; i < FORMATS; i++)
            found += strcmp(formats[i], name) == 0;
    }
    CHECK_EQ(found, FORMATS);
    CHECK_EQ(kymo_export_format(all, NULL, NULL, NULL), -ENOENT);
    CHECK_EQ(kymo_export_format(0, NULL, NULL, NULL), 0);
}

static void pprof_is_always_compressed(void)
{
    struct kymo_capture *capture = small_capture("packed");
    export(capture, "pprof");
    unsigned char head[2] = {0};
    FILE *file = fopen(check_path("out"), "rb");
    CHECK_EQ(fread(head, 1, 2, file), 2);
    fclose(file);
    CHECK_EQ(head[0], 0x1f);
    CHECK_EQ(head[1], 0x8b);
    kymo_close(capture);
}

static bool exists(const char *name)
{
    struct stat st;
    return stat(check_path(name), &st) == 0;
}

static int refuse(void *arg, uint64_t read, uint64_t all)
{
    (void)arg;
    CHECK_LE(read, all);
    return -ECANCELED;
}

static void failures_are_reported_and_leave_nothing(void)
{
    struct kymo_capture *capture = wide_capture("failures", 20000, false);
    for (int i = 0; i < FORMATS; i++) {
        struct kymo_export_options options = {
            .size = sizeof(options), .format = formats[i], .to = INT64_MAX, .thread = -1};
        CHECK_EQ(kymo_export(capture, "/dev/full", &options), -ENOSPC);
        options.progress = refuse;
        CHECK_EQ(kymo_export(capture, check_path("never"), &options), -ECANCELED);
        CHECK(!exists("never"));
    }
    kymo_close(capture);
}

static void memory_may_run_out_anywhere(void)
{
    struct kymo_capture *capture = small_capture("memory");
    for (int i = 0; i < FORMATS; i++) {
        const struct kymo_export_options options = {
            .size = sizeof(options), .format = formats[i], .to = INT64_MAX, .thread = -1};
        long n = 0;
        int rc;
        unlink(check_path("short"));
        do {
            kymo__alloc_fail_after(n++);
            rc = kymo_export(capture, check_path("short"), &options);
            kymo__alloc_fail_after(-1);
            CHECK(rc == 0 || rc == -ENOMEM);
            CHECK_EQ(exists("short"), rc == 0);
            CHECK_LE(n, 1000);
        } while (rc < 0);
        CHECK_LE(5, n);
    }
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(collapsed_has_a_line_for_each_path),
    CHECK_CASE(the_smallest_paths_are_summed_up),
    CHECK_CASE(collapsed_stacks_of_long_paths_stay_within_a_size),
    CHECK_CASE(callgrind_has_functions_and_their_calls),
    CHECK_CASE(speedscope_has_every_call_at_its_time),
    CHECK_CASE(the_page_has_functions_and_nodes),
    CHECK_CASE(resumes_are_not_calls),
    CHECK_CASE(threads_of_the_same_name_are_kept_apart),
    CHECK_CASE(a_window_and_a_thread_are_respected),
    CHECK_CASE(an_empty_capture_still_gives_a_file),
    CHECK_CASE(unfinished_and_lost_calls_are_whole_in_all),
    CHECK_CASE(names_of_any_bytes_are_harmless),
    CHECK_CASE(deep_recursion_is_exported),
    CHECK_CASE(a_page_leaves_out_the_shortest_of_too_many),
    CHECK_CASE(an_export_is_always_the_same),
    CHECK_CASE(the_format_follows_from_the_file_name),
    CHECK_CASE(formats_can_be_listed),
    CHECK_CASE(pprof_is_always_compressed),
    CHECK_CASE(failures_are_reported_and_leave_nothing),
    CHECK_CASE(memory_may_run_out_anywhere),
};

CHECK_MAIN(cases)
