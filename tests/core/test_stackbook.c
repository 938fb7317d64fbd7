/* Stacks become definitions: once each, with names as soon as the interpreter has them. */
#include "stackbook.h"

#include <errno.h>

#include "alloc.h"
#include "fault.h"
#include "merge.h"
#include "running.h"
#include "stackdesk.h"
#include "stackfile.h"
#include "stacktree.h"

/* ---- an interpreter: functions 1 to 9, of which `depth` run, the innermost first ---- */

static struct {
    uint64_t functions[16];
    size_t depth;
    bool settled;
    unsigned settles;
    uint64_t moved; /* added to the numbers of functions */
} play;

static void walk(struct kymo_managed_walk *walk)
{
    for (walk->count = 0; walk->count < play.depth && walk->count < walk->capacity; walk->count++) {
        walk->frames[walk->count] =
            (struct kymo_managed_frame){.code = play.functions[walk->count]};
        walk->hash = kymo_stack_hash(walk->hash, play.functions[walk->count]);
    }
}

static void keep(struct kymo_managed_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        walk->frames[i].code += play.moved;
}

static void settle(void)
{
    play.settled = true;
    play.settles++;
}

static int name_of(uint64_t number, struct kymo_named *named)
{
    static const char *const names[] = {"zero", "one", "two",   "three", "four",
                                        "five", "six", "seven", "eight", "nine"};
    if (number == 9)
        return -ENOENT;
    if (!play.settled)
        return -EAGAIN;
    named->name = names[number];
    named->file = number == 8 ? "runner.py" : "program.py";
    named->first_line = (uint32_t)number * 10;
    named->line = (uint32_t)number * 10 + 1;
    return 0;
}

static int starts_program(const struct kymo_named *named)
{
    return strcmp(named->name, "six") == 0 ? 2 : strcmp(named->name, "seven") == 0;
}

static const struct kymo_interpreter interpreter = {.size = sizeof(interpreter),
                                                    .name = "play",
                                                    .walk = walk,
                                                    .keep = keep,
                                                    .settle = settle,
                                                    .name_of = name_of,
                                                    .starts_program = starts_program,
                                                    .machinery = "play_"};

/* The stack in which the functions of DIGITS run, the innermost first. */
static kymo_stack stack_of(const char *digits)
{
    play.depth = strlen(digits);
    for (size_t i = 0; i < play.depth; i++)
        play.functions[i] = (uint64_t)(digits[i] - '0');
    kymo_stack stack = kymo_stack_capture(KYMO_STACK_MANAGED, 0);
    CHECK(stack != 0);
    return stack;
}

/* A book in a session at NAME, which is not a sampler's. */
static struct kymo_stackbook book;

static void begin(const char *name, const char *root)
{
    play.settled = false;
    CHECK_OK(fault_start(check_path(name), 0, KYMO_HELP));
    CHECK_OK(kymo__stackbook_init(&book, kymo__running->names, root));
}

static void finish(const char *name, struct stackfile *f)
{
    kymo__stackbook_fini(&book);
    CHECK_OK(kymo_stop());
    stackfile_read(f, check_path(name), NULL, NULL);
}

/* The functions of STACK in the file, the innermost first. */
static const char *functions_in(const struct stackfile *f, kymo_stack stack)
{
    static char text[256];
    text[0] = '\0';
    CHECK(f->stacks[stack].there);
    for (size_t i = 0;; i++) {
        const uint64_t *frame = stackfile_frame(f, stack, i);
        if (!frame)
            return text;
        CHECK_EQ(frame[1], 1);
        const struct kymo_reader_key *key = &f->reader->keys[frame[2]];
        char one[64];
        snprintf(one, sizeof(one), "%s%s:%u:%u", i ? " " : "",
                 kymo__reader_string(f->reader, key->name), key->line, (unsigned)frame[3]);
        strcat(text, one);
    }
}

static void a_stack_waits_until_its_functions_have_names(void)
{
    struct stackfile f;
    begin("wait", NULL);
    kymo_stack stack = stack_of("12");
    kymo__stackbook_add(&book, stack);
    CHECK_EQ(book.waiting_count, 1);
    kymo_stack_keep(stack);
    kymo__stackbook_add(&book, stack); /* again: it waits already */
    CHECK_EQ(book.waiting_count, 1);
    kymo__stackbook_retry(&book, false);
    CHECK_EQ(book.waiting_count, 1);
    settle();
    kymo__stackbook_retry(&book, false);
    CHECK_EQ(book.waiting_count, 0);
    kymo_stack_keep(stack);
    kymo__stackbook_add(&book, stack);
    finish("wait", &f);
    CHECK_EQ(f.definitions, 1);
    CHECK_STR(functions_in(&f, stack), "one:10:11 two:20:21");
    stackfile_free(&f);
}

static void common_parts_of_stacks_are_written_once(void)
{
    struct stackfile f;
    begin("common", NULL);
    settle();
    kymo_stack stacks[] = {stack_of("123"), stack_of("423"), stack_of("1123"), stack_of("23")};
    for (size_t i = 0; i < 4; i++)
        kymo__stackbook_add(&book, stacks[i]);
    CHECK_EQ(book.last_frame, 4);
    CHECK_EQ(book.nodes.count, 5); /* 3, 23, 123, 423, 1123 */
    CHECK_EQ(book.functions.count, 4);
    finish("common", &f);
    CHECK_EQ(f.definitions, 4);
    CHECK_STR(functions_in(&f, stacks[2]), "one:10:11 one:10:11 two:20:21 three:30:31");
    stackfile_free(&f);
}

static void at_the_end_nameless_functions_are_recorded_as_unknown(void)
{
    struct stackfile f;
    begin("end", NULL);
    kymo_stack gone = stack_of("9"), late = stack_of("19");
    kymo__stackbook_add(&book, gone);
    kymo__stackbook_add(&book, late);
    CHECK_EQ(book.waiting_count, 1);
    kymo__stackbook_retry(&book, true);
    CHECK_EQ(book.waiting_count, 0);
    finish("end", &f);
    CHECK_STR(functions_in(&f, gone), "(unknown):0:0");
    CHECK_STR(functions_in(&f, late), "(unknown):0:0 (unknown):0:0");
    stackfile_free(&f);
}

static void frames_that_run_the_program_are_left_out(void)
{
    struct stackfile f;
    begin("root", "runner.py");
    settle();
    kymo_stack inside = stack_of("1283"), outside = stack_of("83"), other = stack_of("123");
    kymo_stack started = stack_of("127"), within = stack_of("172");
    kymo__stackbook_add(&book, inside);
    kymo__stackbook_add(&book, outside);
    kymo__stackbook_add(&book, other);
    kymo__stackbook_add(&book, started);
    kymo__stackbook_add(&book, within);
    finish("root", &f);
    CHECK_STR(functions_in(&f, inside), "one:10:11 two:20:21");
    CHECK_STR(functions_in(&f, outside), "eight:80:81 three:30:31"); /* there is nothing else */
    CHECK_STR(functions_in(&f, other), "one:10:11 two:20:21 three:30:31");
    /* The interpreter says which functions of its own start programs. */
    CHECK_STR(functions_in(&f, started), "one:10:11 two:20:21");
    CHECK_STR(functions_in(&f, within), "one:10:11 seven:70:71 two:20:21");
    stackfile_free(&f);
}

static void stacks_that_found_no_memory_are_defined_later(void)
{
    struct stackfile f;
    kymo_stack stack = stack_of("123457");
    for (long n = 0; n < 40; n++) {
        begin("memory", NULL);
        settle();
        kymo_stack_keep(stack);
        kymo__alloc_fail_after(n);
        kymo__stackbook_add(&book, stack);
        kymo__alloc_fail_after(-1);
        bool given_up = book.given_up != 0;
        kymo__stackbook_retry(&book, false);
        CHECK_EQ(book.waiting_count, 0);
        finish("memory", &f);
        CHECK_EQ(f.definitions, !given_up);
        if (!given_up)
            CHECK_STR(functions_in(&f, stack),
                      "one:10:11 two:20:21 three:30:31 four:40:41 five:50:51 seven:70:71");
        stackfile_free(&f);
    }
    kymo_stack_release(stack);
}

/* With a root, and without one. */
static void frames_of_the_profiler_are_left_out_wherever_they_are(void)
{
    static const char *const roots[] = {NULL, "runner.py"};
    for (int i = 0; i < 2; i++) {
        struct stackfile f;
        begin("ours", roots[i]);
        settle();
        kymo_stack inner = stack_of("612"), middle = stack_of("1662"), outer = stack_of("126");
        kymo_stack around = stack_of("16268"), alone = stack_of("66"), ours = stack_of("6768");
        const kymo_stack all[] = {inner, middle, outer, around, alone, ours};
        for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++)
            kymo__stackbook_add(&book, all[n]);
        finish("ours", &f);
        CHECK_STR(functions_in(&f, inner), "one:10:11 two:20:21");
        CHECK_STR(functions_in(&f, middle), "one:10:11 two:20:21");
        CHECK_STR(functions_in(&f, outer), "one:10:11 two:20:21");
        CHECK_STR(functions_in(&f, around),
                  i ? "one:10:11 two:20:21" : "one:10:11 two:20:21 eight:80:81");
        CHECK_STR(functions_in(&f, alone), "six:60:61 six:60:61"); /* there is nothing else */
        CHECK_STR(functions_in(&f, ours),
                  i ? "six:60:61 seven:70:71 six:60:61 eight:80:81" : "seven:70:71 eight:80:81");
        stackfile_free(&f);
    }
}

static void new_nodes_that_follow_each_other_have_one_definition(void)
{
    struct stackfile f;
    int64_t node = 0;
    begin("chain", NULL);
    settle();
    kymo_stack first = stack_of("123"), second = stack_of("5123"), third = stack_of("4523");
    kymo__stackbook_add(&book, first);  /* 3 2 1 */
    kymo__stackbook_add(&book, second); /* 5, below the last of these */
    kymo__stackbook_add(&book, third);  /* 5 4, below another */
    for (int i = 0; i < 150; i++)       /* more than fit into one definition */
        node = kymo__book_node(&book, (uint32_t)node, 4);
    CHECK_LE(0, kymo__book_stack(&book, 60001, (uint32_t)node));
    finish("chain", &f);
    CHECK_STR(functions_in(&f, first), "one:10:11 two:20:21 three:30:31");
    CHECK_STR(functions_in(&f, second), "five:50:51 one:10:11 two:20:21 three:30:31");
    CHECK_STR(functions_in(&f, third), "four:40:41 five:50:51 two:20:21 three:30:31");
    CHECK_EQ(f.chains, 1 + 1 + 1 + 3);
    CHECK_EQ(node, 3 + 1 + 2 + 150);
    stackfile_free(&f);
}

/* ---- stacks that a session records ---- */

static kymo_stack record_stack(const char *digits)
{
    play.depth = strlen(digits);
    for (size_t i = 0; i < play.depth; i++)
        play.functions[i] = (uint64_t)(digits[i] - '0');
    return kymo_stack_record(KYMO_STACK_MANAGED, 0);
}

static void begin_recording(const char *name, const char *root)
{
    play.settled = false;
    CHECK_OK(kymo_start(&(struct kymo_options){
        .size = sizeof(struct kymo_options), .path = check_path(name), .sample_root = root}));
}

static void recorded_stacks_are_defined_like_captured_ones(void)
{
    struct stackfile f;
    begin_recording("recorded", "runner.py");
    kymo_stack inside = record_stack("1283"), outside = record_stack("83"),
               other = record_stack("123"), started = record_stack("127"),
               within = record_stack("172"), gone = record_stack("192"),
               inner = record_stack("612"), around = record_stack("16268"),
               alone = record_stack("66");
    CHECK_EQ(record_stack("1283"), inside);
    CHECK_EQ(record_stack("172"), within);
    CHECK_EQ(record_stack(""), 0);
    CHECK_OK(kymo_stop());
    stackfile_read(&f, check_path("recorded"), NULL, NULL);
    CHECK_EQ(f.definitions, 9);
    CHECK_STR(functions_in(&f, inner), "one:10:11 two:20:21");
    CHECK_STR(functions_in(&f, around), "one:10:11 two:20:21");
    CHECK_STR(functions_in(&f, alone), "six:60:61 six:60:61");
    CHECK_STR(functions_in(&f, inside), "one:10:11 two:20:21");
    CHECK_STR(functions_in(&f, outside), "eight:80:81 three:30:31");
    CHECK_STR(functions_in(&f, other), "one:10:11 two:20:21 three:30:31");
    CHECK_STR(functions_in(&f, started), "one:10:11 two:20:21");
    CHECK_STR(functions_in(&f, within), "one:10:11 seven:70:71 two:20:21");
    CHECK_STR(functions_in(&f, gone), "one:10:11 (unknown):0:0 two:20:21");
    stackfile_free(&f);
}

static void a_function_at_the_address_of_a_freed_one_is_another(void)
{
    struct stackfile f;
    begin_recording("freed", NULL);
    kymo_stack before = record_stack("123");
    play.moved = 2;
    kymo_interpreter_forget();
    kymo_stack after = record_stack("123");
    play.moved = 0;
    kymo_interpreter_forget();
    CHECK_EQ(record_stack("123"), before);
    CHECK_OK(kymo_stop());
    stackfile_read(&f, check_path("freed"), NULL, NULL);
    CHECK_STR(functions_in(&f, before), "one:10:11 two:20:21 three:30:31");
    CHECK_STR(functions_in(&f, after), "three:30:31 four:40:41 five:50:51");
    stackfile_free(&f);
}

static void recorded_stacks_that_found_no_memory_are_defined_later(void)
{
    struct stackfile f;
    for (long n = 0; n < 30; n++) {
        struct kymo_treebook tree;
        begin("tree", NULL);
        kymo__treebook_init(&tree, &book);
        settle();
        /* No session uses these nodes: only this book defines them. */
        kymo_stack outer = kymo__stacktree_child(0, KYMO__MANAGED | 2);
        kymo_stack inner = kymo__stacktree_child(outer, KYMO__MANAGED | 1);
        kymo__desk_lock();
        kymo__stacktree_use(inner);
        kymo__alloc_fail_after(n);
        kymo__treebook_add(&tree, false);
        kymo__alloc_fail_after(-1);
        uint64_t given_up = tree.given_up;
        kymo__treebook_add(&tree, false);
        kymo__desk_unlock();
        CHECK(!kymo__treebook_waits(&tree));
        kymo__treebook_fini(&tree);
        finish("tree", &f);
        CHECK_EQ(f.definitions, !given_up);
        if (!given_up)
            CHECK_STR(functions_in(&f, inner), "one:10:11 two:20:21");
        stackfile_free(&f);
    }
}

static void samples_have_the_names_that_the_interpreter_settles(void)
{
    FAULT_NOT_EMULATED("timers of threads");
    struct stackfile f;
    play.settled = false;
    play.settles = 0;
    play.depth = 2;
    play.functions[0] = 3;
    play.functions[1] = 4;
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("sampled"),
                                               .sample_hz = 1000,
                                               .sample_clock = KYMO_SAMPLED_WALL}));
    for (int64_t end = fault_now() + 300000000; fault_now() < end;)
        fault_sleep(1000000);
    CHECK_OK(kymo_stop());
    CHECK_LE(1, play.settles);
    stackfile_read(&f, check_path("sampled"), NULL, NULL);
    CHECK_LE(1, f.samples);
    CHECK_EQ(f.undefined, 0);
    bool three = false;
    for (uint32_t i = 0; i < STACKFILE_MOST && !three; i++)
        three = f.frames[i].there && f.frames[i].number[1] == 1 && f.frames[i].number[3] == 31;
    CHECK(three);
    stackfile_free(&f);
}

static void the_interpreter_is_registered(void)
{
    CHECK_OK(kymo_interpreter_register(&interpreter));
    CHECK_EQ(kymo_interpreter_register(&interpreter), KYMO_EREGISTERED);
}

static const struct check_case cases[] = {
    CHECK_CASE(the_interpreter_is_registered),
    CHECK_CASE(a_stack_waits_until_its_functions_have_names),
    CHECK_CASE(common_parts_of_stacks_are_written_once),
    CHECK_CASE(new_nodes_that_follow_each_other_have_one_definition),
    CHECK_CASE(at_the_end_nameless_functions_are_recorded_as_unknown),
    CHECK_CASE(frames_that_run_the_program_are_left_out),
    CHECK_CASE(frames_of_the_profiler_are_left_out_wherever_they_are),
    CHECK_CASE(stacks_that_found_no_memory_are_defined_later),
    CHECK_CASE(recorded_stacks_are_defined_like_captured_ones),
    CHECK_CASE(a_function_at_the_address_of_a_freed_one_is_another),
    CHECK_CASE(recorded_stacks_that_found_no_memory_are_defined_later),
    CHECK_CASE(samples_have_the_names_that_the_interpreter_settles),
};
CHECK_MAIN(cases)
