/* How operators are encoded: the quick ways must say the same as the others. */
#include <stddef.h>

#include "opsaid.h"

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

static const struct check_case cases[] = {
    CHECK_CASE(tensors_are_kept_however_many_and_large_they_are),
    CHECK_CASE(a_site_saves_the_search_and_changes_nothing),
    CHECK_CASE(numbers_of_any_size_are_kept_with_a_site_and_without),
};

CHECK_MAIN(cases)
