/* Samples are read, named, hidden and added up as documented, whatever a file says; names come
   from a stand-in that knows a few addresses and notes what it was asked. */
#include "samples.h"

#include <errno.h>

#include "alloc.h"
#include "check.h"
#include "rewrite.h"
#include "rewrite_stacks.h"
#include "sampled.h"
#include "stacks.h"

/* ---- a symbolizer that knows little ---- */

struct kymo_symbolizer {
    struct kymo_symbol symbols[512];
};

static unsigned asked, places_asked;
static char build_ids[256];

static const struct {
    const char *file;
    uint64_t offset;
    struct kymo_symbol symbol;
} known[] = {
    {"python3.13", 0x1000, {"main", "", 0, 0}},
    {"python3.13", 0x2000, {"_PyEval_EvalFrameDefault", "ceval.c", 9, 0}},
    {"python3.13", 0x3000, {"list_sort", "listobject.c", 5, 0}},
    {"python3.13", 0x4000, {"PyObject_Vectorcall", "call.c", 6, 0}},
    {"libwork.so.1", 0x1500, {"inner", "work.h", 3, 1}},
    {"libwork.so.1", 0x1500, {"compute", "work.c", 7, 0}},
    {"libc.so.6", 0x1010, {"start_thread", "", 0, 0}},
};

int kymo_symbolizer_new(int mode, struct kymo_symbolizer **symbolizer)
{
    (void)mode;
    *symbolizer = kymo__alloc(sizeof(**symbolizer));
    return *symbolizer ? 0 : -ENOMEM;
}

void kymo_symbolizer_free(struct kymo_symbolizer *symbolizer)
{
    kymo__free(symbolizer);
}

int kymo_symbolize(struct kymo_symbolizer *symbolizer, const struct kymo_place *places,
                   size_t count, const struct kymo_symbol **symbols, size_t *first)
{
    size_t at = 0;
    asked++;
    places_asked += (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        const char *slash = strrchr(places[i].path, '/');
        first[i] = at;
        for (size_t j = 0; j < sizeof(known) / sizeof(known[0]); j++)
            if (slash && strcmp(slash + 1, known[j].file) == 0 &&
                places[i].offset == known[j].offset)
                symbolizer->symbols[at++] = known[j].symbol;
        if (at == first[i])
            symbolizer->symbols[at++] = (struct kymo_symbol){.name = "", .file = ""};
        if (places[i].build_id && strlen(build_ids) < 200)
            sprintf(build_ids + strlen(build_ids), "%u:%02x ", places[i].build_id_bytes,
                    places[i].build_id[0]);
        CHECK(at < 500);
    }
    first[count] = at;
    *symbols = symbolizer->symbols;
    return 0;
}

int kymo_symbolize_generated(struct kymo_symbolizer *symbolizer, int64_t pid, uint64_t address,
                             struct kymo_symbol *symbol)
{
    (void)symbolizer;
    if (pid != 4321 || address != 0x7fabcdef0000)
        return 0;
    *symbol = (struct kymo_symbol){.name = "made()", .file = ""};
    return 1;
}

/* ---- captures ---- */

static struct kymo_capture *opened(const char *path)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(path, &capture));
    return capture;
}

static struct kymo_capture *program(void)
{
    const char *path = check_path("program.kymo");
    sampled_program(path, false);
    return opened(path);
}

static struct kymo_samples *samples_of(struct kymo_capture *capture, int native, bool by_thread)
{
    const struct kymo_samples_options options = {.tally = {.from = INT64_MIN, .to = INT64_MAX},
                                                 .nodes = 1 << 20,
                                                 .by_thread = by_thread,
                                                 .native = native};
    struct kymo_samples *samples;
    CHECK_OK(kymo__samples(capture, &options, &samples));
    return samples;
}

static const struct kymo_function_cost *cost_of(const struct kymo_samples *s, const char *name)
{
    for (size_t i = 0; i < s->survey->callables.count; i++)
        if (strcmp(s->survey->callables.all[i].name, name) == 0 && s->survey->functions.of[i])
            return s->survey->functions.of[i];
    return NULL;
}

/* The paths of the tree with time of their own, one to a line, as "a;b;c NS". */
static const char *paths_of(const struct kymo_samples *s)
{
    static char text[4096];
    const struct kymo_tree *tree = &s->survey->tree;
    uint32_t path[64], depth = 0;
    text[0] = '\0';
    for (uint32_t at = 0; (at = kymo__tree_next(tree, at, &depth));) {
        CHECK(depth < 64);
        path[depth] = tree->nodes[at].callable;
        if (!tree->nodes[at].self)
            continue;
        for (uint32_t i = 1; i <= depth; i++)
            sprintf(text + strlen(text), "%s%s", i > 1 ? ";" : "",
                    s->survey->callables.all[path[i]].name);
        sprintf(text + strlen(text), " %lld\n", (long long)tree->nodes[at].self);
    }
    return text;
}

static void is_text(const char *got, const char *want)
{
    if (strcmp(got, want) != 0)
        CHECK_FAIL("got\n%s\nand not\n%s", got, want);
}

/* ---- what a file says ---- */

static void frames_come_back_as_they_were_captured(void)
{
    struct kymo_capture *capture = program();
    struct kymo_stack_frame frames[8];
    CHECK_EQ(kymo_capture_stack(capture, 11, frames, 8), 7);
    CHECK_EQ(frames[0].kind, KYMO_FRAME_NATIVE);
    CHECK_EQ(frames[0].address, 0x1501);
    CHECK_STR(frames[0].path, "/opt/golden/lib/libwork.so.1");
    CHECK_STR(frames[0].build_id, "fedcba9876543210");
    CHECK_EQ(frames[2].kind, KYMO_FRAME_MANAGED);
    CHECK_STR(frames[2].name, "work");
    CHECK_STR(frames[2].file, "/srv/app/été.py");
    CHECK_EQ(frames[2].line, 12);
    CHECK_EQ(frames[2].first_line, 10);
    CHECK_EQ(kymo_capture_stack(capture, 11, frames, 0), 7);
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    CHECK_EQ(info.samples, 17);
    CHECK_EQ(info.stacks, 6);
    kymo_close(capture);
}

static void what_a_file_does_not_define_is_unknown(void)
{
    const char *path = check_path("gaps.kymo");
    struct kymo_stack_frame frames[4];
    sampled_begin(path, "1000");
    sampled_thread(0, 1, "t");
    sampled_define(KYMO__DEF_FRAME, 1, 0, 77, 5, 0, 0); /* in no such module */
    sampled_define(KYMO__DEF_FRAME, 2, 1, 99, 5, 0, 0); /* of no such key */
    sampled_define(KYMO__DEF_FRAME, 3, 9, 1, 1, 0, 0);  /* of a kind to come */
    sampled_define(KYMO__DEF_NODE, 1, 55, 1, 0, 0, 0);  /* called from nowhere */
    sampled_define(KYMO__DEF_NODE, 2, 1, 66, 0, 0, 0);  /* of no such frame */
    sampled_define(KYMO__DEF_NODE, 3, 2, 2, 0, 0, 0);
    sampled_define(KYMO__DEF_STACK, 1, 3, 0, 0, 0, 0);
    sampled_define(KYMO__DEF_STACK, 2, 88, 0, 0, 0, 0);                /* that ends nowhere */
    sampled_define(KYMO__DEF_STACK, UINT64_C(1) << 40, 1, 0, 0, 0, 0); /* that no record can have */
    for (uint32_t i = 0; i < 4; i++)
        sampled_put(0, i, i, 1, 0);
    sampled_end();
    struct kymo_capture *capture = opened(path);
    CHECK_EQ(kymo_capture_stack(capture, 1, frames, 4), 4);
    CHECK_EQ(frames[0].kind, KYMO_FRAME_MANAGED);
    CHECK_STR(frames[0].name, "");
    for (int i = 1; i < 4; i++)
        CHECK_EQ(frames[i].kind, KYMO_FRAME_UNKNOWN);
    for (uint32_t i = 0; i < 4; i += 2) {
        CHECK_EQ(kymo_capture_stack(capture, i, frames, 4), 1);
        CHECK_EQ(frames[0].kind, KYMO_FRAME_UNKNOWN);
    }
    struct kymo_samples *samples = samples_of(capture, KYMO_NATIVE_BRIEF, false);
    is_text(paths_of(samples), "(unknown) 3000\n(unknown);(unknown);(unknown);(unknown) 1000\n");
    CHECK_EQ(samples->tallies.samples, 4);
    CHECK_EQ(samples->survey->calls, 4);
    kymo__samples_free(samples);
    kymo_close(capture);
}

static void nodes_that_call_each_other_make_no_circle(void)
{
    const char *path = check_path("circle.kymo");
    struct kymo_stack_frame frames[8];
    sampled_begin(path, "1000");
    sampled_thread(0, 1, "t");
    uint32_t frame = sampled_native(0, 5);
    sampled_define(KYMO__DEF_NODE, 1, 2, frame, 0, 0, 0);
    sampled_define(KYMO__DEF_NODE, 2, 1, frame, 0, 0, 0);
    sampled_define(KYMO__DEF_NODE, 3, 3, frame, 0, 0, 0);
    sampled_define(KYMO__DEF_NODE, 1, 2, frame, 0, 0, 0); /* once more, now that 2 is there */
    sampled_define(KYMO__DEF_STACK, 1, 2, 0, 0, 0, 0);
    sampled_define(KYMO__DEF_STACK, 2, 3, 0, 0, 0, 0);
    sampled_define(KYMO__DEF_STACK, 3, 1, 0, 0, 0, 0);
    sampled_put(0, 1, 1, 1, 0);
    sampled_end();
    struct kymo_capture *capture = opened(path);
    CHECK_EQ(kymo_capture_stack(capture, 1, frames, 8), 3); /* 2, 1, unknown */
    CHECK_EQ(kymo_capture_stack(capture, 2, frames, 8), 2); /* 3, unknown */
    CHECK_EQ(kymo_capture_stack(capture, 3, frames, 8), 4); /* 1, 2, 1 as it was, unknown */
    kymo_close(capture);
}

static void an_endless_stack_is_truncated(void)
{
    const char *path = check_path("deep.kymo");
    enum { DEEP = 100000 };
    sampled_begin(path, "1000");
    sampled_thread(0, 1, "t");
    uint32_t frame = sampled_python(sampled_key("deep", "deep.py", 1), 2);
    for (uint32_t i = 1; i <= DEEP; i++)
        sampled_define(KYMO__DEF_NODE, i, i - 1, frame, 0, 0, 0);
    sampled_define(KYMO__DEF_STACK, 1, DEEP, 0, 0, 0, 0);
    sampled_put(0, 1, 1, 1, 0);
    sampled_end();
    struct kymo_capture *capture = opened(path);
    size_t count = kymo_capture_stack(capture, 1, NULL, 0);
    CHECK(count > 100 && count <= KYMO__STACK_DEEPEST + 1);
    struct kymo_samples *samples = samples_of(capture, KYMO_NATIVE_BRIEF, true);
    CHECK_EQ(cost_of(samples, "deep")->total, 1000);
    static struct kymo_shown shown[KYMO__SHOWN_MOST + 1];
    uint32_t node = kymo__stackdefs_find(&capture->reader->stacks, 1);
    count = kymo__samples_shown(samples, node, shown);
    CHECK_LE(count, KYMO__SHOWN_MOST + 1);
    kymo__samples_free(samples);
    static const char *const formats[] = {"collapsed", "speedscope", "pprof",
                                          "perfetto",  "chrome",     "html"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        CHECK_OK(
            kymo_export(capture, check_path("deep.out"),
                        &(struct kymo_export_options){.size = sizeof(struct kymo_export_options),
                                                      .format = formats[i],
                                                      .to = INT64_MAX,
                                                      .thread = -1}));
    kymo_close(capture);
}

static void samples_without_any_stack_are_unknown(void)
{
    const char *path = check_path("bare.kymo");
    sampled_begin(path, "500");
    sampled_thread(0, 1, "t");
    sampled_put(0, 1, 0, 2, 0);
    sampled_end();
    struct kymo_capture *capture = opened(path);
    struct kymo_samples *samples = samples_of(capture, KYMO_NATIVE_BRIEF, false);
    is_text(paths_of(samples), "(unknown) 1000\n");
    kymo__samples_free(samples);
    kymo_close(capture);
}

/* ---- names ---- */

static void addresses_are_symbolized_once_and_inside_the_call(void)
{
    struct kymo_capture *capture = program();
    struct kymo_stack_names *names;
    struct kymo_named_frame frames[16];
    asked = places_asked = 0;
    build_ids[0] = '\0';
    CHECK_OK(kymo_stack_names_new(capture, KYMO_SYMBOL_FULL, &names));
    CHECK_EQ(asked, 1);
    CHECK_EQ(places_asked, 6); /* every frame of a module, however many stacks have it */
    is_text(build_ids, "20:00 20:00 20:00 8:fe 8:fe ");
    CHECK_EQ(kymo_stack_named(names, 11, frames, 16), 8);
    CHECK_STR(frames[0].name, "inner");
    CHECK_EQ(frames[0].inlined, 1);
    CHECK_EQ(frames[0].line, 3);
    CHECK_STR(frames[1].name, "compute");
    CHECK_EQ(frames[1].inlined, 0);
    CHECK_EQ(frames[1].address, 0x1501);
    CHECK_STR(frames[2].name, "[python3.13]");
    CHECK_STR(frames[3].name, "work");
    CHECK_STR(frames[4].name, "_PyEval_EvalFrameDefault");
    CHECK_EQ(kymo_stack_named(names, 70001, frames, 16), 3);
    CHECK_STR(frames[0].name, "made()");
    CHECK_EQ(kymo_stack_named(names, 12345, frames, 16), 1);
    CHECK_STR(frames[0].name, "(unknown)");
    kymo_stack_names_free(names);
    kymo_close(capture);
}

/* ---- what is shown ---- */

/* Python that sorts with a key of Python, which calls a library that calls Python again. */
static struct kymo_capture *mixed(void)
{
    const char *path = check_path("mixed.kymo");
    sampled_begin(path, "1000");
    sampled_thread(0, 1, "t");
    uint32_t python = sampled_module("/opt/bin/python3.13", "", 0x400000),
             work = sampled_module("/opt/lib/libwork.so.1", "", 0x500000),
             libc = sampled_module("/lib/libc.so.6", "", 0x600000);
    uint32_t first = sampled_python(sampled_key("first", "a.py", 1), 2),
             key = sampled_python(sampled_key("key", "a.py", 10), 11),
             last = sampled_python(sampled_key("last", "a.py", 20), 21);
    uint32_t start = sampled_native(libc, 0x1011), main_ = sampled_native(python, 0x1001),
             eval = sampled_native(python, 0x2001), sort = sampled_native(python, 0x3001),
             call = sampled_native(python, 0x4001), compute = sampled_native(work, 0x1501),
             other = sampled_native(work, 0x1601);
    sampled_stack(1, (uint32_t[]){start, main_, eval, first, call, sort, 0});
    sampled_stack(2, (uint32_t[]){start, main_, eval, first, call, sort, eval, key, call, compute,
                                  call, eval, last, eval, 0});
    sampled_stack(3, (uint32_t[]){start, other, 0});
    sampled_stack(4, (uint32_t[]){start, main_, eval, first, eval, 0});
    sampled_stack(5, (uint32_t[]){start, main_, eval, first, call, compute, 0});
    for (uint32_t i = 1; i <= 5; i++)
        sampled_put(0, i * 1000, i, 1, 0);
    sampled_end();
    return opened(path);
}

static void the_interpreters_own_frames_are_hidden_where_they_say_nothing(void)
{
    struct kymo_capture *capture = mixed();
    struct kymo_samples *samples = samples_of(capture, KYMO_NATIVE_BRIEF, false);
    is_text(paths_of(samples), "first 1000\n"
                               "first;key;compute;inner;last 1000\n"
                               "first;list_sort 1000\n"
                               "first;compute;inner 1000\n"
                               "start_thread;[libwork.so.1] 1000\n");
    kymo__samples_free(samples);
    kymo_close(capture);
}

static void all_native_frames_can_be_shown(void)
{
    struct kymo_capture *capture = mixed();
    struct kymo_samples *samples = samples_of(capture, KYMO_NATIVE_ALL, false);
    const char *paths = paths_of(samples);
    CHECK(strstr(paths, "start_thread;main;_PyEval_EvalFrameDefault;first;PyObject_Vectorcall;"
                        "list_sort 1000\n"));
    CHECK(strstr(paths, "start_thread;[libwork.so.1] 1000\n"));
    kymo__samples_free(samples);
    kymo_close(capture);
}

static void without_native_frames_their_time_is_their_callers(void)
{
    struct kymo_capture *capture = mixed();
    struct kymo_samples *samples = samples_of(capture, KYMO_NATIVE_NONE, false);
    is_text(paths_of(samples), "first 3000\nfirst;key;last 1000\n(native) 1000\n");
    kymo__samples_free(samples);
    kymo_close(capture);
}

static void shown_frames_are_those_of_the_tree(void)
{
    static const int natives[] = {KYMO_NATIVE_BRIEF, KYMO_NATIVE_ALL, KYMO_NATIVE_NONE};
    static struct kymo_shown shown[KYMO__SHOWN_MOST + 1];
    struct kymo_capture *captures[] = {mixed(), program()};
    for (int i = 0; i < 6; i++) {
        struct kymo_samples *s = samples_of(captures[i / 3], natives[i % 3], false);
        for (size_t j = 0; j < s->tallies.count; j++) {
            uint32_t node = s->tallies.all[j].node, at = s->path_of[node];
            size_t count = kymo__samples_shown(s, node, shown);
            for (size_t k = 0; k < count; k++, at = s->survey->tree.nodes[at].parent)
                CHECK_EQ(s->callable_of[shown[k].named], s->survey->tree.nodes[at].callable);
            CHECK_EQ(at, 0);
        }
        kymo__samples_free(s);
    }
    kymo_close(captures[0]);
    kymo_close(captures[1]);
}

/* ---- figures ---- */

static void times_are_periods_and_recursion_counts_once(void)
{
    struct kymo_capture *capture = program();
    struct kymo_samples *s = samples_of(capture, KYMO_NATIVE_BRIEF, true);
    CHECK_EQ(s->tallies.period, 1000000);
    CHECK_EQ(s->tallies.samples, 17);
    CHECK_EQ(s->tallies.periods, 19);
    CHECK_EQ(s->tallies.of_wall, 0);
    CHECK_EQ(cost_of(s, "fib")->calls, 2);
    CHECK_EQ(cost_of(s, "fib")->primitive, 2);
    CHECK_EQ(cost_of(s, "fib")->self, 2000000);
    CHECK_EQ(cost_of(s, "fib")->total, 2000000);
    CHECK_EQ(cost_of(s, "work")->self, 3000000);
    CHECK_EQ(cost_of(s, "work")->total, 11000000);
    CHECK_EQ(cost_of(s, "work")->calls, 9);
    CHECK_EQ(cost_of(s, "<module>")->total, 14000000);
    CHECK_EQ(s->survey->threads[0].busy, 15000000);
    CHECK_EQ(s->survey->threads[1].busy, 4000000);
    CHECK_EQ(s->survey->counts.slices, 17);
    kymo_ns self = 0;
    for (int i = 0; i < KYMO__CLASSES; i++)
        self += s->survey->self[i];
    CHECK_EQ(self, 19000000);
    kymo__samples_free(s);
    kymo_close(capture);
}

static void a_part_of_time_and_a_thread_can_be_chosen(void)
{
    struct kymo_capture *capture = program();
    const bool chosen[] = {false, true};
    kymo_ns start = (kymo_ns)SAMPLED_ZERO;
    const struct kymo_samples_options options = {
        .tally = {.from = start + 3000000, .to = start + 7000000, .chosen = chosen}, .nodes = 1000};
    struct kymo_samples *s;
    CHECK_OK(kymo__samples(capture, &options, &s));
    CHECK_EQ(s->tallies.samples, 2); /* at 3 and 5 ms; that at 7 is outside */
    kymo__samples_free(s);
    kymo_close(capture);
}

static void a_sample_does_not_take_the_numbers_of_the_event_before_it(void)
{
    const char *path = check_path("between.kymo");
    sampled_begin(path, "1000");
    sampled_thread(0, 1, "t");
    uint32_t span = kymo__writer_key(sampled, kymo__writer_string(sampled, "span"), 0, 0, 0),
             size = kymo__writer_key(sampled, kymo__writer_string(sampled, "size"), 0, 0, 0);
    sampled_event(0, 0, KYMO_ENTER, span);
    sampled_event(0, 1000, KYMO_LEAVE, span);
    sampled_put(0, 2000, 1, 1, 0);
    kymo__writer_event(sampled, 0, SAMPLED_ZERO + 2000, kymo_word(KYMO_ARG, 0, size), 42);
    sampled_put(0, 3000, 1, 1, 0);
    sampled_end();
    struct kymo_capture *capture = opened(path);
    struct kymo_columns *columns;
    CHECK_OK(kymo_columns_new(capture, NULL, &columns));
    CHECK_EQ(kymo_columns_next(columns), 1);
    const struct kymo_table *slices = kymo_columns_table(columns, 0),
                            *args = kymo_columns_table(columns, 2);
    CHECK_EQ(slices->rows, 1);
    for (unsigned i = 0; i < slices->count; i++)
        if (strcmp(slices->columns[i].name, "duration") == 0)
            CHECK_EQ(*(const int64_t *)slices->columns[i].values, 1000);
    CHECK_EQ(args->rows, 1);
    CHECK_EQ(*(const uint8_t *)args->columns[0].values, 0); /* of the slice */
    kymo_columns_free(columns);
    kymo_close(capture);
}

/* ---- rewriting ---- */

static struct kymo_capture *merged(struct kymo_capture *a, struct kymo_capture *b)
{
    const struct kymo_rewrite_options plain = {0};
    const struct kymo_part parts[] = {{.capture = a, .from = INT64_MIN, .to = INT64_MAX},
                                      {.capture = b, .from = INT64_MIN, .to = INT64_MAX}};
    const char *path = check_path("merged.kymo");
    CHECK_OK(kymo__rewrite(parts, b ? 2 : 1, path, &plain));
    return opened(path);
}

static void a_cut_has_the_same_samples(void)
{
    struct kymo_capture *before = program(), *after = merged(before, NULL);
    struct kymo_samples *a = samples_of(before, KYMO_NATIVE_ALL, true),
                        *b = samples_of(after, KYMO_NATIVE_ALL, true);
    char paths[4096];
    strcpy(paths, paths_of(a));
    is_text(paths_of(b), paths);
    CHECK_EQ(a->tallies.samples, b->tallies.samples);
    kymo__samples_free(a);
    kymo__samples_free(b);
    kymo_close(before);
    kymo_close(after);
}

static void merged_stacks_stay_apart_and_periods_get_one_length(void)
{
    struct kymo_capture *first = mixed(); /* 1 µs */
    const char *path = check_path("slower.kymo");
    sampled_begin(path, "1500");
    sampled_thread(0, 9, "other");
    uint32_t frame = sampled_python(sampled_key("first", "b.py", 1), 5);
    sampled_stack(1, (uint32_t[]){frame, 0}); /* the same id as in the other */
    sampled_put(0, 1, 1, 2, 1);
    sampled_end();
    struct kymo_capture *second = opened(path), *both = merged(first, second);
    CHECK_EQ(kymo__sample_period(both), 500);
    struct kymo_samples *s = samples_of(both, KYMO_NATIVE_NONE, true);
    CHECK_EQ(s->survey->threads[0].busy, 5000);
    CHECK_EQ(s->survey->threads[1].busy, 3000);
    CHECK_EQ(s->tallies.of_wall, 1);
    kymo__samples_free(s);
    kymo_close(both);
    kymo_close(second);
    kymo_close(first);
}

/* ---- when memory is short ---- */

static int everything(struct kymo_capture *capture)
{
    static const char *const formats[] = {"collapsed", "speedscope", "pprof",
                                          "perfetto",  "chrome",     "html"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(formats) / sizeof(formats[0]); i++) {
        const struct kymo_export_options options = {.size = sizeof(options),
                                                    .format = formats[i],
                                                    .to = INT64_MAX,
                                                    .thread = -1,
                                                    .of = KYMO_OF_SAMPLES};
        rc = kymo_export(capture, check_path("short.out"), &options);
    }
    return rc;
}

static void any_allocation_may_fail(void)
{
    char path[512]; /* check_path gives its places away again */
    snprintf(path, sizeof(path), "%s", check_path("program.kymo"));
    sampled_program(path, true);
    int rc = -ENOMEM;
    long n = 0;
    for (; rc == -ENOMEM && n < 20000; n++) {
        struct kymo_capture *capture = NULL;
        kymo__alloc_fail_after(n);
        rc = kymo_open(path, &capture);
        if (rc == 0)
            rc = everything(capture);
        kymo__alloc_fail_after(-1);
        kymo_close(capture);
    }
    CHECK_OK(rc);
    CHECK(n > 100);
}

static const struct check_case cases[] = {
    CHECK_CASE(frames_come_back_as_they_were_captured),
    CHECK_CASE(what_a_file_does_not_define_is_unknown),
    CHECK_CASE(nodes_that_call_each_other_make_no_circle),
    CHECK_CASE(an_endless_stack_is_truncated),
    CHECK_CASE(samples_without_any_stack_are_unknown),
    CHECK_CASE(addresses_are_symbolized_once_and_inside_the_call),
    CHECK_CASE(the_interpreters_own_frames_are_hidden_where_they_say_nothing),
    CHECK_CASE(all_native_frames_can_be_shown),
    CHECK_CASE(without_native_frames_their_time_is_their_callers),
    CHECK_CASE(shown_frames_are_those_of_the_tree),
    CHECK_CASE(times_are_periods_and_recursion_counts_once),
    CHECK_CASE(a_part_of_time_and_a_thread_can_be_chosen),
    CHECK_CASE(a_sample_does_not_take_the_numbers_of_the_event_before_it),
    CHECK_CASE(a_cut_has_the_same_samples),
    CHECK_CASE(merged_stacks_stay_apart_and_periods_get_one_length),
    CHECK_CASE(any_allocation_may_fail),
};
CHECK_MAIN(cases)
