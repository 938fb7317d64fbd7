/* Tables read by several cores, in pieces, have the rows that one core reads, in the same order. */
#include <pthread.h>

#include "capture.h"
#include "columns.h"
#include "fault.h"
#include "pieces.h"
#include "player.h"
#include "states.h"

enum { EVENTS = FAULT_TSAN ? 30000 : 60000, PIECE = 500, TABLES = 4, COLUMNS = 12 };

/* All batches of a pass, one after the other. */
struct whole {
    size_t rows[TABLES], batches;
    unsigned count[TABLES];
    const char *name[TABLES][COLUMNS];
    char type[TABLES][COLUMNS];
    unsigned char *bytes[TABLES][COLUMNS];
};

static size_t width(char type)
{
    return type == 'B' ? 1 : type == 'I' ? 4 : 8;
}

static struct whole read_whole(struct kymo_capture *capture, unsigned members, uint64_t records,
                               kymo_ns from, kymo_ns to)
{
    const struct kymo_window window = {sizeof(window), from, to, -1};
    struct whole w = {0};
    struct kymo_columns *columns;
    int rc;
    kymo__columns_limit(members, records);
    CHECK_OK(kymo_columns_new(capture, &window, &columns));
    kymo__columns_limit(0, 0);
    for (; (rc = kymo_columns_next(columns)) > 0; w.batches++) {
        size_t texts = w.rows[TABLES - 1];
        for (unsigned t = 0; t < TABLES; t++) {
            const struct kymo_table *table = kymo_columns_table(columns, t);
            w.count[t] = table->count;
            for (unsigned i = 0; i < table->count; i++) {
                size_t size = width(table->columns[i].type), at = w.rows[t] * size;
                w.type[t][i] = table->columns[i].type;
                w.name[t][i] = table->columns[i].name;
                w.bytes[t][i] = realloc(w.bytes[t][i], at + table->rows * size + 1);
                if (table->rows)
                    memcpy(w.bytes[t][i] + at, table->columns[i].values, table->rows * size);
                /* Ends of texts count from the start of their batch. */
                if (strcmp(table->columns[i].name, "end") == 0)
                    for (size_t row = 0; row < table->rows; row++)
                        ((uint64_t *)(void *)w.bytes[t][i])[w.rows[t] + row] += texts;
            }
            w.rows[t] += table->rows;
        }
    }
    CHECK_EQ(rc, 0);
    kymo_columns_free(columns);
    return w;
}

static void whole_free(struct whole *w)
{
    for (unsigned t = 0; t < TABLES; t++)
        for (unsigned i = 0; i < w->count[t]; i++)
            free(w->bytes[t][i]);
}

static void same_rows(const struct whole *a, const struct whole *b)
{
    for (unsigned t = 0; t < TABLES; t++) {
        CHECK_EQ(a->rows[t], b->rows[t]);
        for (unsigned i = 0; i < a->count[t]; i++) {
            size_t size = width(a->type[t][i]);
            for (size_t row = 0; row < a->rows[t]; row++)
                if (memcmp(a->bytes[t][i] + row * size, b->bytes[t][i] + row * size, size) != 0)
                    CHECK_FAIL("column %s of table %u differs in row %zu of %zu", a->name[t][i], t,
                               row, a->rows[t]);
        }
    }
}

/* Read CAPTURE whole, in pieces, and in pieces on several cores. */
static void same_for_all(struct kymo_capture *capture, kymo_ns from, kymo_ns to)
{
    struct whole uncut = read_whole(capture, 1, UINT64_MAX, from, to);
    struct whole one = read_whole(capture, 1, PIECE, from, to);
    struct whole many = read_whole(capture, 5, PIECE, from, to);
    CHECK_LE(2, one.batches);
    CHECK_EQ(one.batches, many.batches);
    CHECK_LE(1000, uncut.rows[0]);
    same_rows(&uncut, &one);
    same_rows(&uncut, &many);
    whole_free(&uncut);
    whole_free(&one);
    whole_free(&many);
}

/* With so little memory, no block holds more than a part of the events. */
static void start(void)
{
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("cores.kymo"),
                                               .clock = 1,
                                               .budget = 1 << 20}));
    tape_zero = kymo_ticks();
}

/* So many EVENTS that there is a summary in the middle, even if the first ones take more than their
   share: then twice as much has to come before the next is tried. */
static struct kymo_capture *recorded(uint64_t seed, unsigned disorder, unsigned events)
{
    struct player p;
    start();
    player_init(&p, seed, disorder);
    p.calm = true;
    play_on(&p, events);
    return tape_stop("cores.kymo");
}

static void any_number_of_cores_reads_the_same_rows(void)
{
    for (uint64_t seed = 1; seed < 3; seed++) {
        struct kymo_capture *capture = recorded(seed, seed == 2 ? 30 : 0, 6 * EVENTS);
        same_for_all(capture, 0, INT64_MAX);
        kymo_close(capture);
    }
}

static void a_window_is_the_same(void)
{
    struct kymo_capture *capture = recorded(4, 5, 6 * EVENTS);
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    same_for_all(capture, info.start + EVENTS * 10, info.start + EVENTS * 100);
    kymo_close(capture);
}

static void *play_thread(void *seed)
{
    struct player p;
    player_init(&p, (uintptr_t)seed, 0);
    p.calm = true;
    play_on(&p, (uintptr_t)seed % 2 ? 50 : EVENTS);
    return NULL;
}

static void threads_come_in_order(void)
{
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    start();
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, play_thread, (void *)(i + 10));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct kymo_capture *capture = tape_stop("cores.kymo");
    same_for_all(capture, 0, INT64_MAX);
    kymo_close(capture);
}

static void a_wrong_checkpoint_is_read_past(void)
{
    struct kymo_capture *capture = recorded(6, 0, 4 * EVENTS);
    struct kymo_summary *first = next_state(capture, 1), *second;
    second = next_state(capture, (size_t)(first - capture->reader->summaries) + 1);
    second->header = first->header;
    second->offset = first->offset;
    same_for_all(capture, 0, INT64_MAX);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(any_number_of_cores_reads_the_same_rows),
    CHECK_CASE(a_window_is_the_same),
    CHECK_CASE(threads_come_in_order),
    CHECK_CASE(a_wrong_checkpoint_is_read_past),
};

CHECK_MAIN(cases)
