/* Events that carry stacks, in sessions that take no samples. */
#include <kymo/payload.h>
#include <kymo/stack.h>

#include "fault.h"
#include "running.h"
#include "shell.h"
#include "stackdesk.h"
#include "stacktree.h"

extern void *__libc_malloc(size_t size);

static struct kymo_schema schema;
static volatile bool watched; /* malloc records */

static void begin(const char *name)
{
    static const struct kymo_field fields[] = {{"size", KYMO_FIELD_UINT},
                                               {"stack", KYMO_FIELD_STACK}};
    CHECK_OK(fault_start(check_path(name), 0, KYMO_HELP));
    CHECK_OK(kymo_schema_define(&schema, "allocated", fields, 2));
}

static void note(uint64_t size, kymo_stack stack)
{
    unsigned char room[32];
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, sizeof(room));
    kymo_payload_uint(&payload, size);
    kymo_payload_uint(&payload, stack);
    kymo_note(&schema, &payload);
}

#if !FAULT_ASAN && !FAULT_TSAN /* they have a malloc of their own */
void *malloc(size_t size)
{
    if (watched)
        note(size, kymo_stack_record(KYMO_STACK_NATIVE, 0));
    return __libc_malloc(size);
}
#endif

__attribute__((noinline)) static kymo_stack deep(int depth)
{
    kymo_stack stack = depth ? deep(depth - 1) : kymo_stack_record(KYMO_STACK_NATIVE, 0);
    __asm__ volatile("");
    return stack;
}

/* The stack of event NUMBER of the capture at NAME; *SIZE is its other field. */
static size_t stack_of(struct kymo_capture *capture, unsigned number, uint64_t *size,
                       struct kymo_stack_frame *frames, size_t count)
{
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    struct kymo_value value = {.size = sizeof(value)};
    size_t found = 0;
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) == 1) {
        if (kymo_event_value(capture, &event, 1, &value) < 0 || number--)
            continue;
        CHECK_EQ(value.type, KYMO_FIELD_STACK);
        found = kymo_capture_stack(capture, (uint32_t)value.number, frames, count);
        CHECK_OK(kymo_event_value(capture, &event, 0, &value));
        *size = value.number;
        break;
    }
    kymo_cursor_free(cursor);
    return found;
}

static bool is_this_program(const struct kymo_stack_frame *frame)
{
    return frame->kind == KYMO_FRAME_NATIVE && strstr(frame->path, "test_stack_events");
}

static void readers_resolve_the_stack_of_an_event(void)
{
    struct kymo_capture *capture;
    struct kymo_stack_frame frames[64];
    uint64_t size;
    begin("event");
    note(7, deep(3));
    note(8, 0);
    CHECK_OK(kymo_stop());

    CHECK_OK(kymo_open(check_path("event"), &capture));
    size_t count = stack_of(capture, 0, &size, frames, 64);
    CHECK_EQ(size, 7);
    CHECK_LE(5, count);
    for (size_t i = 0; i < 5; i++)
        CHECK(is_this_program(&frames[i]));
    /* Three calls from one place, and the frame of kymo_stack_record is not in it. */
    CHECK_EQ(frames[1].address, frames[2].address);
    CHECK_EQ(frames[2].address, frames[3].address);
    CHECK(frames[0].address != frames[1].address);
    CHECK_EQ(stack_of(capture, 1, &size, frames, 64), 1);
    CHECK_EQ(frames[0].kind, KYMO_FRAME_UNKNOWN);
    kymo_close(capture);
}

static void dump_shows_the_frames(void)
{
    begin("dump");
    note(7, deep(1));
    CHECK_OK(kymo_stop());

    CHECK_EQ(shell("\"$KYMO_PROGRAM\" dump %s | grep -q 'stack=[0-9]* (test_stack_events+0x'",
                   check_path("dump")),
             0);
    CHECK_EQ(shell("\"$KYMO_PROGRAM\" dump --json %s | grep -q '\"frames\": *\\[{\"module\"'",
                   check_path("dump")),
             0);
}

static void equal_stacks_have_one_definition(void)
{
    struct kymo_capture *capture;
    begin("equal");
    volatile kymo_stack first = 0; /* so that there is one place that calls */
    for (int i = 0; i < 100000; i++) {
        kymo_stack stack = deep(2);
        CHECK(stack != 0);
        first = first ? first : stack;
        CHECK_EQ(stack, first);
    }
    CHECK_OK(kymo_stop());

    CHECK_OK(kymo_open(check_path("equal"), &capture));
    CHECK_EQ(fault_info(capture).stacks, 1);
    kymo_close(capture);
}

__attribute__((noinline)) static kymo_stack from_left(void)
{
    kymo_stack stack = deep(2);
    __asm__ volatile("");
    return stack;
}

__attribute__((noinline)) static kymo_stack from_right(void)
{
    kymo_stack stack = deep(2);
    __asm__ volatile("");
    return stack;
}

static void stacks_at_one_address_that_differ_further_out_are_told_apart(void)
{
    kymo_stack (*const from[2])(void) = {from_left, from_right};
    kymo_stack first[2] = {0};
    begin("apart");
    for (int i = 0; i < 1000; i++) {
        kymo_stack stack = from[i / 3 % 2]();
        first[i / 3 % 2] = i < 6 && i % 3 == 0 ? stack : first[i / 3 % 2];
        CHECK_EQ(stack, first[i / 3 % 2]);
    }
    CHECK_OK(kymo_stop());
    CHECK(first[0] && first[1] && first[0] != first[1]);
}

static void a_stack_of_an_earlier_session_is_not_taken_for_one_of_this(void)
{
    struct kymo_capture *capture;
    struct kymo_stack_frame frames[64];
    uint64_t size;
    for (int session = 0; session < 3; session++) {
        begin("session");
        for (int i = session; i < 3; i++) /* so that ids mean something else each time */
            note(0, deep(i + 3));
        for (int i = 0; i < 5; i++)
            note((uint64_t)i, deep(1));
        CHECK_OK(kymo_stop());
        CHECK_OK(kymo_open(check_path("session"), &capture));
        for (unsigned i = 0; i < 5; i++) {
            CHECK_LE(3, stack_of(capture, (unsigned)(3 - session) + i, &size, frames, 64));
            CHECK_EQ(size, i);
            CHECK(frames[0].address != frames[1].address);
            CHECK(frames[1].address != frames[2].address);
        }
        kymo_close(capture);
    }
}

static void on_signal(int number)
{
    (void)number;
    note(9, kymo_stack_record(KYMO_STACK_NATIVE, 0));
}

static void a_signal_handler_and_malloc_may_record_stacks(void)
{
    if (FAULT_ASAN || FAULT_TSAN)
        CHECK_SKIP("the sanitizer replaces malloc");
    struct kymo_capture *capture;
    struct kymo_stack_frame frames[64];
    uint64_t size;
    begin("inside");
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    watched = true;
    void *volatile piece = malloc(12345);
    watched = false;
    free(piece);
    CHECK_OK(kymo_stop());

    CHECK_OK(kymo_open(check_path("inside"), &capture));
    CHECK_LE(2, stack_of(capture, 0, &size, frames, 64));
    CHECK_EQ(size, 9);
    CHECK(is_this_program(&frames[0]));
    CHECK_LE(2, stack_of(capture, 1, &size, frames, 64));
    CHECK_EQ(size, 12345);
    CHECK(is_this_program(&frames[0]));
    kymo_close(capture);
}

static void record_and_be_killed(void *arg)
{
    (void)arg;
    begin("killed");
    note(7, deep(3));
    for (int i = 0; i < 10000; i++) {
        kymo__desk_lock();
        bool defined = kymo__running->desk->book.nodes.count != 0;
        kymo__desk_unlock();
        if (defined)
            raise(SIGKILL);
        fault_sleep(1000000);
    }
}

static void stacks_survive_a_kill(void)
{
    struct kymo_capture *capture;
    struct kymo_stack_frame frames[64];
    uint64_t size;
    pid_t child = fault_child(record_and_be_killed, NULL);
    int status = fault_wait(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    CHECK_OK(kymo_open(check_path("killed"), &capture));
    CHECK_LE(5, stack_of(capture, 0, &size, frames, 64));
    CHECK(is_this_program(&frames[0]));
    kymo_close(capture);
}

static void without_a_session_there_is_no_stack(void)
{
    CHECK_EQ(deep(1), 0);
    kymo_stack stack = kymo_stack_capture(KYMO_STACK_NATIVE, 0);
    CHECK(stack != 0);
    CHECK_EQ(kymo_stack_define(stack), 0);
    begin("define");
    CHECK_EQ(kymo_stack_define(0), 0);
    CHECK_EQ(kymo_stack_define(stack), stack);
    CHECK_OK(kymo_stop());
    kymo_stack_release(stack);
}

static void the_thread_for_stacks_starts_with_the_first_one(void)
{
    begin("thread");
    kymo_instant("x");
    fault_sleep(300000000);
    int before = fault_entries("/proc/self/task");
    CHECK(deep(1) != 0);
    for (int i = 0; i < 5000 && fault_entries("/proc/self/task") == before; i++)
        fault_sleep(1000000);
    CHECK_EQ(fault_entries("/proc/self/task"), before + 1);
    kymo_writer_rest();
    CHECK_EQ(fault_entries("/proc/self/task"), before - 1);
    CHECK_OK(kymo_writer_work());
    CHECK_EQ(fault_entries("/proc/self/task"), before + 1);
    CHECK_OK(kymo_stop());
    CHECK_EQ(fault_entries("/proc/self/task"), before - 1);
}

/* ---- an interpreter whose every stack is another one ---- */

static uint64_t function;

static void walk(struct kymo_managed_walk *walk)
{
    walk->frames[0] = (struct kymo_managed_frame){.code = ++function};
    walk->hash = kymo_stack_hash(walk->hash, function);
    walk->count = 1;
}

static void keep(struct kymo_managed_walk *walk)
{
    (void)walk;
}

static int name_of(uint64_t number, struct kymo_named *named)
{
    (void)number;
    named->name = "function";
    return 0;
}

static const struct kymo_interpreter interpreter = {
    .size = sizeof(interpreter),
    .name = "play",
    .walk = walk,
    .keep = keep,
    .name_of = name_of,
    .machinery = "play_",
};

static void stacks_that_find_no_room_are_counted(void)
{
    struct kymo_capture *capture;
    const char *key, *value, *counted = "", *machinery = "";
    char expected[32];
    const uint32_t most = kymo__stacktree_most;
    CHECK_OK(kymo_interpreter_register(&interpreter));
    kymo__stacktree_most = 20000;
    begin("room");
    unsigned refused = 0;
    for (unsigned i = 0; i < 20100; i++)
        refused += !kymo_stack_record(KYMO_STACK_MANAGED, 0);
    kymo__stacktree_most = most;
    CHECK_EQ(refused, 100);
    CHECK_OK(kymo_stop());

    CHECK_OK(kymo_open(check_path("room"), &capture));
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (strcmp(key, "stacks.missing") == 0)
            counted = value;
        else if (strcmp(key, "interpreter.machinery") == 0)
            machinery = value;
    snprintf(expected, sizeof(expected), "%u", refused);
    CHECK_STR(counted, expected);
    CHECK_STR(machinery, "play_");
    CHECK_EQ(fault_info(capture).stacks, 20000);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(readers_resolve_the_stack_of_an_event),
    CHECK_CASE(dump_shows_the_frames),
    CHECK_CASE(equal_stacks_have_one_definition),
    CHECK_CASE(stacks_at_one_address_that_differ_further_out_are_told_apart),
    CHECK_CASE(a_stack_of_an_earlier_session_is_not_taken_for_one_of_this),
    CHECK_CASE(a_signal_handler_and_malloc_may_record_stacks),
    CHECK_CASE(stacks_survive_a_kill),
    CHECK_CASE(without_a_session_there_is_no_stack),
    CHECK_CASE(the_thread_for_stacks_starts_with_the_first_one),
    CHECK_CASE(stacks_that_find_no_room_are_counted),
};

CHECK_MAIN(cases)
