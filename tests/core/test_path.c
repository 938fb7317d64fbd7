/* Stacks that change at random, followed one after the other: the node of each is that of all its frames,
   merged without regard to the one before. */
#include "path.h"

#include "check.h"
#include "mapped.h"
#include "random.h"
#include "stacktree.h"

enum { FRAMES = 24, RUNS = 2, LINES = 3, HIGH = 1 << 20 };

/* A native frame, and what it runs, outermost first. */
struct activation {
    uint64_t pc, end;
    unsigned runs, lines[RUNS];
    struct kymo_managed_frame run[RUNS][LINES];
};

static struct activation frames[FRAMES]; /* outermost first */
static size_t frame_count;
static struct kymo_managed_frame elsewhere; /* on another stack, if it has a code */
static uint64_t lowest, state = 1;
static struct kymo_walker *own;

static uint64_t any(uint64_t below)
{
    return random_next(&state) % below;
}

static uint64_t number_of(uint64_t code, uint64_t place)
{
    return code * 16 + place;
}

static struct kymo_managed_walk alive;

/* Functions that are not on the stack may have been freed. */
static bool is_alive(const struct kymo_managed_frame *frame)
{
    for (size_t i = 0; i < alive.count; i++)
        if (alive.frames[i].code == frame->code && alive.frames[i].place == frame->place)
            return true;
    return false;
}

static void keep(struct kymo_managed_walk *walk)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->count; i++) {
        CHECK(is_alive(&walk->frames[i]));
        if (walk->frames[i].code != 7) { /* is not shown */
            walk->frames[kept] = walk->frames[i];
            walk->frames[kept++].code = number_of(walk->frames[i].code, walk->frames[i].place);
        }
    }
    walk->count = kept;
}

static const struct kymo_interpreter interpreter = {.size = sizeof(interpreter), .keep = keep};

static void fill_run(struct activation *frame, unsigned run, uint64_t begin)
{
    frame->lines[run] = 1 + (unsigned)any(LINES);
    for (unsigned i = 0; i < frame->lines[run]; i++)
        frame->run[run][i] = (struct kymo_managed_frame){.code = 1 + any(9), .place = 1 + any(4)};
    frame->run[run][0].mark = begin + any(frame->end - begin);
}

/* Frames from number DEPTH on are others now. */
static void change(size_t depth)
{
    uint64_t end = depth ? lowest : HIGH;
    for (size_t i = depth; i < frame_count; i++)
        end = i == depth ? frames[i].end : end;
    if (depth &&
        any(3) == 0) /* the caller begins elsewhere; what it runs may have no place there */
        end = frames[depth - 1].end - 8 - any(128);
    frame_count = depth + any(FRAMES - depth) / 2 + 1;
    for (size_t i = depth; i < frame_count; i++) {
        struct activation *frame = &frames[i];
        *frame = (struct activation){.pc = 0x1000 + any(6), .end = end, .runs = (unsigned)any(3)};
        end -= 64 + 16 * any(4);
        for (unsigned run = 0; run < frame->runs; run++)
            fill_run(frame, run, end);
    }
    lowest = end;
}

/* What the last frame that stays runs has changed, or moved on. */
static void change_run(size_t number)
{
    struct activation *frame = &frames[number];
    uint64_t begin = number + 1 < frame_count ? frames[number + 1].end : lowest;
    unsigned last = frame->runs - 1;
    if (frame->runs == 0 || any(4) == 0)
        frame->runs = (unsigned)any(RUNS + 1);
    else if (any(4) == 0)
        frame->run[last][0].mark = lowest + any(HIGH - lowest);
    else if (any(2) == 0)
        frame->run[last][frame->lines[last] - 1].place ^= 8;
    else
        fill_run(frame, last, begin);
    for (unsigned run = 0; run < frame->runs; run++)
        if (!frame->lines[run])
            fill_run(frame, run, begin);
}

/* The walks of all that is there. */
static void walk_all(struct kymo_walk *native, struct kymo_managed_walk *managed)
{
    static struct kymo_native natives[FRAMES];
    static struct kymo_managed_frame lines[FRAMES * RUNS * LINES + 1];
    managed->frames = lines;
    managed->count = 0;
    for (size_t i = frame_count; i-- > 0;) {
        natives[i] = (struct kymo_native){frames[i].pc, frames[i].end};
        for (unsigned run = frames[i].runs; run-- > 0;)
            for (unsigned line = frames[i].lines[run]; line-- > 0;)
                lines[managed->count++] = frames[i].run[run][line];
    }
    if (elsewhere.code)
        lines[managed->count++] = elsewhere;
    *native = (struct kymo_walk){.frames = natives, .count = frame_count};
}

/* As walkers do, who know nothing about where the innermost frame begins. */
static void note_same(const struct activation *before, size_t count)
{
    size_t same = 0;
    while (same < count && same < frame_count && before[same].pc == frames[same].pc &&
           before[same].end == frames[same].end &&
           (same + 1 >= count || same + 1 >= frame_count ||
            before[same + 1].end == frames[same + 1].end))
        same++;
    own->same = own->same < same ? own->same : same;
}

static void check_node(kymo_stack node, const struct kymo_merged *merged, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool native = merged[i].code == KYMO__NO_CODE;
        if (merged[i].code == 7)
            continue;
        CHECK(node != 0);
        CHECK_EQ(kymo__stacktree_word(node),
                 native ? kymo__native_word(merged[i].place)
                        : KYMO__MANAGED | number_of(merged[i].code, merged[i].place));
        node = kymo__stacktree_parent(node);
    }
    CHECK_EQ(node, 0);
}

static void every_stack_gets_the_node_of_all_its_frames(void)
{
    static struct activation before[FRAMES];
    static struct kymo_merged merged[FRAMES * (1 + RUNS * LINES) + 1];
    struct kymo_path_scope scope = {.session = 1, .epoch = 1, .modules = 1};
    CHECK_OK(kymo_interpreter_register(&interpreter));
    CHECK((own = kymo__pages_new(sizeof(*own))) != NULL);
    change(0);
    for (int i = 0; i < 200000; i++) {
        struct kymo_walk native;
        struct kymo_managed_walk managed = {0};
        kymo_stack node;
        memcpy(before, frames, sizeof(before));
        size_t before_count = frame_count;
        size_t depth = any(frame_count + 1);
        if (any(4))
            change(depth);
        if (depth && any(2))
            change_run(depth - 1);
        if (depth && any(3) == 0)
            frames[depth - 1].pc = 0x2000 + any(4);
        if (any(50) == 0)
            elsewhere = (struct kymo_managed_frame){.code = any(3), .place = 1, .mark = 2 * HIGH};
        scope.epoch += any(40) == 0;
        scope.modules += any(200) == 0;
        note_same(before, before_count);
        if (any(3) == 0)
            continue; /* one that is known already */
        walk_all(&native, &managed);
        size_t count =
            kymo__merge(merged, sizeof(merged) / sizeof(merged[0]), &native, &managed, lowest);
        alive = managed;
        CHECK(kymo__path_follow(own, &scope, &native, &managed, lowest, &node));
        check_node(node, merged, count);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(every_stack_gets_the_node_of_all_its_frames),
};
CHECK_MAIN(cases)
