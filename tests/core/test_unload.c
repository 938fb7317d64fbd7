/* A program that loads the library with dlopen may close it at any time. */
#include <dlfcn.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <semaphore.h>

#include "check.h"

static void (*instant)(const char *name);
static sem_t recorded, closed;

static void *record_and_outlive_the_library(void *arg)
{
    instant("on a thread that ends after dlclose");
    sem_post(&recorded);
    sem_wait(&closed);
    return arg;
}

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        CHECK_FAIL("%s: %s", name, dlerror());
    return symbol;
}

static void a_thread_that_recorded_may_end_after_the_library_was_closed(void)
{
    const char *path = getenv("KYMO_LIBRARY");
    if (!path)
        CHECK_SKIP("KYMO_LIBRARY does not name the library");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        CHECK_FAIL("%s", dlerror());
    int (*start)(const struct kymo_options *) =
        (int (*)(const struct kymo_options *))find(library, "kymo_start");
    int (*stop)(void) = (int (*)(void))find(library, "kymo_stop");
    instant = (void (*)(const char *))find(library, "kymo__instant");

    pthread_t thread;
    sem_init(&recorded, 0, 0);
    sem_init(&closed, 0, 0);
    struct kymo_options options = {.size = sizeof(options), .path = check_path("unloaded.kymo")};
    CHECK_EQ(start(&options), 0);
    CHECK_EQ(pthread_create(&thread, NULL, record_and_outlive_the_library, NULL), 0);
    sem_wait(&recorded);
    CHECK_EQ(stop(), 0);
    CHECK_EQ(dlclose(library), 0);
    sem_post(&closed);
    CHECK_EQ(pthread_join(thread, NULL), 0);

    /* The library is still there: code of it runs when a thread ends. */
    CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_thread_that_recorded_may_end_after_the_library_was_closed),
};
CHECK_MAIN(cases)
