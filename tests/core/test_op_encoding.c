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

static const struct check_case cases[] = {
    CHECK_CASE(tensors_are_kept_however_many_and_large_they_are),
    CHECK_CASE(a_site_saves_the_search_and_changes_nothing),
};

CHECK_MAIN(cases)
