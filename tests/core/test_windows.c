/* A window read with the help of summaries says what it says without them. */
#include <pthread.h>
#include <unistd.h>

#include "fault.h"
#include "index.h"
#include "picture.h"
#include "pieces.h"
#include "player.h"
#include "rewrite.h"
#include "scan.h"
#include "slices.h"
#include "summaries.h"
#include "survey.h"

enum { EVENTS = FAULT_TSAN ? 150000 : 200000, WINDOWS = FAULT_TIMES(5, 1) };

/* Forget the summaries of CAPTURE, as if it had none. */
static void forget_summaries(struct kymo_capture *capture)
{
    struct kymo_reader *r = capture->reader;
    for (size_t i = 0; i < r->more_count; i++)
        r->mores[i].summaries = 0;
}

/* ---- what reading tells, as one number ---- */

static uint64_t digest;

static void mix(uint64_t number)
{
    digest = (digest ^ number) * UINT64_C(0x100000001b3);
    digest ^= digest >> 29;
}

static int mix_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    (void)arg;
    mix(1 + depth);
    mix(frame->key);
    mix((uint64_t)frame->start);
    mix(frame->number);
    mix(frame->id);
    mix(frame->flags);
    return 0;
}

static int mix_leave(void *arg, const struct kymo_slice *slice)
{
    (void)arg;
    mix(1000 + slice->depth);
    mix((uint64_t)slice->frame->start);
    mix(slice->frame->number);
    mix((uint64_t)slice->end);
    mix((uint64_t)slice->self);
    mix((uint64_t)slice->flags << 8 | slice->leave);
    for (unsigned i = 0; i < slice->arg_count; i++)
        mix(slice->args[i].value ^ slice->args[i].key);
    return 0;
}

static int mix_event(void *arg, const struct kymo_event *event)
{
    (void)arg;
    mix(2000 + event->kind);
    mix((uint64_t)event->time);
    mix(event->id);
    return 0;
}

static int mix_other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                     unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        mix(args[i].value);
    return mix_event(arg, event);
}

static int mix_open(void *arg, const struct kymo_calls *calls)
{
    (void)arg;
    for (uint32_t i = 0; i < calls->nest.depth; i++) {
        const struct kymo_open_call *frame = &calls->nest.frames[i];
        mix(frame->number);
        mix((uint64_t)frame->start);
        for (unsigned a = 0; a < frame->arg_count; a++)
            mix(calls->nest.args[frame->args + a].value);
    }
    return 0;
}

/* Everything that the window from FROM to TO tells, in three ways of reading. */
static uint64_t told(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    const struct kymo_visitor visitors[] = {
        {.open = mix_open, .enter = mix_enter, .leave = mix_leave, .other = mix_other},
        {.whole = true, .enter = mix_enter, .leave = mix_leave},
        {.open = mix_open, .event = mix_event},
    };
    digest = 14695981039346656037u;
    for (uint32_t thread = 0; thread < capture->reader->thread_count; thread++) {
        for (int i = 0; i < 3; i++) {
            struct kymo_calls calls;
            CHECK_OK(kymo__calls_init(&calls, capture, thread, from, to, &visitors[i]));
            int rc = 1;
            while (rc > 0)
                rc = kymo__calls_read(&calls, 1000);
            CHECK_OK(rc);
            mix(calls.nest.counts.events);
            mix(calls.nest.counts.slices);
            mix(calls.nest.counts.lost_leaves);
            mix(calls.nest.counts.orphan_leaves);
            mix(calls.nest.counts.split_spans);
            mix(calls.nest.counts.deepest);
            mix(calls.nest.counts.missing);
            kymo__calls_fini(&calls);
        }
    }
    return digest;
}

static int look_at_nothing(void *arg, const struct kymo_calls *calls)
{
    (void)arg, (void)calls;
    return 0;
}

/* Records before a window are passed over quickly, unless `open` is to see when calls began. That
   must not matter. */
static void leaps_change_nothing(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    const struct kymo_visitor visitors[] = {
        {.whole = true, .enter = mix_enter, .leave = mix_leave, .other = mix_other},
        {.whole = true,
         .open = look_at_nothing,
         .enter = mix_enter,
         .leave = mix_leave,
         .other = mix_other},
    };
    for (uint32_t thread = 0; thread < capture->reader->thread_count; thread++) {
        uint64_t found[2];
        for (int i = 0; i < 2; i++) {
            struct kymo_calls calls;
            digest = 14695981039346656037u;
            CHECK_OK(kymo__calls_init(&calls, capture, thread, from, to, &visitors[i]));
            int rc = 1;
            while (rc > 0)
                rc = kymo__calls_read(&calls, 1000);
            CHECK_OK(rc);
            kymo__calls_fini(&calls);
            found[i] = digest;
        }
        CHECK_EQ(found[0], found[1]);
    }
}

/* Random windows of the capture at PATH say the same with its summaries and without. */
static void says_the_same(const char *path, uint64_t seed, size_t least)
{
    struct kymo_capture *with, *without;
    CHECK_OK(kymo_open(path, &with));
    CHECK_OK(kymo_open(path, &without));
    CHECK_LE(least, with->reader->summary_count);
    forget_summaries(without);
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_info(with, &info));
    uint64_t length = (uint64_t)(info.end - info.start) + 1;
    for (int i = 0; i < WINDOWS; i++) {
        kymo_ns from = info.start + (kymo_ns)(random_next(&seed) % length);
        kymo_ns to = i % 4 ? from + (kymo_ns)(random_next(&seed) % (length / 50 + 1)) : INT64_MAX;
        uint64_t one = told(with, from, to), other = told(without, from, to);
        if (one != other)
            CHECK_FAIL("window %d of %s, from %lld to %lld, differs", i, path,
                       (long long)(from - info.start), (long long)(to - info.start));
        leaps_change_nothing(with, from, to);
        leaps_change_nothing(without, from, to);
    }
    kymo_close(with);
    kymo_close(without);
}

/* ---- programs ---- */

static const char *record_events(const char *name, uint64_t seed, unsigned disorder,
                                 unsigned events)
{
    struct player p;
    tape_start(name);
    player_init(&p, seed, disorder);
    play_on(&p, events);
    kymo_close(tape_stop(name));
    return check_path(name);
}

static const char *recorded(const char *name, uint64_t seed, unsigned disorder)
{
    return record_events(name, seed, disorder, EVENTS);
}

/* Long enough to have states wherever the writer thread happens to end its blocks: one that begins
   with the arguments of a call has none. */
static const char *recorded_long(const char *name, uint64_t seed, unsigned disorder)
{
    return record_events(name, seed, disorder, 3 * EVENTS);
}

static void windows_of_an_orderly_program_are_the_same(void)
{
    says_the_same(recorded("orderly.kymo", 1, 0), 1, 2);
}

static void windows_of_a_disorderly_program_are_the_same(void)
{
    for (uint64_t seed = 2; seed < FAULT_TIMES(6, 3); seed++)
        says_the_same(recorded("disorderly.kymo", seed, 1u << 2 * (seed - 2)), seed, 2);
}

static void *play_thread(void *seed)
{
    struct player p;
    player_init(&p, (uintptr_t)seed, 10);
    play_on(&p, EVENTS / 2);
    return NULL;
}

static void record_threads(const char *name)
{
    pthread_t threads[3];
    tape_start(name);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, play_thread, (void *)(i + 10));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    kymo_close(tape_stop(name));
}

static void windows_of_several_threads_are_the_same(void)
{
    record_threads("threads.kymo");
    says_the_same(check_path("threads.kymo"), 7, 3);
}

/* With so little memory the recording threads have to help, and blocks come out of order. */
static void windows_are_the_same_when_threads_helped_to_write(void)
{
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("helped.kymo"),
                                               .clock = 1,
                                               .budget = 1 << 20}));
    tape_zero = kymo_ticks();
    struct player p;
    player_init(&p, 3, 2);
    play_on(&p, 3 * EVENTS);
    kymo_close(tape_stop("helped.kymo"));
    says_the_same(check_path("helped.kymo"), 8, 4);
}

static void windows_of_a_part_are_the_same(void)
{
    struct kymo_capture *capture;
    record_threads("whole.kymo");
    CHECK_OK(kymo_open(check_path("whole.kymo"), &capture));
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_info(capture, &info));
    kymo_ns length = info.end - info.start;
    const struct kymo_part part = {
        .capture = capture, .from = info.start + length / 5, .to = info.end - length / 9};
    const struct kymo_rewrite_options plain = {0};
    CHECK_OK(kymo__rewrite(&part, 1, check_path("part.kymo"), &plain));
    kymo_close(capture);
    says_the_same(check_path("part.kymo"), 9, 3);
}

static void windows_of_a_merged_capture_are_the_same(void)
{
    struct kymo_part parts[2] = {{.from = INT64_MIN, .to = INT64_MAX},
                                 {.from = INT64_MIN, .to = INT64_MAX}};
    const struct kymo_rewrite_options plain = {0};
    recorded("one.kymo", 21, 3);
    record_threads("other.kymo");
    CHECK_OK(kymo_open(check_path("one.kymo"), &parts[0].capture));
    CHECK_OK(kymo_open(check_path("other.kymo"), &parts[1].capture));
    CHECK_OK(kymo__rewrite(parts, 2, check_path("merged.kymo"), &plain));
    kymo_close(parts[0].capture);
    kymo_close(parts[1].capture);
    says_the_same(check_path("merged.kymo"), 10, 6);
}

static void a_window_at_the_end_is_not_read_from_the_beginning(void)
{
    struct kymo_capture *capture;
    const struct kymo_visitor visitor = {0};
    struct kymo_calls calls;
    CHECK_OK(kymo_open(recorded_long("end.kymo", 5, 3), &capture));
    const struct kymo_reader_thread *t = &capture->reader->threads[0];
    CHECK_OK(kymo__calls_init(&calls, capture, 0, capture->end, INT64_MAX, &visitor));
    CHECK_LE(t->run + t->runs / 2, calls.stream.run);
    kymo__calls_fini(&calls);
    kymo_close(capture);
}

/* Flip a byte in the payload of every third block of records. */
static void damage(const char *path)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(path, &capture));
    FILE *file = fopen(path, "r+b");
    CHECK(file != NULL);
    for (size_t i = 1; i < capture->reader->run_count; i += 3) {
        const struct kymo_run *run = &capture->reader->runs[i];
        struct kymo_block_header header;
        CHECK_EQ(kymo__scan_header(capture->reader, run->offset, &header), 1);
        long at = (long)(run->offset + sizeof(header) + header.stored_bytes / 2);
        fseek(file, at, SEEK_SET);
        int byte = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(byte ^ 0x55, file);
    }
    fclose(file);
    kymo_close(capture);
}

/* ---- pieces ---- */

static struct kymo_survey *surveyed(struct kymo_capture *capture, unsigned workers, kymo_ns from,
                                    kymo_ns to)
{
    const struct kymo_survey_options options = {
        .from = from, .to = to, .workers = workers, .nodes = 1 << 22, .piece_records = 3000};
    struct kymo_survey *survey;
    CHECK_OK(kymo__survey(capture, &options, &survey));
    return survey;
}

static void same_trees(const struct kymo_tree *a, const struct kymo_tree *b, uint32_t i, uint32_t k)
{
    const struct kymo_node *x = &a->nodes[i], *y = &b->nodes[k];
    CHECK_EQ(x->callable, y->callable);
    CHECK_EQ(x->calls, y->calls);
    CHECK_EQ(x->self, y->self);
    CHECK_EQ(x->total, y->total);
    uint32_t c = x->child, d = y->child;
    for (; c && d; c = a->nodes[c].sibling, d = b->nodes[d].sibling)
        same_trees(a, b, c, d);
    CHECK_EQ(c, 0);
    CHECK_EQ(d, 0);
}

static void same_surveys(const struct kymo_survey *a, const struct kymo_survey *b)
{
    CHECK_EQ(a->calls, b->calls);
    CHECK_EQ(a->resumes, b->resumes);
    CHECK_EQ(a->counts.events, b->counts.events);
    CHECK_EQ(a->counts.slices, b->counts.slices);
    CHECK_EQ(a->counts.lost_leaves, b->counts.lost_leaves);
    CHECK_EQ(a->counts.orphan_leaves, b->counts.orphan_leaves);
    CHECK_EQ(a->counts.split_spans, b->counts.split_spans);
    CHECK_EQ(a->counts.deepest, b->counts.deepest);
    for (size_t i = 0; i < a->thread_count; i++)
        CHECK_EQ(a->threads[i].busy, b->threads[i].busy);
    for (size_t i = 0; i < a->callables.count; i++) {
        const struct kymo_function_cost *x = a->functions.of[i], *y = b->functions.of[i];
        CHECK_EQ(!x, !y);
        if (!x)
            continue;
        CHECK_EQ(x->calls, y->calls);
        CHECK_EQ(x->primitive, y->primitive);
        CHECK_EQ(x->self, y->self);
        CHECK_EQ(x->total, y->total);
        CHECK_EQ(x->most, y->most);
        CHECK_EQ(x->least, y->least);
        CHECK_EQ(x->lost_leaves, y->lost_leaves);
    }
    same_trees(&a->tree, &b->tree, 0, 0);
}

static void a_survey_in_pieces_finds_the_same(void)
{
    for (uint64_t seed = 71; seed < 74; seed++) {
        struct kymo_capture *capture;
        CHECK_OK(
            kymo_open(recorded_long("pieces.kymo", seed, (unsigned)(seed - 71) * 10), &capture));
        struct kymo_piece *pieces = NULL;
        size_t count = 0, capacity = 0;
        CHECK_OK(
            kymo__pieces_plan(capture, 0, INT64_MIN, INT64_MAX, 3000, &pieces, &count, &capacity));
        CHECK_LE(2, count);
        kymo__pieces_free(pieces, count);
        kymo_ns half = capture->end - 2000000;
        for (int window = 0; window < 2; window++) {
            kymo_ns from = window ? half - 1500000 : INT64_MIN, to = window ? half : INT64_MAX;
            struct kymo_survey *one = surveyed(capture, 1, from, to);
            for (unsigned workers = 2; workers <= 5; workers += 3) {
                struct kymo_survey *many = surveyed(capture, workers, from, to);
                same_surveys(one, many);
                kymo__survey_free(many);
            }
            kymo__survey_free(one);
        }
        kymo_close(capture);
    }
}

static void a_survey_of_a_damaged_capture_finds_the_same_in_pieces(void)
{
    struct kymo_capture *capture;
    const char *path = recorded("torn.kymo", 81, 5);
    damage(path);
    CHECK_OK(kymo_open(path, &capture));
    struct kymo_survey *one = surveyed(capture, 1, INT64_MIN, INT64_MAX);
    struct kymo_survey *many = surveyed(capture, 4, INT64_MIN, INT64_MAX);
    same_surveys(one, many);
    kymo__survey_free(one);
    kymo__survey_free(many);
    kymo_close(capture);
}

static void a_picture_covers_the_thread_and_counts_its_calls(void)
{
    struct kymo_capture *capture;
    struct kymo_picture *picture;
    struct kymo_picture_column column;
    CHECK_OK(kymo_open(recorded("picture.kymo", 91, 0), &capture));
    struct kymo_thread_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_thread(capture, 0, &info));
    CHECK_OK(kymo__picture_new(capture, 0, INT64_MIN, INT64_MAX, 0, UINT32_MAX, &picture));
    kymo_ns reached = info.first;
    uint64_t events = 0, known = 0;
    int rc;
    while ((rc = kymo__picture_next(picture, &column)) > 0) {
        CHECK_EQ(column.start, reached);
        CHECK_LE(column.start, column.end);
        reached = column.end;
        known += column.known;
        events += column.events;
        for (uint32_t i = 0; i < column.depths; i++) {
            const struct kymo_cell *cell = &column.cells[i];
            CHECK_LE(cell->cover, cell->busy);
            CHECK_LE(kymo__picture_longest(&column, cell), column.end - column.start);
        }
    }
    CHECK_EQ(rc, 0);
    CHECK_EQ(reached, info.last);
    CHECK_LE(10, known);
    CHECK_LE(EVENTS / 2, events);
    CHECK_LE(events, info.records);
    kymo__picture_free(picture);
    kymo_close(capture);
}

/* One call that covers everything, and in it many of another function. */
static void a_cell_says_what_took_the_time(void)
{
    struct kymo_capture *capture;
    struct kymo_picture *picture;
    struct kymo_picture_column column;
    tape_start("cells.kymo");
    uint32_t outer = tape_function("outer"), inner = tape_function("inner");
    uint64_t seed = 1, time = 0;
    tape_enter(0, outer);
    for (int i = 0; i < EVENTS / 2; i++) {
        tape_enter(time += 20 + random_next(&seed) % 16, inner);
        tape_leave(time += 60 + random_next(&seed) % 32, inner);
    }
    capture = tape_stop("cells.kymo");
    CHECK_OK(kymo__picture_new(capture, 0, INT64_MIN, INT64_MAX, 0, 2, &picture));
    unsigned known = 0;
    while (kymo__picture_next(picture, &column) > 0) {
        if (!column.known || !known++)
            continue; /* in the first, outer begins */
        CHECK_EQ(column.depths, 2);
        CHECK_EQ(column.cells[0].key, outer);
        CHECK_EQ(column.cells[0].count, 0);
        CHECK_LE(253, column.cells[0].cover);
        CHECK_EQ(column.cells[1].key, inner);
        CHECK_LE(column.events / 2 - 1, column.cells[1].count);
        CHECK_LE(166, column.cells[1].cover); /* 0.65 to 0.8 */
        CHECK_LE(column.cells[1].cover, 203);
        CHECK_LE(75, kymo__picture_longest(&column, &column.cells[1]));
        CHECK_LE(kymo__picture_longest(&column, &column.cells[1]), 92);
    }
    CHECK_LE(10, known);
    kymo__picture_free(picture);
    kymo_close(capture);
}

static int count_leave(void *arg, const struct kymo_slice *slice)
{
    (void)slice;
    ++*(uint64_t *)arg;
    return 0;
}

static void pieces_join_to_the_whole(void)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(recorded_long("joined.kymo", 92, 10), &capture));
    uint64_t ended = 0;
    const struct kymo_piece_visitor visitor = {.calls = {.arg = &ended, .leave = count_leave}};
    struct kymo_piece *pieces = NULL;
    size_t count = 0, capacity = 0;
    CHECK_OK(kymo__pieces_plan(capture, 0, INT64_MIN, INT64_MAX, 3000, &pieces, &count, &capacity));
    CHECK_LE(2, count);
    uint64_t slices = 0;
    for (size_t i = count; i-- > 0;) {
        CHECK_OK(kymo__piece_read(&pieces[i], capture, INT64_MIN, INT64_MAX, &visitor));
        slices += pieces[i].counts.slices;
    }
    CHECK_OK(kymo__pieces_join(pieces, count, &visitor.calls));
    CHECK_EQ(ended, slices);
    kymo__pieces_free(pieces, count);
    kymo_close(capture);
}

static void summaries_take_less_than_two_percent(void)
{
    struct kymo_capture *capture;
    uint64_t bytes = 0;
    CHECK_OK(kymo_open(recorded("growth.kymo", 6, 3), &capture));
    for (size_t i = 0; i < capture->reader->summary_count; i++)
        bytes += kymo__block_bytes(&capture->reader->summaries[i].header);
    CHECK_LE(bytes * 50, capture->reader->file_bytes);
    kymo_close(capture);
}

/* ---- index files ---- */

/* Make the index of the capture at PATH and compare. */
static void index_says_the_same(const char *path, uint64_t seed, size_t least)
{
    struct kymo_capture *capture;
    struct kymo_index_result result;
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo__index_write(capture, path, NULL, NULL, &result));
    kymo_close(capture);
    CHECK_OK(kymo_open(path, &capture));
    CHECK_EQ(capture->reader->index_file, KYMO__INDEX_USED);
    CHECK_EQ(capture->reader->summary_count, result.summaries);
    kymo_close(capture);
    says_the_same(path, seed, least);
}

static void an_index_file_says_what_the_capture_says(void)
{
    index_says_the_same(recorded("indexed.kymo", 31, 5), 1, 2);
    record_threads("indexed.kymo");
    index_says_the_same(check_path("indexed.kymo"), 2, 3);
}

/* How many summaries of the capture at PATH list the calls open before them. */
static size_t count_states(const char *path)
{
    struct kymo_capture *capture;
    size_t count = 0;
    CHECK_OK(kymo_open(path, &capture));
    for (size_t i = 0; i < capture->reader->summary_count; i++) {
        const struct kymo_summary *s = &capture->reader->summaries[i];
        struct kymo_nest nest = {0};
        int rc = kymo__summary_state(capture->reader, s, s->header.thread, &nest);
        CHECK_LE(0, rc);
        count += rc > 0 && s->before > 0;
        kymo__nest_fini(&nest);
    }
    kymo_close(capture);
    return count;
}

static void windows_of_a_flight_recorder_s_capture_are_the_same(void)
{
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("flight.kymo"),
                                               .clock = 1,
                                               .flight_bytes = 300 << 10}));
    tape_zero = kymo_ticks();
    struct player p;
    player_init(&p, 41, 5);
    play_on(&p, EVENTS * 4);
    CHECK_OK(kymo_flight_write("test"));
    play_on(&p, EVENTS);
    kymo_close(tape_stop("flight.kymo"));
    says_the_same(check_path("flight.kymo"), 3, 2);
    CHECK_LE(1, count_states(check_path("flight.kymo")));
    index_says_the_same(check_path("flight.kymo"), 3, 1);
}

static void a_damaged_capture_can_be_indexed(void)
{
    for (uint64_t seed = 51; seed < FAULT_TIMES(54, 52); seed++) {
        const char *path = recorded("damaged.kymo", seed, 5);
        damage(path);
        index_says_the_same(path, seed, 1);
    }
}

static void an_index_of_another_capture_is_ignored(void)
{
    struct kymo_capture *capture;
    struct kymo_index_result result;
    char one[512], other[512], index[600], moved[600];
    snprintf(one, sizeof(one), "%s", recorded("mine.kymo", 61, 5));
    snprintf(other, sizeof(other), "%s", recorded("yours.kymo", 62, 5));
    CHECK_OK(kymo_open(one, &capture));
    CHECK_OK(kymo__index_write(capture, one, NULL, NULL, &result));
    kymo_close(capture);
    snprintf(index, sizeof(index), "%s.index", one);
    snprintf(moved, sizeof(moved), "%s.index", other);
    CHECK_EQ(rename(index, moved), 0);
    CHECK_OK(kymo_open(other, &capture));
    CHECK_EQ(capture->reader->index_file, KYMO__INDEX_STALE);
    CHECK_LE(1, capture->reader->summary_count); /* its own */
    kymo_close(capture);
}

static void an_index_never_replaces_another_file(void)
{
    struct kymo_capture *capture;
    struct kymo_index_result result;
    char path[512], index[600];
    snprintf(path, sizeof(path), "%s", recorded("kept.kymo", 63, 0));
    snprintf(index, sizeof(index), "%s.index", path);
    FILE *file = fopen(index, "w");
    fputs("a letter", file);
    fclose(file);
    CHECK_OK(kymo_open(path, &capture));
    CHECK_EQ(kymo__index_write(capture, path, NULL, NULL, &result), KYMO_EOCCUPIED);
    kymo_close(capture);
    CHECK_EQ(access(index, F_OK), 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(windows_of_an_orderly_program_are_the_same),
    CHECK_CASE(windows_of_a_disorderly_program_are_the_same),
    CHECK_CASE(windows_of_several_threads_are_the_same),
    CHECK_CASE(windows_are_the_same_when_threads_helped_to_write),
    CHECK_CASE(windows_of_a_part_are_the_same),
    CHECK_CASE(windows_of_a_merged_capture_are_the_same),
    CHECK_CASE(a_window_at_the_end_is_not_read_from_the_beginning),
    CHECK_CASE(a_survey_in_pieces_finds_the_same),
    CHECK_CASE(a_survey_of_a_damaged_capture_finds_the_same_in_pieces),
    CHECK_CASE(pieces_join_to_the_whole),
    CHECK_CASE(a_picture_covers_the_thread_and_counts_its_calls),
    CHECK_CASE(a_cell_says_what_took_the_time),
    CHECK_CASE(summaries_take_less_than_two_percent),
    CHECK_CASE(an_index_file_says_what_the_capture_says),
    CHECK_CASE(windows_of_a_flight_recorder_s_capture_are_the_same),
    CHECK_CASE(a_damaged_capture_can_be_indexed),
    CHECK_CASE(an_index_of_another_capture_is_ignored),
    CHECK_CASE(an_index_never_replaces_another_file),
};

CHECK_MAIN(cases)
