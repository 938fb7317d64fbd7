/* Rules out of .eh_frame: tables made by hand, damaged ones, and those of the C library. */
#include "ehframe.h"

#include <dlfcn.h>
#include <kymo/kymo.h>

#include "check.h"
#include "modules.h"
#include "random.h"

#if defined(__aarch64__)
enum { FP = 29, SP = 31, RA = 30, WORD_DOWN = 0x78 /* -8 */ };
#else
enum { FP = 6, SP = 7, RA = 16, WORD_DOWN = 0x78 };
#endif

enum { FUNCTION = 0x10000, SIZE = 0x100 };

/* A header with one function in it, FUNCTION after itself. */
struct image {
    uint8_t bytes[512];
    size_t size;
};

static void put(struct image *image, const void *bytes, size_t size)
{
    CHECK(image->size + size <= sizeof(image->bytes));
    memcpy(image->bytes + image->size, bytes, size);
    image->size += size;
}

static void put4(struct image *image, int64_t value)
{
    int32_t four = (int32_t)value;
    put(image, &four, 4);
}

/* Fill in the length, now known, of what began at FROM. */
static void close_entry(struct image *image, size_t from)
{
    while (image->size % 8)
        put(image, "", 1);
    uint32_t length = (uint32_t)(image->size - from - 4);
    memcpy(image->bytes + from, &length, 4);
}

/* LETTERS after the z; FIRST and THEN are the programs of CIE and FDE. */
static void make(struct image *image, const char *letters, const void *first, size_t first_size,
                 const void *then, size_t then_size)
{
    *image = (struct image){0};
    put(image, "\x01\x1b\x03\x3b", 4);
    put4(image, 24 - 4);
    put4(image, 1);
    put4(image, FUNCTION);
    size_t fde_at = image->size;
    put4(image, 0);
    put4(image, 0); /* nothing: so that the CIE begins at 24 */
    size_t cie = image->size;
    put4(image, 0);
    put4(image, 0);
    put(image, "\x01z", 2);
    put(image, letters, strlen(letters) + 1);
    put(image, "\x01", 1);
    put(image, (uint8_t[]){WORD_DOWN, RA, 1, 0x1b}, 4);
    put(image, first, first_size);
    close_entry(image, cie);

    size_t fde = image->size;
    memcpy(image->bytes + fde_at, &(int32_t){(int32_t)fde}, 4);
    put4(image, 0);
    put4(image, (int64_t)(image->size - cie));
    put4(image, FUNCTION - (int64_t)image->size);
    put4(image, SIZE);
    put(image, "", 1);
    put(image, then, then_size);
    close_entry(image, fde);
}

static struct kymo_rule rule_in(const struct image *image, uint64_t offset)
{
    uint64_t at = (uint64_t)(uintptr_t)image->bytes;
    return kymo__ehframe_rule(image->bytes, at, at + image->size, at + FUNCTION + offset);
}

#define CHECK_RULE(image, offset, kind_, cfa_, fp_)                                                \
    do {                                                                                           \
        struct kymo_rule check_rule = rule_in(image, offset);                                      \
        CHECK_EQ(check_rule.kind, kind_);                                                          \
        CHECK_EQ(check_rule.cfa, cfa_);                                                            \
        CHECK_EQ(check_rule.fp, fp_);                                                              \
    } while (0)

#define MAKE(image, letters, then)                                                                 \
    make(image, letters, start, sizeof(start), then, sizeof(then) - 1)

#if defined(__aarch64__)

static const uint8_t start[] = {0x0c, SP, 0};

static void a_function_that_makes_its_record(void)
{
    struct image image;
    /* stp x29, x30, [sp, -32]!; mov x29, sp; ...; ldp; ret */
    MAKE(&image, "R", "\x44\x0e\x20\x9d\x04\x9e\x03\x48\x0d\x1d\x50\xde\xdd\x0c\x1f\x00");
    CHECK_RULE(&image, 0, KYMO__RULE_SP, 0, 0);
    CHECK_EQ(rule_in(&image, 0).extra, KYMO__RA_IN_REGISTER);
    CHECK_RULE(&image, 4, KYMO__RULE_SP, 32, -32);
    CHECK_EQ(rule_in(&image, 4).extra, KYMO__RA_AFTER_FP);
    CHECK_RULE(&image, 12, KYMO__RULE_FP, 32, -32);
    CHECK_RULE(&image, 28, KYMO__RULE_SP, 0, 0);
}

static void a_return_address_saved_alone(void)
{
    struct image image;
    MAKE(&image, "R", "\x44\x0e\x10\x9e\x02");
    CHECK_RULE(&image, 4, KYMO__RULE_SP, 16, -16);
    CHECK_EQ(rule_in(&image, 4).extra, KYMO__RA_ALONE);
}

static void signed_return_addresses_are_unwound(void)
{
    struct image image;
    MAKE(&image, "RB", "\x44\x2d\x44\x0e\x10\x9d\x02\x9e\x01");
    CHECK_RULE(&image, 4, KYMO__RULE_SP, 0, 0);
    CHECK_RULE(&image, 8, KYMO__RULE_SP, 16, -16);
}

#define ARCH_CASES                                                                                 \
    CHECK_CASE(a_function_that_makes_its_record), CHECK_CASE(a_return_address_saved_alone),        \
        CHECK_CASE(signed_return_addresses_are_unwound)

#else

static const uint8_t start[] = {0x0c, SP, 8, 0x80 | RA, 1};

static void a_function_that_saves_registers(void)
{
    struct image image;
    /* push %rbp; push %rbx; sub $24,%rsp; ... and all that back before the end */
    MAKE(&image, "R",
         "\x41\x0e\x10\x86\x02\x41\x0e\x18\x83\x03\x44\x0e\x30\x60\x0a\x0e\x08\x48\x0b");
    CHECK_RULE(&image, 0, KYMO__RULE_SP, 8, 0);
    CHECK_RULE(&image, 1, KYMO__RULE_SP, 16, -16);
    CHECK_RULE(&image, 2, KYMO__RULE_SP, 24, -16);
    CHECK_RULE(&image, 6, KYMO__RULE_SP, 48, -16);
    CHECK_EQ(rule_in(&image, 6).extra, 3);
    CHECK_RULE(&image, 38, KYMO__RULE_SP, 8, -16);
    CHECK_RULE(&image, 46, KYMO__RULE_SP, 48, -16);
}

static void a_function_with_a_frame_pointer(void)
{
    struct image image;
    MAKE(&image, "R", "\x41\x0e\x10\x86\x02\x43\x0d\x06\x50\xc6\x0c\x07\x08");
    CHECK_RULE(&image, 4, KYMO__RULE_FP, 16, -16);
    CHECK_RULE(&image, 20, KYMO__RULE_SP, 8, 0);
}

static void a_function_that_aligned_its_stack(void)
{
    struct image image;
    /* CFA is r10; then rbp is saved at rbp + 0; then CFA is the word at rbp - 8 */
    MAKE(&image, "R", "\x45\x0c\x0a\x00\x49\x10\x06\x02\x76\x00\x45\x0f\x03\x76\x78\x06");
    struct kymo_rule rule = rule_in(&image, 5);
    CHECK_EQ(rule.kind, KYMO__RULE_REGISTER);
    CHECK_EQ(rule.extra, 10);
    CHECK_RULE(&image, 14, KYMO__RULE_REGISTER, 0, 1);
    CHECK_RULE(&image, 19, KYMO__RULE_FP_WORD, -8, 0);
}

static void assembly_that_keeps_its_stack_pointer_on_the_stack(void)
{
    struct image image;
    MAKE(&image, "R", "\x0f\x06\x77\xc0\x00\x06\x23\x08\x86\x03");
    CHECK_RULE(&image, 0, KYMO__RULE_SP_WORD, 64, -24);
    CHECK_EQ(rule_in(&image, 0).extra, 8);
}

static void a_jump_table_depends_on_the_address(void)
{
    struct image image;
    MAKE(&image, "R", "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
    uint64_t begin = (uint64_t)(uintptr_t)image.bytes + FUNCTION;
    for (uint64_t i = 0; i < 32; i++)
        CHECK_RULE(&image, i, KYMO__RULE_SP, (begin + i) % 16 >= 11 ? 16 : 8, 0);
}

static void a_signals_frame_has_a_context(void)
{
    struct image image;
    const char text[] = "\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00\x10\x10\x03\x77\xa8\x01";
    MAKE(&image, "RS", text);
    CHECK_RULE(&image, 0, KYMO__RULE_SIGNAL, 0, 0);
    MAKE(&image, "R", text); /* the same without the letter is not understood */
    CHECK_RULE(&image, 0, KYMO__RULE_NONE, 0, 0);
}

#define ARCH_CASES                                                                                 \
    CHECK_CASE(a_function_that_saves_registers), CHECK_CASE(a_function_with_a_frame_pointer),      \
        CHECK_CASE(a_function_that_aligned_its_stack),                                             \
        CHECK_CASE(assembly_that_keeps_its_stack_pointer_on_the_stack),                            \
        CHECK_CASE(a_jump_table_depends_on_the_address), CHECK_CASE(a_signals_frame_has_a_context)

#endif

static void where_there_is_no_return_address_the_stack_ends(void)
{
    struct image image;
    const char text[] = {0x07, RA, 0};
    MAKE(&image, "R", text);
    CHECK_EQ(rule_in(&image, 0).kind, KYMO__RULE_END);
}

static void outside_of_functions_there_is_no_rule(void)
{
    struct image image;
    MAKE(&image, "R", "\x00");
    CHECK(rule_in(&image, 0).kind != KYMO__RULE_NONE);
    CHECK(rule_in(&image, SIZE - 1).kind != KYMO__RULE_NONE);
    CHECK_EQ(rule_in(&image, SIZE).kind, KYMO__RULE_NONE);
    CHECK_EQ(rule_in(&image, (uint64_t)-1).kind, KYMO__RULE_NONE);
    uint64_t at = (uint64_t)(uintptr_t)image.bytes;
    CHECK_EQ(kymo__ehframe_rule(NULL, 0, 0, at).kind, KYMO__RULE_NONE);
    CHECK_EQ(kymo__ehframe_rule(image.bytes, at + 8, at + 16, at).kind, KYMO__RULE_NONE);
}

static void a_header_without_its_table_is_not_understood(void)
{
    struct image image;
    MAKE(&image, "R", "\x00");
    image.bytes[3] = 0xff;
    CHECK_EQ(rule_in(&image, 0).kind, KYMO__RULE_NONE);
    MAKE(&image, "R", "\x00");
    image.bytes[0] = 2;
    CHECK_EQ(rule_in(&image, 0).kind, KYMO__RULE_NONE);
    MAKE(&image, "?R", "\x00"); /* a letter that nobody knows */
    CHECK_EQ(rule_in(&image, 0).kind, KYMO__RULE_NONE);
}

static void a_program_cut_short_is_noticed(void)
{
    struct image image;
    MAKE(&image, "R", "\x41\x0e\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90");
    CHECK(rule_in(&image, 0).kind != KYMO__RULE_NONE); /* what is before it still holds */
    CHECK_EQ(rule_in(&image, 1).kind, KYMO__RULE_NONE);
}

static uint64_t random_below(uint64_t *random, uint64_t end)
{
    return random_next(random) % end;
}

/* In a piece of memory that ends with the image, so that a sanitizer sees what is read beyond. */
static void damage_is_survived(void)
{
    struct image image;
    uint64_t random = 1;
    MAKE(&image, "RS", "\x41\x0e\x10\x86\x02\x43\x0d\x06\x50\x0f\x03\x76\x78\x06\x10\x06\x02\x76");
    for (int i = 0; i < 20000; i++) {
        size_t size = 1 + random_below(&random, image.size);
        uint8_t *copy = malloc(size);
        memcpy(copy, image.bytes, size);
        for (uint64_t k = random_below(&random, 4); k; k--)
            copy[random_below(&random, size)] = (uint8_t)random_below(&random, 256);
        uint64_t at = (uint64_t)(uintptr_t)copy;
        kymo__ehframe_rule(copy, at, at + size, at + FUNCTION + random_below(&random, SIZE));
        free(copy);
    }
}

static void nearly_all_of_the_c_library_has_rules(void)
{
    CHECK_EQ(kymo__modules_refresh(), 0);
    void *symbol = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    struct kymo_loaded libc;
    CHECK(kymo__module_at((uint64_t)(uintptr_t)symbol, &libc));
    unsigned kinds[KYMO__RULE_CHAIN + 1] = {0}, all = 0;
    for (uint64_t pc = libc.low; pc < libc.high; pc += 52, all++)
        kinds[kymo__ehframe_rule(libc.eh_frame_hdr, libc.readable_low, libc.readable_high, pc)
                  .kind]++;
    /* Where constants are in the same segment, there is more than code between low and high. */
    CHECK(kinds[KYMO__RULE_SP] + kinds[KYMO__RULE_FP] > all / 100 * (FP == 6 ? 90 : 60));
}

static const struct check_case cases[] = {
    ARCH_CASES,
    CHECK_CASE(where_there_is_no_return_address_the_stack_ends),
    CHECK_CASE(outside_of_functions_there_is_no_rule),
    CHECK_CASE(a_header_without_its_table_is_not_understood),
    CHECK_CASE(a_program_cut_short_is_noticed),
    CHECK_CASE(damage_is_survived),
    CHECK_CASE(nearly_all_of_the_c_library_has_rules),
};
CHECK_MAIN(cases)
