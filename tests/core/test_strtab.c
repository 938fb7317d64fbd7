/* Each string is kept once, under an id that never changes. */
#include "strtab.h"

#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "check.h"

enum { MANY = 50000 };

static int64_t add(struct kymo_strtab *tab, const char *text, int *added)
{
    return kymo__strtab_add(tab, text, strlen(text), added);
}

static void name_of(char name[32], int i)
{
    snprintf(name, 32, "string number %d", i);
}

static void an_empty_table_finds_nothing(void)
{
    struct kymo_strtab tab = {0};
    CHECK_EQ(kymo__strtab_find(&tab, "x", 1), 0);
    CHECK(kymo__strtab_get(&tab, 0) == NULL);
    CHECK(kymo__strtab_get(&tab, 1) == NULL);
    kymo__strtab_fini(&tab);
}

static void ids_are_dense_from_one_and_equal_strings_share_one(void)
{
    struct kymo_strtab tab = {0};
    int added;
    char name[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            name_of(name, i);
            CHECK_EQ(add(&tab, name, &added), i + 1);
            CHECK_EQ(added, round == 0);
        }
    CHECK_EQ(tab.count, MANY);
    for (int i = 0; i < MANY; i++) {
        name_of(name, i);
        CHECK_EQ(kymo__strtab_find(&tab, name, strlen(name)), i + 1);
        CHECK_STR(kymo__strtab_get(&tab, (uint32_t)i + 1)->text, name);
    }
    CHECK_EQ(kymo__strtab_find(&tab, "string number", 13), 0);
    CHECK(kymo__strtab_get(&tab, MANY + 1) == NULL);
    kymo__strtab_fini(&tab);
}

static void a_string_stays_where_it_is_while_the_table_grows(void)
{
    struct kymo_strtab tab = {0};
    int added;
    char name[32];
    add(&tab, "first", &added);
    const char *first = kymo__strtab_get(&tab, 1)->text;
    for (int i = 0; i < MANY; i++) {
        name_of(name, i);
        add(&tab, name, &added);
    }
    CHECK(kymo__strtab_get(&tab, 1)->text == first);
    CHECK_STR(first, "first");
    kymo__strtab_fini(&tab);
}

static void strings_may_contain_zero_bytes(void)
{
    struct kymo_strtab tab = {0};
    int added;
    CHECK_EQ(kymo__strtab_add(&tab, "a\0b", 3, &added), 1);
    CHECK_EQ(kymo__strtab_add(&tab, "a\0c", 3, &added), 2);
    CHECK_EQ(kymo__strtab_add(&tab, "a", 1, &added), 3);
    CHECK_EQ(kymo__strtab_add(&tab, "", 0, &added), 4);
    CHECK_EQ(kymo__strtab_add(&tab, "a\0b", 3, &added), 1);
    CHECK_EQ(kymo__strtab_find(&tab, "", 0), 4);
    CHECK_EQ(kymo__strtab_get(&tab, 4)->len, 0);
    kymo__strtab_fini(&tab);
}

static void the_last_string_can_be_dropped_and_added_again(void)
{
    struct kymo_strtab tab = {0};
    int added;
    char name[32];
    for (int i = 0; i < 1000; i++) {
        name_of(name, i);
        CHECK_EQ(add(&tab, name, &added), i + 1);
        kymo__strtab_drop_last(&tab);
        CHECK_EQ(kymo__strtab_find(&tab, name, strlen(name)), 0);
        CHECK_EQ(add(&tab, name, &added), i + 1);
        CHECK_EQ(added, 1);
    }
    for (int i = 0; i < 1000; i++) {
        name_of(name, i);
        CHECK_EQ(kymo__strtab_find(&tab, name, strlen(name)), i + 1);
    }
    kymo__strtab_fini(&tab);
}

static void without_memory_nothing_is_added_and_nothing_lost(void)
{
    struct kymo_strtab tab = {0};
    char name[32];
    int refused = 0, added;
    for (int i = 0; i < 200; i++) {
        name_of(name, i);
        for (long n = 0;; n++) {
            kymo__alloc_fail_after(n);
            int64_t id = add(&tab, name, &added);
            kymo__alloc_fail_after(-1);
            if (id > 0)
                break;
            CHECK_EQ(id, -ENOMEM);
            CHECK_EQ(added, 0);
            CHECK_EQ(tab.count, i);
            refused++;
        }
    }
    CHECK_LE(200, refused);
    for (int i = 0; i < 200; i++) {
        name_of(name, i);
        CHECK_EQ(kymo__strtab_find(&tab, name, strlen(name)), i + 1);
    }
    kymo__strtab_fini(&tab);
}

static const struct check_case cases[] = {
    CHECK_CASE(an_empty_table_finds_nothing),
    CHECK_CASE(ids_are_dense_from_one_and_equal_strings_share_one),
    CHECK_CASE(a_string_stays_where_it_is_while_the_table_grows),
    CHECK_CASE(strings_may_contain_zero_bytes),
    CHECK_CASE(the_last_string_can_be_dropped_and_added_again),
    CHECK_CASE(without_memory_nothing_is_added_and_nothing_lost),
};
CHECK_MAIN(cases)
