/* preload_begin.c — what the preloaded library does before the program begins: remove the traces of
   LD_PRELOAD from the environment, so that the program's children are not affected, and start
   recording in programs that nobody else does it in. */
#include <dlfcn.h>
#include <kymo/memory.h>
#include <kymo/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"

static void say(const char *what, const char *why)
{
    dprintf(STDERR_FILENO, "kymograph: %s: %s\n", what, why);
}

/* Start a session of LIBRARY into OUTPUT. It ends when the process does. */
static void begin_recording(const char *library, const char *output, const char *numbers)
{
    struct kymo_memory_options memory = {.size = sizeof(memory)};
    unsigned long long rate = 0;
    if (!numbers ||
        sscanf(numbers, "%d %llu %u %u", &memory.mode, &rate, &memory.what, &memory.stacks) != 4)
        return;
    memory.rate = rate;
    memory.no_stacks = !memory.stacks;
    const struct kymo_source_options of_memory = {
        .size = sizeof(of_memory), .source = "memory", .options = &memory};
    const struct kymo_options options = {
        .size = sizeof(options),
        .path = output,
        .sources = "memory=on",
        .source_options = &of_memory,
    };
    int (*start)(const struct kymo_options *) = NULL;
    const char *(*explain)(int) = NULL;
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (loaded) {
        start = (int (*)(const struct kymo_options *))(uintptr_t)dlsym(loaded, "kymo_start");
        explain = (const char *(*)(int))(uintptr_t)dlsym(loaded, "kymo_strerror");
    }
    if (!start || !explain) {
        say("nothing is recorded", dlerror());
        return;
    }
    int rc = start(&options);
    if (rc < 0)
        say(output, explain(rc));
    else
        kymo__preload_recorded(loaded);
}

__attribute__((constructor)) static void prepare_recording(void)
{
    const char *before = getenv(KYMO__PRELOAD_BEFORE);
    const char *library = getenv(KYMO__PRELOAD_LIBRARY), *output = getenv(KYMO__PRELOAD_OUTPUT);
    const char *file = getenv(KYMO__PRELOAD_FILE);
    if (!before)
        return;
    if (file)
        close(atoi(file));
    /* Values stay valid: unsetenv only forgets them. */
    if (*before)
        setenv("LD_PRELOAD", before, 1);
    else
        unsetenv("LD_PRELOAD");
    const char *numbers = getenv(KYMO__PRELOAD_OPTIONS);
    unsetenv(KYMO__PRELOAD_BEFORE);
    unsetenv(KYMO__PRELOAD_FILE);
    unsetenv(KYMO__PRELOAD_LIBRARY);
    unsetenv(KYMO__PRELOAD_OUTPUT);
    unsetenv(KYMO__PRELOAD_OPTIONS);
    if (library && output)
        begin_recording(library, output, numbers);
}
