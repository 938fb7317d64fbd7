/* Every number of kymo.h has a word, and no two of a kind the same. */
#include <kymo/kymo.h>
#include <kymo/lane.h>
#include <string.h>

#include "check.h"

static void every_kind_of_event_has_a_word_of_its_own(void)
{
    for (unsigned kind = KYMO_ENTER; kind <= KYMO_ARG_TEXT; kind++) {
        CHECK(strcmp(kymo_kind_word(kind), "unknown") != 0);
        for (unsigned other = KYMO_ENTER; other < kind; other++)
            CHECK(strcmp(kymo_kind_word(kind), kymo_kind_word(other)) != 0);
    }
}

static void every_class_has_a_word(void)
{
    for (unsigned class = KYMO_CLASS_NAME; class <= KYMO_CLASS_OPERATOR; class ++)
        CHECK(strcmp(kymo_class_word(class), "unknown") != 0);
    CHECK(strcmp(kymo_class_word(KYMO_CLASS_NAME), "span") == 0);
}

static void numbers_from_the_future_are_unknown(void)
{
    CHECK(strcmp(kymo_kind_word(60000), "unknown") == 0);
    CHECK(strcmp(kymo_class_word(60000), "unknown") == 0);
    CHECK(strcmp(kymo_ending_word(60000), "unknown") == 0);
    CHECK(strcmp(kymo_detail_word(KYMO_GAP, 60000), "unknown") == 0);
    CHECK(kymo_detail_word(KYMO_INSTANT, 0) == NULL);
}

static const struct check_case cases[] = {
    CHECK_CASE(every_kind_of_event_has_a_word_of_its_own),
    CHECK_CASE(every_class_has_a_word),
    CHECK_CASE(numbers_from_the_future_are_unknown),
};

CHECK_MAIN(cases)
