/* How operators are encoded: the quick ways must say the same as the others. */
#include <stddef.h>

#include "opsaid.h"
#include "random.h"

enum { TENSORS = 5 };

/* A tensor whose numbers have up to BITS bits, as the one at PLACE among others. */
static struct kymo_op_value odd_tensor(unsigned bits, unsigned place, const int64_t *dims)
{
    return (struct kymo_op_value){.kind = KYMO_OP_TENSOR,
                                  .tensor = {.tensor = UINT64_MAX >> (64 - bits),
                                             .storage = UINT64_C(1) << (bits - 1),
                                             .offset = INT64_MIN >> (64 - bits),
                                             .numel = (UINT64_MAX >> (64 - bits)) - place,
                                             .shape = dims,
                                             .strides = dims + 1,
                                             .dtype = (bits ^ place) & 1 ? "float" : "double",
                                             .device = bits & 2 ? "cpu" : "cuda",
                                             .dims = 1,
                                             .itemsize = (uint16_t)(0xffff >> bits % 16),
                                             .marks = (uint16_t)(place == 2 ? bits % 4 : 0)}};
}

/* What `said` has for COUNT of them. */
static void expect_tensors(char *to, size_t size, const struct kymo_op_value *in, unsigned count)
{
    size_t n = (size_t)snprintf(to, size, "operator.in: rf_id=7 seq=-1");
#define EACH_TENSOR(before, format, what)                                                          \
    n += (size_t)snprintf(to + n, size - n, before);                                               \
    for (unsigned i = 0; i < count; i++)                                                           \
    n += (size_t)snprintf(to + n, size - n, "%s" format, i ? " " : "", what)
    EACH_TENSOR(" kinds=[", "%d", (int)in[i].kind);
    EACH_TENSOR("] tensors=[", "%" PRIu64, in[i].tensor.tensor);
    EACH_TENSOR("] storages=[", "%" PRIu64, in[i].tensor.storage);
    EACH_TENSOR("] offsets=[", "%" PRId64, in[i].tensor.offset);
    EACH_TENSOR("] numels=[", "%" PRIu64, in[i].tensor.numel);
    EACH_TENSOR("] itemsizes=[", "%u", (unsigned)in[i].tensor.itemsize);
    EACH_TENSOR("] dtypes=[", "'%s'", in[i].tensor.dtype);
    EACH_TENSOR("] devices=[", "'%s'", in[i].tensor.device);
    EACH_TENSOR("] marks=[", "%u", (unsigned)in[i].tensor.marks);
    n += (size_t)snprintf(to + n, size - n, "] shapes=[");
    for (unsigned i = 0; i < count; i++)
        n += (size_t)(in[i].tensor.marks & KYMO_OP_OPAQUE
                          ? snprintf(to + n, size - n, "%s[]", i ? " " : "")
                          : snprintf(to + n, size - n, "%s[%" PRId64 "]", i ? " " : "",
                                     in[i].tensor.shape[0]));
    n += (size_t)snprintf(to + n, size - n, "] strides=[");
    for (unsigned i = 0; i < count; i++)
        n += (size_t)(in[i].tensor.marks ? snprintf(to + n, size - n, "%s[]", i ? " " : "")
                                         : snprintf(to + n, size - n, "%s[%" PRId64 "]",
                                                    i ? " " : "", in[i].tensor.strides[0]));
    snprintf(to + n, size - n, "]\n");
#undef EACH_TENSOR
}

static void tensors_are_kept_however_many_and_large_they_are(void)
{
    for (unsigned bits = 1; bits <= 64; bits++) {
        const int64_t dims[] = {INT64_MAX >> (64 - bits), INT64_MIN >> (64 - bits)};
        struct kymo_op_value in[TENSORS];
        char expected[4096];
        for (unsigned i = 0; i < TENSORS; i++)
            in[i] = odd_tensor(bits, i, dims);
        begin("tensors");
        for (unsigned count = 1; count <= TENSORS; count++)
            kymo_op_end(open_op("these", in, count), NULL, 0);
        CHECK_EQ(finish(), 0);
        for (unsigned count = 1; count <= TENSORS; count++) {
            expect_tensors(expected, sizeof(expected), in, count);
            CHECK_EQ(occurrences(expected), 1);
        }
    }
}

static void a_site_saves_the_search_and_changes_nothing(void)
{
    struct kymo_op_site sites[2] = {{0, 0}, {0, 0}};
    const struct kymo_operator plain = {
        .size = sizeof plain, .name = "plain", .id = 7, .sequence = -1, .site = &sites[0]};
    const struct kymo_operator with = {.size = sizeof with,
                                       .name = "with",
                                       .schema = "with.out",
                                       .id = 7,
                                       .sequence = -1,
                                       .site = &sites[1]};
    struct kymo_operator older = with; /* a caller from before sites */
    older.size = offsetof(struct kymo_operator, site);
    for (int session = 0; session < 2; session++) {
        begin("sites");
        if (session) /* keys are others than before */
            kymo_op_end(open_op("another", NULL, 0), NULL, 0);
        for (int i = 0; i < 2; i++) {
            kymo_op_end(kymo_op_begin(&plain), NULL, 0);
            kymo_op_end(kymo_op_begin(&with), NULL, 0);
        }
        older.site = &sites[0]; /* is not looked at */
        kymo_op_end(kymo_op_begin(&older), NULL, 0);
        CHECK_EQ(finish(), 0);
        CHECK_EQ(occurrences("enter operator plain\noperator.in: rf_id=7 seq=-1\n"), 2);
        CHECK_EQ(occurrences("enter operator with\noperator.in: rf_id=7 seq=-1"
                             " schema='with.out'\n"),
                 3);
    }
}

/* One field of BITS bits, the others as usual; 0 is the id. */
static struct kymo_operator odd_numbers(unsigned field, unsigned bits)
{
    const uint64_t value = UINT64_MAX >> (64 - bits);
    struct kymo_operator what = {.size = sizeof what,
                                 .name = "numbers",
                                 .schema = "numbers.out",
                                 .id = field == 0 ? value : 7,
                                 .sequence = field == 1 ? (int64_t)(value >> 1) : 5,
                                 .thread = field == 2 ? value : 1,
                                 .forward_thread = field == 3 ? value : 2,
                                 .scope = field == 4 ? (uint32_t)value : 1,
                                 .flags = field == 5 ? (uint32_t)value : KYMO_OP_NAMES};
    if (field == 6)
        what.sequence = INT64_MIN >> (64 - bits);
    return what;
}

static void numbers_of_any_size_are_kept_with_a_site_and_without(void)
{
    for (unsigned bits = 1; bits <= 64; bits++) {
        struct kymo_op_site site = {0, 0};
        begin("numbers");
        for (unsigned field = 0; field < 7; field++) {
            struct kymo_operator what = odd_numbers(field, bits);
            kymo_op_end(kymo_op_begin(&what), NULL, 0);
            what.site = &site; /* it is filled in, and then used */
            for (int i = 0; i < 2; i++)
                kymo_op_end(kymo_op_begin(&what), NULL, 0);
        }
        CHECK_EQ(finish(), 0);
        for (unsigned field = 0; field < 7; field++) {
            const struct kymo_operator what = odd_numbers(field, bits);
            char expected[512], sequence[32] = "";
            if (what.sequence)
                snprintf(sequence, sizeof(sequence), " seq=%" PRId64, what.sequence);
            snprintf(expected, sizeof(expected),
                     "operator.in: rf_id=%" PRIu64 "%s scope=%u thread=%" PRIu64
                     " fw_thread=%" PRIu64 " schema='numbers.out' flags=%u\n",
                     what.id, sequence, what.scope, what.thread, what.forward_thread, what.flags);
            CHECK_LE(3, occurrences(expected)); /* other fields may have the same */
        }
        CHECK_EQ(occurrences("enter operator numbers\noperator.in:"), 3 * 7);
    }
}

enum { VALUES = 30, DIMS = 11, OPERATORS = 16 };

struct odd_operator {
    struct kymo_op_value values[VALUES];
    int64_t dims[VALUES][2][DIMS];
    struct kymo_operator what;
};

static int64_t *odd_dims(int64_t *dims, uint64_t *state)
{
    for (unsigned i = 0; i < DIMS; i++)
        dims[i] = (int64_t)(random_size(state) >> (random_next(state) & 7 ? 40 : 0)) *
                  (random_next(state) & 63 ? 1 : -1);
    return dims;
}

/* A value of any kind, mostly one of the usual ones. */
static void odd_value(struct kymo_op_value *v, int64_t dims[2][DIMS], uint64_t *state)
{
    static const char *const types[] = {"float", "double", "long int", "c10::Half"};
    const bool usual = random_next(state) & 7;
    *v = (struct kymo_op_value){.kind = (uint32_t)(random_next(state) % 12)};
    if (v->kind == KYMO_OP_TENSOR) {
        v->tensor = (struct kymo_op_tensor){
            .tensor = usual ? UINT64_C(0x7f0000000000) + random_size(state) % 1000000
                            : random_size(state),
            .storage = usual ? UINT64_C(0x550000000000) : random_size(state),
            .offset = random_next(state) & 3 ? 0 : (int64_t)random_size(state),
            .numel = random_size(state) >> (usual ? 28 : 0),
            .shape = usual || random_next(state) & 1 ? odd_dims(dims[0], state) : NULL,
            .strides = usual || random_next(state) & 1 ? odd_dims(dims[1], state) : NULL,
            .dtype = types[random_next(state) % 4],
            .device = random_next(state) & 3 ? "cpu" : "cuda:0",
            .dims = (uint32_t)(random_next(state) % (usual ? 5 : DIMS)),
            .itemsize = (uint16_t)(random_size(state) >> (usual ? 60 : 48)),
            .marks = (uint16_t)(usual ? 0 : random_next(state) & 3),
        };
    } else if (v->kind == KYMO_OP_LIST || v->kind == KYMO_OP_TUPLE) {
        v->count = random_next(state) % (usual ? 3 : 1000);
    } else if (v->kind == KYMO_OP_TEXT || v->kind == KYMO_OP_DEVICE || v->kind == KYMO_OP_OTHER) {
        v->kind = usual ? KYMO_OP_NONE : v->kind;
        v->text = (struct kymo_op_text){"text", 4};
    } else if (v->kind == KYMO_OP_COMPLEX) {
        v->kind = usual ? KYMO_OP_BOOL : v->kind;
        v->complex_parts[0] = v->complex_parts[1] = 1.5;
    } else if (v->kind == KYMO_OP_FLOAT) {
        v->real = (double)random_size(state) / 7;
    } else {
        v->integer = (int64_t)random_size(state);
    }
    v->name = random_next(state) & 63 ? NULL : "keyword";
}

static void odd_operator(struct odd_operator *op, uint64_t *state)
{
    size_t count = 1 + random_next(state) % (random_next(state) & 3 ? 4 : VALUES);
    for (size_t i = 0; i < count; i++)
        odd_value(&op->values[i], op->dims[i], state);
    op->what = (struct kymo_operator){.size = sizeof op->what,
                                      .name = "odd",
                                      .schema = "odd.one",
                                      .id = 1 + (random_size(state) >> 30),
                                      .sequence = (int64_t)(random_size(state) >> 38) - 1,
                                      .inputs = op->values,
                                      .input_count = count};
}

/* The next payload in `said` after AT, with its length. */
static const char *next_said(const char *at, size_t *length)
{
    at = strstr(at, "operator.in:");
    *length = at ? (size_t)(strchr(at, '\n') - at) : 0;
    return at;
}

/* Each without a site, which takes the general way; then twice with one, which has its keys by then. */
static void values_of_any_kind_are_kept_with_a_site_and_without(void)
{
    static struct odd_operator ops[OPERATORS];
    uint64_t state = 11;
    for (unsigned round = 0; round < 200; round++) {
        struct kymo_op_site site = {0, 0};
        begin("values");
        for (unsigned i = 0; i < OPERATORS; i++) {
            odd_operator(&ops[i], &state);
            kymo_op_end(kymo_op_begin(&ops[i].what), NULL, 0);
            ops[i].what.site = &site;
            kymo_op_end(kymo_op_begin(&ops[i].what), NULL, 0);
            kymo_op_end(kymo_op_begin(&ops[i].what), NULL, 0);
        }
        CHECK_EQ(finish(), 0);
        const char *at = said;
        for (unsigned i = 0; i < OPERATORS; i++) {
            size_t lengths[3];
            const char *first = next_said(at, &lengths[0]);
            CHECK(first != NULL);
            const char *second = next_said(first + lengths[0], &lengths[1]);
            const char *third = second ? next_said(second + lengths[1], &lengths[2]) : NULL;
            CHECK(third != NULL);
            CHECK_EQ(lengths[1], lengths[0]);
            CHECK_EQ(lengths[2], lengths[0]);
            CHECK(memcmp(first, second, lengths[0]) == 0);
            CHECK(memcmp(first, third, lengths[0]) == 0);
            at = third + lengths[2];
        }
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(values_of_any_kind_are_kept_with_a_site_and_without),
    CHECK_CASE(tensors_are_kept_however_many_and_large_they_are),
    CHECK_CASE(a_site_saves_the_search_and_changes_nothing),
    CHECK_CASE(numbers_of_any_size_are_kept_with_a_site_and_without),
};

CHECK_MAIN(cases)
