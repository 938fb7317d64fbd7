/* The live file: whether somebody truncated it, asked while it grows. */
#include "live.h"

#include <kymo/kymo.h>
#include <pthread.h>
#include <unistd.h>

#include "atomic.h"
#include "check.h"

enum { CHUNKS = 1500 };

static const uint8_t capture[16] = {1};

static void *grow(void *live)
{
    for (int i = 0; i < CHUNKS; i++)
        CHECK_EQ(kymo__live_grow(live, 1), 1);
    return NULL;
}

static void a_file_that_grows_meanwhile_is_whole(void)
{
    struct kymo_live live;
    pthread_t thread;
    CHECK_OK(kymo__live_create(&live, check_path("grows"), capture, CHUNKS, false));
    CHECK(live.path != NULL);
    CHECK_EQ(pthread_create(&thread, NULL, grow, &live), 0);
    for (bool growing = true; growing;) {
        growing = kymo__load_relaxed(&live.ready) < CHUNKS;
        CHECK(kymo__live_is_whole(&live));
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    kymo__live_close(&live, false);
}

static void a_truncated_file_is_not(void)
{
    struct kymo_live live;
    CHECK_OK(kymo__live_create(&live, check_path("cut"), capture, CHUNKS, false));
    CHECK_EQ(kymo__live_grow(&live, 2), 2);
    CHECK(kymo__live_is_whole(&live));
    CHECK_EQ(truncate(live.path, (off_t)KYMO__CHUNK_BYTES * 2), 0);
    CHECK(!kymo__live_is_whole(&live));
    kymo__live_close(&live, false);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_file_that_grows_meanwhile_is_whole),
    CHECK_CASE(a_truncated_file_is_not),
};
CHECK_MAIN(cases)
