/* Exports hold every event of a capture, properly nested, as valid JSON; a file is there
   whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "alloc.h"
#include "chromed.h"

/* ---- the cases ---- */

static void play_names(const char *name)
{
    tape_start(name);
    const uint32_t keys[] = {
        tape_key("Class.method", "/src/program.py", 12, KYMO_CLASS_FUNCTION),
        tape_key("sorted", "builtins", 0, KYMO_CLASS_NATIVE),
        tape_key("list.append", "builtins", 0, KYMO_CLASS_METHOD),
        tape_key("Outer.Inner.run", "native", 0, KYMO_CLASS_METHOD),
        tape_key("int", "builtins", 0, KYMO_CLASS_TYPE),
        tape_key("OrderedDict", "collections", 0, KYMO_CLASS_TYPE),
        tape_key("partial", "functools", 0, KYMO_CLASS_CALLABLE),
        tape_span("step 1"),
    };
    for (uint64_t i = 0; i < 8; i++) {
        tape_enter(10 * i, keys[i]);
        tape_leave(10 * i + 5, keys[i]);
    }
}

static void callables_are_named_by_their_function_first(void)
{
    play_names("names");
    CHECK_EQ(export("names"), 8);

    CHECK_HAS("\"cat\":\"python_function\",\"name\":\"Class.method (/src/program.py:12)\"");
    CHECK_HAS("\"cat\":\"python_function\",\"name\":\"sorted (builtins)\"");
    CHECK_HAS("\"name\":\"list.append (builtins)\"");
    CHECK_HAS("\"name\":\"OrderedDict (collections)\"");
    CHECK_HAS("\"cat\":\"user_annotation\",\"name\":\"step 1\"");
    CHECK(!has("Record Window End"));
}

static void the_kineto_dialect_names_callables_as_pytorch_does(void)
{
    play_names("kineto");
    CHECK_EQ(export_with("kineto", "", NULL), 8 + 1); /* and the window */

    CHECK_HAS("\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\"");
    CHECK_HAS("\"name\":\"Iteration Start: PyTorch Profiler\"");
    CHECK_HAS("\"name\":\"Record Window End\"");
    CHECK(!has("\"ts\":0.000"));
    CHECK_HAS("\"cat\":\"python_function\",\"name\":\"/src/program.py(12): method\"");
    CHECK_HAS("\"cat\":\"python_function\",\"name\":\"<built-in function sorted>\"");
    CHECK_HAS("\"name\":\"<built-in method append of list object>\"");
    CHECK_HAS("\"name\":\"<built-in method run of Outer.Inner object>\"");
    CHECK_HAS("\"name\":\"<class 'int'>\"");
    CHECK_HAS("\"name\":\"<class 'collections.OrderedDict'>\"");
    CHECK_HAS("\"name\":\"<functools.partial object>\"");
    CHECK_HAS("\"cat\":\"user_annotation\",\"name\":\"step 1\"");
}

static void python_calls_know_their_parents(void)
{
    tape_start("ids");
    uint32_t f = tape_function("f"), g = tape_function("g"), span = tape_span("span");
    tape_enter(0, f);
    tape_enter(10, span);
    tape_enter(20, g);
    tape_leave(30, g);
    tape_leave(40, span);
    tape_leave(50, f);
    CHECK_EQ(export("ids"), 3);

    CHECK_HAS("f (program.py:1)\",\"pid\":"); /* the outermost has no parent */
    CHECK_HAS("\"args\":{\"Python thread\":0,\"Python id\":0}}");
    CHECK_HAS("\"args\":{\"Python thread\":0,\"Python id\":2,\"Python parent id\":0}}");
}

static void garbage_collections_have_their_numbers(void)
{
    tape_start("gc");
    uint32_t gc = tape_key("gc", NULL, 0, KYMO_CLASS_GC);
    uint32_t generation = tape_span("generation"), collected = tape_span("collected");
    tape_enter(0, gc);
    tape_put_value(0, KYMO_ARG, 0, generation, 2);
    tape_leave(10, gc);
    tape_put_value(10, KYMO_ARG, 0, collected, 17);
    CHECK_EQ(export("gc"), 1);

    CHECK_HAS("\"cat\":\"python_function\",\"name\":\"Python GC\"");
    CHECK_HAS("\"generation\":2,\"collected\":17}}");
}

static void every_kind_of_event_has_its_form(void)
{
    tape_start("kinds");
    uint32_t name = tape_span("name"), f = tape_function("f");
    uint64_t bits;
    const double number = 2.5;
    memcpy(&bits, &number, sizeof(bits));
    tape_enter(0, f);
    tape_put(10, KYMO_INSTANT, 0, name);
    tape_put_value(20, KYMO_COUNTER, 0, name, bits);
    tape_put_value(30, KYMO_FLOW_OUT, 0, name, 7);
    tape_put_value(40, KYMO_FLOW_IN, 0, name, 7);
    tape_put_value(50, KYMO_FLOW_IN, 0, name, UINT64_MAX);
    tape_put_value(60, KYMO_ASYNC_BEGIN, 0, name, 8);
    tape_put_value(70, KYMO_ASYNC_END, 0, name, 8);
    tape_put_value(80, KYMO_OFF, 0, f, 99);
    tape_gap(3);
    tape_leave(UINT64_C(1000000000), f);
    export("kinds");

    CHECK_HAS("{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"name\"");
    CHECK_HAS("{\"ph\":\"C\",\"cat\":\"counter\",\"name\":\"name\"");
    CHECK_HAS("\"args\":{\"value\":2.5}}");
    CHECK_HAS("{\"ph\":\"s\",\"cat\":\"flow\",\"name\":\"name\"");
    CHECK_HAS("{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"flow\",\"name\":\"name\"");
    CHECK_HAS("\"id\":7,");
    CHECK_HAS("\"id\":\"0xffffffffffffffff\"");
    CHECK_HAS("{\"ph\":\"b\",\"cat\":\"async\",\"name\":\"name\"");
    CHECK_HAS("{\"ph\":\"e\",\"cat\":\"async\",\"name\":\"name\"");
    CHECK_HAS("\"kymograph: 3 events lost (budget)\"");
    CHECK_HAS("\"kymograph: f not recorded from here on (overhead budget)\"");
    CHECK_HAS("\"schemaVersion\": 1");
    CHECK_HAS("\"deviceProperties\": []");
    CHECK_HAS("\"displayTimeUnit\": \"ms\"");
    CHECK_HAS("\"baseTimeNanoseconds\": ");
    CHECK_HAS("\"name\":\"process_name\"");
    CHECK_HAS("\"name\":\"thread_name\"");
    CHECK_HAS("\"name\":\"thread_sort_index\"");
}

static void names_of_any_bytes_give_valid_json(void)
{
    static const char *const names[] = {
        "quote \" and \\ backslash",
        "line\nend, tab\t, bell\a, escape\033, delete\177",
        "\xff\xfe invalid",
        "cut short \xe2\x82",
        "\xed\xa0\x80\xed\xb0\x80 surrogates",
        "\xc0\xaf overlong, \xf5\x80\x80\x80 too far",
        "größe, 名前, \xf0\x9f\x98\x80",
        "",
    };
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    tape_start("bytes");
    kymo_metadata("key \" \xff", "value \\ \n \xed\xa0\x80");
    kymo_thread_name("thread \" \xff");
    for (uint64_t i = 0; i < COUNT; i++) {
        uint32_t key = *names[i] ? tape_key(names[i], names[i], 1, KYMO_CLASS_FUNCTION) : 0;
        tape_enter(10 * i, key);
        tape_put(10 * i, KYMO_INSTANT, 0, key);
        tape_leave(10 * i + 5, key);
    }
    CHECK_EQ(export("bytes"), COUNT);

    CHECK_HAS("quote \\\" and \\\\ backslash");
    CHECK_HAS("line\\u000aend");
    CHECK_HAS("\xef\xbf\xbd\xef\xbf\xbd invalid");
    CHECK_HAS("größe, 名前, \xf0\x9f\x98\x80");
}

static void very_long_names_are_written(void)
{
    static char name[3000001];
    memset(name, 'x', sizeof(name) - 1);
    tape_start("long");
    uint32_t f = tape_function(name), span = tape_span(name);
    tape_enter(0, f);
    tape_put_value(0, KYMO_ARG, 0, f, 1);
    tape_leave(5, f);
    tape_put(6, KYMO_INSTANT, 0, span);
    tape_put_value(7, KYMO_ARG, 0, f, 1);
    tape_put_value(8, KYMO_COMPLETE, 0, span, 1);
    tape_put_value(9, KYMO_OFF, 0, f, 1);
    CHECK_EQ(export("long"), 2);
    CHECK_LE(4 * sizeof(name) - 4, text_len);
}

static void repaired_calls_say_so(void)
{
    tape_start("repaired");
    uint32_t f = tape_function("f"), g = tape_function("g"), generator = tape_function("generator");
    tape_put(0, KYMO_ENTER, 3, f);
    tape_enter(10, g);
    tape_leave(20, f);
    tape_put_value(30, KYMO_ENTER, 1 | KYMO_HAS_ID, generator, 5);
    tape_put(40, KYMO_LEAVE, 1, generator);
    tape_enter(50, f);
    tape_put(60, KYMO_INSTANT, 0, tape_span("last"));
    CHECK_EQ(export("repaired"), 4);

    CHECK_HAS("\"End lost\":true");
    CHECK_HAS("\"started\":false");
    CHECK_HAS("\"finished\":false");
    CHECK_HAS("\"Generator id\":5,\"Enter\":\"resume\",\"Leave\":\"yield\"");
}

static void finished_events_that_overlap_get_tracks_of_their_own(void)
{
    tape_start("tracks");
    uint32_t kernel = tape_span("kernel"), f = tape_function("f");
    tape_enter(0, f);
    tape_put_value(10, KYMO_COMPLETE, 0, kernel, 100);
    tape_put_value(50, KYMO_COMPLETE, 0, kernel, 100);
    tape_put_value(120, KYMO_COMPLETE, 0, kernel, 10);
    tape_put_value(20, KYMO_COMPLETE, 0, kernel, 500);
    tape_leave(60, f);
    CHECK_EQ(export("tracks"), 5);
    CHECK_HAS("\"cat\":\"track\",\"name\":\"kernel\"");
}

static void *thread_body(void *arg)
{
    tape_enter(0, *(uint32_t *)arg);
    return NULL; /* its call is still open */
}

static void threads_with_the_same_system_id_are_kept_apart(void)
{
    /* Many short threads one after another: the system gives ids again. */
    tape_start("threads");
    uint32_t f = tape_function("f");
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, thread_body, &f);
        pthread_join(thread, NULL);
    }
    CHECK_EQ(export("threads"), 50);
}

static void a_million_events_nest(void)
{
    uint64_t state = 1, time = 0;
    uint32_t keys[10], stack[30];
    unsigned depth = 0;
    size_t calls = 0;
    tape_start("million");
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof(name), "f%d", i);
        keys[i] = i < 7 ? tape_function(name) : tape_span(name);
    }
    for (int i = 0; i < 1000000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned dice = (unsigned)(state >> 33);
        time += dice % 100;
        if (depth == 0 || (depth < 30 && (dice & 128))) {
            stack[depth] = keys[dice % 10];
            calls += dice % 1009 != 0;
            if (dice % 1009)
                tape_enter(time, stack[depth]);
            depth++;
        } else if (dice % 1013) {
            tape_leave(time, stack[--depth]);
        } else {
            depth--;
        }
    }
    CHECK_LE(calls, export("million"));
}

static void a_window_exports_only_its_part(void)
{
    tape_start("window");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    for (uint64_t i = 0; i < 10; i++) {
        tape_enter(100 * i, g);
        tape_leave(100 * i + 50, g);
    }
    tape_leave(1000, f);
    struct kymo_capture *capture = tape_stop("window");
    const struct kymo_export_options options = {.size = sizeof(options),
                                                .format = "chrome",
                                                .from = (kymo_ns)tape_zero + 225,
                                                .to = (kymo_ns)tape_zero + 525,
                                                .thread = 0};
    CHECK_OK(kymo_export(capture, check_path("window.txt"), &options));
    kymo_close(capture);
    load(check_path("window.txt"));
    CHECK_EQ(check_nesting(), 5);
    CHECK_HAS("\"dur\":0.300,");
}

static struct kymo_capture *some_capture(const char *name, int calls)
{
    tape_start(name);
    uint32_t f = tape_function("f");
    for (int i = 0; i < calls; i++) {
        tape_enter((uint64_t)i * 10, f);
        tape_leave((uint64_t)i * 10 + 5, f);
    }
    return tape_stop(name);
}

static void a_name_that_ends_in_gz_is_compressed(void)
{
    struct kymo_capture *capture = some_capture("gz", 20000);
    CHECK_OK(kymo_export(capture, check_path("out.json.gz"), NULL));
    CHECK_OK(kymo_export(capture, check_path("out.json"), NULL));
    kymo_close(capture);

    struct stat packed, plain;
    CHECK_EQ(stat(check_path("out.json.gz"), &packed), 0);
    CHECK_EQ(stat(check_path("out.json"), &plain), 0);
    CHECK_LE(packed.st_size, plain.st_size / 5);
    load(check_path("out.json.gz"));
    CHECK_EQ(text_len, plain.st_size + 3); /* the file's name is in it, with .gz */
    CHECK_EQ(check_nesting(), 20000);
}

/* How many files in the directory of this program begin with NAME. */
static int files_like(const char *name)
{
    char command[600];
    snprintf(command, sizeof(command), "ls -A '%s' | grep -c '^%s'", check_dir, name);
    FILE *pipe = popen(command, "r");
    int count = -1;
    CHECK_EQ(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

static void a_failed_export_leaves_the_old_file(void)
{
    struct kymo_capture *capture = some_capture("full", 200000);
    FILE *old = fopen(check_path("keep.json"), "w");
    fputs("old", old);
    fclose(old);
    struct rlimit before, small = {1 << 20, RLIM_INFINITY};
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = kymo_export(capture, check_path("keep.json"), NULL);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);

    CHECK_EQ(rc, -EFBIG);
    CHECK_EQ(files_like("keep.json"), 1);
    char was[8] = "";
    old = fopen(check_path("keep.json"), "r");
    CHECK_EQ(fread(was, 1, 7, old), 3);
    fclose(old);
    CHECK_STR(was, "old");
    kymo_close(capture);
}

static void a_full_disk_is_reported(void)
{
    struct kymo_capture *capture = some_capture("disk", 100);
    const struct kymo_export_options options = {
        .size = sizeof(options), .format = "chrome", .to = INT64_MAX, .thread = -1};
    CHECK_EQ(kymo_export(capture, "/dev/full", &options), -ENOSPC);
    CHECK_EQ(kymo_export(capture, check_path("no/such/directory.json"), NULL), -ENOENT);
    CHECK_EQ(kymo_export(capture, check_dir, &options), -EISDIR);
    kymo_close(capture);
}

static int refuse(void *arg, uint64_t read, uint64_t all)
{
    (void)arg;
    CHECK_LE(read, all);
    return -ECANCELED;
}

static void progress_can_stop_an_export(void)
{
    struct kymo_capture *capture = some_capture("stopped", 100000);
    const struct kymo_export_options options = {
        .size = sizeof(options), .to = INT64_MAX, .thread = -1, .progress = refuse};
    CHECK_EQ(kymo_export(capture, check_path("never.json"), &options), -ECANCELED);
    CHECK_EQ(files_like("never"), 0);
    kymo_close(capture);
}

static void invalid_options_are_refused(void)
{
    struct kymo_capture *capture = some_capture("sense", 1);
    struct kymo_export_options options = {
        .size = sizeof(options), .format = "cuneiform", .to = INT64_MAX, .thread = -1};
    CHECK_EQ(kymo_export(capture, check_path("a.json"), &options), KYMO_EFORMAT);
    CHECK_EQ(kymo_export(capture, check_path("a.tablet"), NULL), KYMO_EFORMAT);
    options = (struct kymo_export_options){.size = sizeof(options), .to = INT64_MAX, .thread = 1};
    CHECK_EQ(kymo_export(capture, check_path("a.json"), &options), -EINVAL);
    options.size = 3;
    CHECK_EQ(kymo_export(capture, check_path("a.json"), &options), -EINVAL);
    CHECK_EQ(files_like("a\\."), 0);
    kymo_close(capture);
}

static void a_link_stays_a_link(void)
{
    struct kymo_capture *capture = some_capture("link", 1);
    FILE *old = fopen(check_path("target.json"), "w");
    fclose(old);
    CHECK_EQ(symlink("target.json", check_path("link.json")), 0);
    CHECK_OK(kymo_export(capture, check_path("link.json"), NULL));
    kymo_close(capture);

    struct stat st;
    CHECK_EQ(lstat(check_path("link.json"), &st), 0);
    CHECK(S_ISLNK(st.st_mode));
    load(check_path("target.json"));
    CHECK_EQ(check_nesting(), 1);
}

static void run_out_of_memory(const char *extra)
{
    struct kymo_capture *capture = some_capture("memory", 100);
    const struct kymo_export_options options = {
        .size = sizeof(options), .to = INT64_MAX, .thread = -1, .extra = extra};
    long n = 0;
    int rc;
    do {
        remove(check_path("memory.json.gz"));
        kymo__alloc_fail_after(n++);
        rc = kymo_export(capture, check_path("memory.json.gz"), &options);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK_EQ(files_like("memory.json.gz"), rc == 0);
        CHECK_LE(n, 200);
    } while (rc < 0);
    CHECK_LE(5, n);
    kymo_close(capture);
}

static void memory_may_run_out_anywhere(void)
{
    run_out_of_memory(NULL);
    run_out_of_memory("");
}

static const struct check_case cases[] = {
    CHECK_CASE(callables_are_named_by_their_function_first),
    CHECK_CASE(the_kineto_dialect_names_callables_as_pytorch_does),
    CHECK_CASE(python_calls_know_their_parents),
    CHECK_CASE(garbage_collections_have_their_numbers),
    CHECK_CASE(every_kind_of_event_has_its_form),
    CHECK_CASE(names_of_any_bytes_give_valid_json),
    CHECK_CASE(very_long_names_are_written),
    CHECK_CASE(repaired_calls_say_so),
    CHECK_CASE(finished_events_that_overlap_get_tracks_of_their_own),
    CHECK_CASE(threads_with_the_same_system_id_are_kept_apart),
    CHECK_CASE(a_million_events_nest),
    CHECK_CASE(a_window_exports_only_its_part),
    CHECK_CASE(a_name_that_ends_in_gz_is_compressed),
    CHECK_CASE(a_failed_export_leaves_the_old_file),
    CHECK_CASE(a_full_disk_is_reported),
    CHECK_CASE(progress_can_stop_an_export),
    CHECK_CASE(invalid_options_are_refused),
    CHECK_CASE(a_link_stays_a_link),
    CHECK_CASE(memory_may_run_out_anywhere),
};

CHECK_MAIN(cases)
