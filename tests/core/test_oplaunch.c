/* Launches of operators: found by process and id, replaced, and forgotten in time. */
#include <errno.h>

#include "alloc.h"
#include "check.h"
#include "oplaunch.h"

static struct kymo_op_launches launches;
static struct kymo_op_open open_operator;
static struct kymo_op_lane lane;

static int set_launch(uint32_t process, uint64_t correlation, uint64_t op)
{
    open_operator.op = (struct kymo_opcall){.id = op, .rf_id = op + 1, .name = "f"};
    lane = (struct kymo_op_lane){.open = &open_operator, .count = 1, .process = process};
    return kymo__op_launch_set(&launches, &lane, correlation, 1);
}

/* The operator that launched, or 0. */
static uint64_t launcher(uint32_t process, uint64_t correlation)
{
    const struct kymo_op_launch *found = kymo__op_launch_find(&launches, process, correlation);
    return found ? found->by.id : 0;
}

/* ---- cases ---- */

static void processes_have_ids_of_their_own(void)
{
    CHECK_OK(set_launch(0, 7, 100));
    CHECK_OK(set_launch(1, 7, 200));

    CHECK_EQ(launcher(0, 7), 100);
    CHECK_EQ(launcher(1, 7), 200);
    CHECK_EQ(launcher(2, 7), 0);
    CHECK_EQ(launcher(0, 8), 0);
    kymo__op_launches_fini(&launches);
}

static void an_id_that_is_used_again_is_that_of_the_last_launch(void)
{
    CHECK_OK(set_launch(0, 7, 100));
    CHECK_OK(set_launch(0, 7, 300));

    CHECK_EQ(launcher(0, 7), 300);
    CHECK_EQ(launches.now.count, 1);
    kymo__op_launches_fini(&launches);
}

static void a_launch_outside_of_operators_is_none(void)
{
    lane = (struct kymo_op_lane){.count = 0};

    CHECK_OK(kymo__op_launch_set(&launches, &lane, 7, 1));
    CHECK_EQ(launcher(0, 7), 0);
}

static void old_launches_are_forgotten(void)
{
    const uint64_t all = UINT64_C(2) * KYMO__LAUNCHES_MOST + 10;
    for (uint64_t i = 1; i <= all; i++)
        CHECK_OK(set_launch(0, i, i));

    CHECK_EQ(launcher(0, all), all);
    CHECK_EQ(launcher(0, all - KYMO__LAUNCHES_MOST + 1), all - KYMO__LAUNCHES_MOST + 1);
    CHECK_EQ(launcher(0, 1), 0);
    CHECK_LE(launches.now.count + launches.before.count, UINT64_C(2) * KYMO__LAUNCHES_MOST);
    kymo__op_launches_fini(&launches);
}

static void running_out_of_memory_is_an_error(void)
{
    int rc = -ENOMEM;
    for (int n = 0; rc < 0 && n < 100; n++) {
        kymo__alloc_fail_after(n);
        rc = set_launch(0, 7, 100);
        kymo__alloc_fail_after(-1);
        if (rc < 0)
            CHECK_EQ(rc, -ENOMEM);
    }
    CHECK_EQ(rc, 0);
    CHECK_EQ(launcher(0, 7), 100);
    kymo__op_launches_fini(&launches);
}

static const struct check_case cases[] = {
    CHECK_CASE(processes_have_ids_of_their_own),
    CHECK_CASE(an_id_that_is_used_again_is_that_of_the_last_launch),
    CHECK_CASE(a_launch_outside_of_operators_is_none),
    CHECK_CASE(old_launches_are_forgotten),
    CHECK_CASE(running_out_of_memory_is_an_error),
};

CHECK_MAIN(cases)
