/* Definitions come back as they were; unknown and longer ones are skipped, so that the
   format can grow. */
#include "defs.h"

#include "check.h"
#include "random.h"
#include "varint.h"

static const int types[] = {
    KYMO__DEF_STRING,      KYMO__DEF_MORE,        KYMO__DEF_KEY,        KYMO__DEF_THREAD,
    KYMO__DEF_THREAD_NAME, KYMO__DEF_THREAD_END,  KYMO__DEF_META,       KYMO__DEF_CLOCK,
    KYMO__DEF_GAP,         KYMO__DEF_PROCESS,     KYMO__DEF_RANGE,      KYMO__DEF_MODULE,
    KYMO__DEF_FRAME,       KYMO__DEF_NODE,        KYMO__DEF_STACK,      KYMO__DEF_SCHEMA,
    KYMO__DEF_TRACK,       KYMO__DEF_TRACK_CLOCK, KYMO__DEF_TRACK_TIME,
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static uint8_t text[KYMO__DEF_TEXT];

static int has_text(int type)
{
    return type == KYMO__DEF_STRING || type == KYMO__DEF_MORE || type == KYMO__DEF_SCHEMA ||
           type == KYMO__DEF_NODE;
}

static struct kymo_def any_def(int type, uint64_t *state)
{
    struct kymo_def def = {.type = type};
    for (unsigned i = 0; i < kymo__def_numbers(type); i++)
        def.number[i] = random_size(state);
    if (has_text(type)) {
        def.text = text;
        def.text_len = random_next(state) % 8 ? random_next(state) % 40 : KYMO__DEF_TEXT;
    }
    return def;
}

static void same(const struct kymo_def *a, const struct kymo_def *b)
{
    CHECK_EQ(a->type, b->type);
    for (int i = 0; i < KYMO__DEF_NUMBERS; i++)
        CHECK_EQ(a->number[i], b->number[i]);
    CHECK_EQ(a->text_len, b->text_len);
    CHECK(!a->text_len || memcmp(a->text, b->text, a->text_len) == 0);
}

static void the_numbers_of_each_type_are_as_documented(void)
{
    const unsigned numbers[TYPES] = {1, 1, 5, 4, 2, 2, 2, 3, 5, 4, 2, 6, 4, 3, 2, 2, 4, 3, 3};
    for (int i = 0; i < TYPES; i++) {
        CHECK_EQ(kymo__def_numbers(types[i]), numbers[i]);
        CHECK_LE(numbers[i], KYMO__DEF_NUMBERS);
    }
    CHECK_EQ(kymo__def_numbers(0), 0);
    CHECK_EQ(kymo__def_numbers(20), 0);
    CHECK_EQ(kymo__def_numbers(255), 0);
    CHECK_EQ(kymo__def_numbers(-1), 0);
}

static void a_thread_may_name_its_process(void)
{
    uint8_t bytes[KYMO__DEF_MAX];
    struct kymo_def def;
    for (uint64_t process = 0; process < 3; process++) {
        const struct kymo_def thread = {.type = KYMO__DEF_THREAD, .number = {1, 2, 3, 4, process}};
        uint8_t *end = kymo__def_put(bytes, &thread);
        CHECK_EQ(end - bytes, 6 + (process > 0)); /* 0 is as in the first version */
        CHECK(kymo__def_get(bytes, end, &def) == end);
        same(&def, &thread);
    }
}

static void a_stream_of_every_type_comes_back(void)
{
    enum { COUNT = 3000 };
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)random_next(&state);
    uint64_t again = state;
    uint8_t *bytes = malloc((size_t)COUNT * KYMO__DEF_MAX), *end = bytes;
    for (int i = 0; i < COUNT; i++) {
        struct kymo_def def = any_def(types[i % TYPES], &state);
        uint8_t *begin = end;
        end = kymo__def_put(end, &def);
        CHECK_LE(end - begin, KYMO__DEF_MAX);
    }
    const uint8_t *at = bytes;
    for (int i = 0; i < COUNT; i++) {
        struct kymo_def def, want = any_def(types[i % TYPES], &again);
        at = kymo__def_get(at, end, &def);
        CHECK(at != NULL);
        same(&def, &want);
    }
    CHECK(at == end);
    struct kymo_def none;
    CHECK(kymo__def_get(end, end, &none) == NULL);
    free(bytes);
}

static void the_greatest_definition_fits_its_bound(void)
{
    uint8_t bytes[KYMO__DEF_MAX];
    for (int i = 0; i < TYPES; i++) {
        struct kymo_def def = {.type = types[i], .text = text, .text_len = KYMO__DEF_TEXT};
        for (int n = 0; n < KYMO__DEF_NUMBERS; n++)
            def.number[n] = UINT64_MAX;
        CHECK_LE(kymo__def_put(bytes, &def) - bytes, KYMO__DEF_MAX);
    }
}

static void a_definition_cut_short_is_not_whole(void)
{
    uint64_t state = 2;
    static uint8_t bytes[KYMO__DEF_MAX];
    for (int i = 0; i < TYPES; i++) {
        struct kymo_def def = any_def(types[i], &state), none;
        size_t len = (size_t)(kymo__def_put(bytes, &def) - bytes);
        for (size_t cut = 0; cut < len; cut++) {
            uint8_t *copy = malloc(cut + 1);
            memcpy(copy, bytes, cut);
            CHECK(kymo__def_get(copy, copy + cut, &none) == NULL);
            free(copy);
        }
    }
}

static void a_type_from_the_future_is_skipped(void)
{
    uint8_t bytes[300] = {200, 100};
    struct kymo_def key = {.type = KYMO__DEF_KEY, .number = {1, 2, 3, 4, 5}}, def;
    const uint8_t *end = kymo__def_put(bytes + 102, &key);
    const uint8_t *at = kymo__def_get(bytes, end, &def);
    CHECK(at == bytes + 102);
    CHECK_EQ(def.type, 0);
    CHECK(kymo__def_get(at, end, &def) == end);
    same(&def, &key);
}

static void a_body_that_has_grown_is_read_as_far_as_it_is_known(void)
{
    const uint8_t bytes[] = {KYMO__DEF_META, 5, 7, 8, 99, 0xff, 0xff};
    struct kymo_def def;
    CHECK(kymo__def_get(bytes, bytes + sizeof(bytes), &def) == bytes + sizeof(bytes));
    CHECK_EQ(def.type, KYMO__DEF_META);
    CHECK_EQ(def.number[0], 7);
    CHECK_EQ(def.number[1], 8);
    CHECK_EQ(def.number[2], 0);
}

static void a_body_too_short_for_its_numbers_is_skipped(void)
{
    const uint8_t bytes[] = {KYMO__DEF_KEY, 3, 1, 2, 0x80, KYMO__DEF_META, 2, 7, 8};
    struct kymo_def def;
    const uint8_t *at = kymo__def_get(bytes, bytes + sizeof(bytes), &def);
    CHECK(at == bytes + 5);
    CHECK_EQ(def.type, 0);
    CHECK(kymo__def_get(at, bytes + sizeof(bytes), &def) == bytes + sizeof(bytes));
    CHECK_EQ(def.type, KYMO__DEF_META);
}

static void garbage_ends(void)
{
    uint64_t state = 3;
    for (int round = 0; round < 20000; round++) {
        size_t len = random_next(&state) % 100;
        uint8_t *bytes = malloc(len + !len);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (uint8_t)(random_next(&state) & (random_next(&state) & 1 ? 0x0f : 0xff));
        const uint8_t *at = bytes;
        struct kymo_def def;
        while (at) {
            const uint8_t *next = kymo__def_get(at, bytes + len, &def);
            CHECK(!next || (next >= at + 2 && next <= bytes + len));
            CHECK(!def.text_len || (def.text >= at && def.text + def.text_len <= bytes + len));
            at = next;
        }
        free(bytes);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(the_numbers_of_each_type_are_as_documented),
    CHECK_CASE(a_thread_may_name_its_process),
    CHECK_CASE(a_stream_of_every_type_comes_back),
    CHECK_CASE(the_greatest_definition_fits_its_bound),
    CHECK_CASE(a_definition_cut_short_is_not_whole),
    CHECK_CASE(a_type_from_the_future_is_skipped),
    CHECK_CASE(a_body_that_has_grown_is_read_as_far_as_it_is_known),
    CHECK_CASE(a_body_too_short_for_its_numbers_is_skipped),
    CHECK_CASE(garbage_ends),
};
CHECK_MAIN(cases)
