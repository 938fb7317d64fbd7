/* One pass over a capture says what each function cost, on which path, on which thread. */
#include "survey.h"

#include <errno.h>
#include <pthread.h>

#include "alloc.h"
#include "tape.h"

static struct kymo_capture *capture;
static struct kymo_survey *survey;

static const struct kymo_survey_options everything = {
    .from = INT64_MIN, .to = INT64_MAX, .nodes = 1000};

static void finish(const char *name)
{
    capture = tape_stop(name);
    CHECK_OK(kymo__survey(capture, &everything, &survey));
}

static void done(void)
{
    kymo__survey_free(survey);
    kymo_close(capture);
}

static const struct kymo_function_cost *cost_of(const char *name)
{
    const struct kymo_function_cost *found = NULL;
    for (size_t i = 0; i < survey->callables.count; i++) {
        if (strcmp(survey->callables.all[i].name, name) != 0 || !survey->functions.of[i])
            continue;
        if (found)
            CHECK_FAIL("%s is there twice", name);
        found = survey->functions.of[i];
    }
    if (!found)
        CHECK_FAIL("%s is not there", name);
    return found;
}

/* The node on the path of functions with one-letter names, or NULL. */
static const struct kymo_node *node_at(const char *path)
{
    const struct kymo_tree *tree = &survey->tree;
    uint32_t at = 0;
    for (; *path; path++) {
        uint32_t child = tree->nodes[at].child;
        while (child && survey->callables.all[tree->nodes[child].callable].name[0] != *path)
            child = tree->nodes[child].sibling;
        if (!child)
            return NULL;
        at = child;
    }
    return &tree->nodes[at];
}

static void functions_have_calls_self_and_total_time(void)
{
    tape_start("cost");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    tape_enter(10, g);
    tape_leave(20, g);
    tape_enter(30, g);
    tape_leave(60, g);
    tape_leave(100, f);
    finish("cost");

    const struct kymo_function_cost *cf = cost_of("f"), *cg = cost_of("g");
    CHECK_EQ(cf->calls, 1);
    CHECK_EQ(cf->self, 60);
    CHECK_EQ(cf->total, 100);
    CHECK_EQ(cg->calls, 2);
    CHECK_EQ(cg->self, 40);
    CHECK_EQ(cg->total, 40);
    CHECK_EQ(cg->least, 10);
    CHECK_EQ(cg->most, 30);
    CHECK_EQ(kymo__histogram_at(&cg->lengths, 0.5), 10);
    CHECK_EQ(kymo__histogram_at(&cg->lengths, 0.99), 30);
    CHECK_EQ(survey->calls, 3);
    CHECK_EQ(survey->self[KYMO_CLASS_FUNCTION], 100);
    CHECK_EQ(survey->threads[0].busy, 100);
    done();
}

static void recursion_counts_once_for_the_total(void)
{
    tape_start("recursion");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    tape_enter(10, g);
    tape_enter(20, f);
    tape_enter(30, f);
    tape_leave(40, f);
    tape_leave(50, f);
    tape_leave(60, g);
    tape_leave(100, f);
    finish("recursion");

    const struct kymo_function_cost *c = cost_of("f");
    CHECK_EQ(c->calls, 3);
    CHECK_EQ(c->total, 100);
    CHECK_EQ(c->self, 80);
    CHECK_EQ(c->sum, 140);
    CHECK_EQ(cost_of("g")->total, 50);
    CHECK_EQ(node_at("f")->total, 100);
    CHECK_EQ(node_at("fgf")->total, 30);
    CHECK_EQ(node_at("fgff")->self, 10);
    CHECK(node_at("ff") == NULL);
    done();
}

static void resumes_are_not_calls(void)
{
    tape_start("resumes");
    uint32_t g = tape_function("g"), open = tape_function("o");
    tape_put(0, KYMO_ENTER, 3, open);
    tape_put_value(0, KYMO_ENTER, 0 | KYMO_HAS_ID, g, 1);
    tape_put(10, KYMO_LEAVE, 1, g);
    tape_put_value(20, KYMO_ENTER, 1 | KYMO_HAS_ID, g, 1);
    tape_put(30, KYMO_LEAVE, 1, g);
    tape_put_value(40, KYMO_ENTER, 2 | KYMO_HAS_ID, g, 1);
    tape_put(50, KYMO_LEAVE, 2, g);
    tape_leave(60, open);
    finish("resumes");

    CHECK_EQ(cost_of("g")->calls, 1);
    CHECK_EQ(cost_of("g")->resumes, 2);
    CHECK_EQ(cost_of("g")->total, 30);
    CHECK_EQ(cost_of("o")->calls, 1);
    CHECK_EQ(survey->calls, 2);
    CHECK_EQ(survey->resumes, 2);
    done();
}

static void equal_functions_with_different_keys_are_one(void)
{
    tape_start("equal");
    uint32_t one = tape_function("f"), two = tape_function("f");
    uint32_t method = tape_key("f", "program.py", 2, KYMO_CLASS_FUNCTION);
    CHECK(one != two);
    tape_enter(0, one);
    tape_enter(10, two);
    tape_leave(20, two);
    tape_leave(30, one);
    tape_enter(40, method);
    tape_leave(50, method);
    capture = tape_stop("equal");
    CHECK_OK(kymo__survey(capture, &everything, &survey));

    size_t different = 0;
    for (size_t i = 0; i < survey->callables.count; i++) {
        const struct kymo_function_cost *cost = survey->functions.of[i];
        if (!cost)
            continue;
        different++;
        CHECK_EQ(cost->calls, survey->callables.all[i].line == 1 ? 2 : 1);
        CHECK_EQ(cost->total, survey->callables.all[i].line == 1 ? 30 : 10);
    }
    CHECK_EQ(different, 2);
    done();
}

static void collections_are_counted_by_generation(void)
{
    tape_start("gc");
    uint32_t f = tape_function("f"), gc = tape_key("Python GC", NULL, 0, KYMO_CLASS_GC);
    uint32_t generation = tape_span("generation"), collected = tape_span("collected");
    uint32_t uncollectable = tape_span("uncollectable");
    tape_enter(0, f);
    for (uint64_t i = 0; i < 4; i++) {
        tape_enter(100 * i, gc);
        if (i < 3)
            tape_put_value(100 * i, KYMO_ARG, 0, generation, i / 2 * 2);
        else
            tape_put_value(100 * i, KYMO_ARG_TEXT, 0, generation, f); /* no number */
        tape_leave(100 * i + 10 * (i + 1), gc);
        tape_put_value(100 * i + 10 * (i + 1), KYMO_ARG, 0, collected, i);
        tape_put_value(100 * i + 10 * (i + 1), KYMO_ARG, 0, uncollectable, 1);
    }
    tape_leave(1000, f);
    finish("gc");

    CHECK_EQ(survey->gc.count[0], 2);
    CHECK_EQ(survey->gc.time[0], 30);
    CHECK_EQ(survey->gc.count[2], 1);
    CHECK_EQ(survey->gc.count[3], 1); /* which one is not known */
    CHECK_EQ(survey->gc.longest, 40);
    CHECK_EQ(survey->gc.collected, 6);
    CHECK_EQ(survey->gc.uncollectable, 4);
    CHECK_EQ(survey->self[KYMO_CLASS_GC], 100);
    CHECK_EQ(cost_of("f")->self, 900);
    done();
}

static void counters_keep_their_last_and_extreme_values(void)
{
    tape_start("counters");
    uint32_t rows = tape_span("rows");
    const double values[] = {3, -1, 7.5, 2};
    for (int i = 0; i < 4; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        tape_put_value((uint64_t)i, KYMO_COUNTER, 0, rows, bits);
    }
    finish("counters");

    const struct kymo_survey_counter *counter = NULL;
    for (size_t i = 0; i < survey->callables.count; i++)
        counter = survey->counters[i] ? survey->counters[i] : counter;
    CHECK(counter != NULL);
    CHECK(counter->last == 2 && counter->least == -1 && counter->most == 7.5);
    CHECK_EQ(counter->changes, 4);
    done();
}

static void a_function_switched_off_is_known(void)
{
    tape_start("off");
    uint32_t f = tape_function("f");
    tape_enter(0, f);
    tape_leave(10, f);
    tape_put_value(20, KYMO_OFF, 1, f, 5);
    tape_put_value(30, KYMO_OFF, 1, f, 5);
    finish("off");

    CHECK_EQ(cost_of("f")->calls, 1);
    CHECK_EQ(cost_of("f")->off, 2);
    CHECK_EQ(cost_of("f")->off_when, (kymo_ns)tape_zero + 20);
    done();
}

/* ---- many threads ---- */

enum { THREADS = 8, ROUNDS = 2000 };
static uint32_t outer, inner, recursive;

static void *work(void *arg)
{
    unsigned mine = (unsigned)(uintptr_t)arg;
    for (uint64_t i = 0; i < ROUNDS * (uint64_t)(mine + 1); i++) {
        uint64_t at = 1000 * i;
        tape_enter(at, outer);
        tape_enter(at + 100, inner);
        tape_enter(at + 200, recursive);
        tape_enter(at + 210, recursive);
        tape_leave(at + 220, recursive);
        tape_leave(at + 300, recursive);
        tape_leave(at + 400, inner);
        tape_leave(at + 600, outer);
    }
    return NULL;
}

static void threads_add_up(void)
{
    pthread_t threads[THREADS];
    tape_start("threads");
    outer = tape_function("a");
    inner = tape_function("b");
    recursive = tape_function("c");
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    capture = tape_stop("threads");
    const int64_t rounds = ROUNDS * THREADS * (THREADS + 1) / 2;

    for (unsigned workers = 0; workers <= 16; workers += 4) {
        struct kymo_survey_options options = everything;
        options.workers = workers;
        CHECK_OK(kymo__survey(capture, &options, &survey));
        CHECK_EQ(survey->calls, 4 * rounds);
        CHECK_EQ(cost_of("a")->calls, rounds);
        CHECK_EQ(cost_of("a")->self, 300 * rounds);
        CHECK_EQ(cost_of("b")->total, 300 * rounds);
        CHECK_EQ(cost_of("c")->calls, 2 * rounds);
        CHECK_EQ(cost_of("c")->total, 100 * rounds);
        CHECK_EQ(cost_of("c")->self, 100 * rounds);
        CHECK_EQ(node_at("abcc")->total, 10 * rounds);
        CHECK_EQ(node_at("a")->calls, rounds);
        CHECK_EQ(survey->counts.deepest, 4);
        kymo__survey_free(survey);
    }
    kymo_close(capture);
}

static void one_thread_can_be_chosen(void)
{
    pthread_t thread;
    tape_start("chosen");
    outer = tape_function("a");
    inner = tape_function("b");
    recursive = tape_function("c");
    work((void *)0);
    pthread_create(&thread, NULL, work, (void *)1);
    pthread_join(thread, NULL);
    capture = tape_stop("chosen");
    struct kymo_survey_options options = everything;
    const bool chosen[] = {false, true};
    options.chosen = chosen;

    CHECK_OK(kymo__survey(capture, &options, &survey));
    CHECK_EQ(cost_of("a")->calls, 2 * ROUNDS);
    CHECK(!survey->threads[0].read);
    CHECK(survey->threads[1].read);
    done();
}

static void a_window_counts_only_its_part(void)
{
    tape_start("part");
    outer = tape_function("a");
    inner = tape_function("b");
    recursive = tape_function("c");
    work((void *)0);
    capture = tape_stop("part");
    struct kymo_survey_options options = everything;
    options.from = (kymo_ns)tape_zero + 1000 * 10 + 50; /* 50 ns into the eleventh round */
    options.to = options.from + 1000;

    CHECK_OK(kymo__survey(capture, &options, &survey));
    CHECK_EQ(cost_of("a")->calls, 2);
    CHECK_EQ(cost_of("a")->total, 600);
    CHECK_EQ(cost_of("b")->calls, 1);
    done();
}

static void a_full_tree_folds_new_paths_into_their_callers(void)
{
    tape_start("full");
    uint32_t a = tape_function("a"), b = tape_function("b"), c = tape_function("c");
    tape_enter(0, a);
    tape_enter(10, b);
    tape_enter(20, c);
    tape_enter(25, b);
    tape_leave(28, b);
    tape_leave(30, c);
    tape_leave(40, b);
    tape_leave(50, a);
    capture = tape_stop("full");
    struct kymo_survey_options options = everything;
    options.nodes = 3; /* the root, a and b */

    CHECK_OK(kymo__survey(capture, &options, &survey));
    CHECK_EQ(survey->tree.count, 3);
    CHECK_EQ(survey->tree.folded, 2);
    CHECK_EQ(node_at("ab")->calls, 1);
    CHECK_EQ(node_at("ab")->total, 30);
    CHECK_EQ(node_at("ab")->self, 30);
    CHECK_EQ(node_at("a")->self, 20);
    CHECK_EQ(cost_of("c")->self, 7);
    done();
}

static void children_of_the_tree_are_in_order(void)
{
    tape_start("order");
    uint32_t keys[26], root = tape_function("root");
    tape_enter(0, root);
    uint64_t at = 10;
    for (unsigned i = 0; i < 26; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        keys[i] = tape_function(name);
        tape_enter(at, keys[i]);
        at += 10 + i * 7 % 26;
        tape_leave(at, keys[i]);
    }
    tape_leave(at, root);
    finish("order");

    const struct kymo_tree *tree = &survey->tree;
    uint32_t child = tree->nodes[tree->nodes[0].child].child;
    unsigned count = 0;
    for (kymo_ns last = INT64_MAX; child; child = tree->nodes[child].sibling, count++) {
        CHECK_LE(tree->nodes[child].total, last);
        last = tree->nodes[child].total;
    }
    CHECK_EQ(count, 26);
    done();
}

static int refuse(void *arg, uint64_t read, uint64_t all)
{
    (void)read, (void)all;
    ++*(int *)arg;
    return -ECANCELED;
}

static void progress_can_stop_a_survey(void)
{
    tape_start("stopped");
    outer = tape_function("a");
    inner = tape_function("b");
    recursive = tape_function("c");
    for (int i = 0; i < 60; i++)
        work((void *)7);
    capture = tape_stop("stopped");
    int asked = 0;
    struct kymo_survey_options options = everything;
    options.progress = refuse;
    options.progress_arg = &asked;

    int rc = kymo__survey(capture, &options, &survey);
    if (rc == 0) {
        kymo__survey_free(survey);
        kymo_close(capture);
        CHECK_SKIP("this machine reads 8 million events in a tenth of a second");
    }
    CHECK_EQ(rc, -ECANCELED);
    CHECK_LE(1, asked);
    kymo_close(capture);
}

static void memory_may_run_out_anywhere(void)
{
    tape_start("memory");
    outer = tape_function("a");
    inner = tape_function("b");
    recursive = tape_function("c");
    work((void *)0);
    capture = tape_stop("memory");
    long n = 0;
    int rc;
    do {
        kymo__alloc_fail_after(n++);
        rc = kymo__survey(capture, &everything, &survey);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK_LE(n, 500);
    } while (rc < 0);
    CHECK_EQ(cost_of("a")->calls, ROUNDS);
    done();
}

static void a_capture_without_calls_is_fine(void)
{
    tape_start("empty");
    finish("empty");
    CHECK_EQ(survey->calls, 0);
    CHECK_EQ(survey->tree.nodes[0].child, 0);
    done();
}

static const struct check_case cases[] = {
    CHECK_CASE(functions_have_calls_self_and_total_time),
    CHECK_CASE(recursion_counts_once_for_the_total),
    CHECK_CASE(resumes_are_not_calls),
    CHECK_CASE(equal_functions_with_different_keys_are_one),
    CHECK_CASE(collections_are_counted_by_generation),
    CHECK_CASE(counters_keep_their_last_and_extreme_values),
    CHECK_CASE(a_function_switched_off_is_known),
    CHECK_CASE(threads_add_up),
    CHECK_CASE(one_thread_can_be_chosen),
    CHECK_CASE(a_window_counts_only_its_part),
    CHECK_CASE(a_full_tree_folds_new_paths_into_their_callers),
    CHECK_CASE(children_of_the_tree_are_in_order),
    CHECK_CASE(progress_can_stop_a_survey),
    CHECK_CASE(memory_may_run_out_anywhere),
    CHECK_CASE(a_capture_without_calls_is_fine),
};

CHECK_MAIN(cases)
