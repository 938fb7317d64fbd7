/* A program linked statically has no loader to ask, and its stacks are the same. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "loader.h"
#include "modules.h"

int walk_agrees(void);

static int disagreed;

static int compare(const void *a, const void *b)
{
    disagreed += !walk_agrees();
    return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
    (void)number;
    disagreed += !walk_agrees();
}

static void *on_thread(void *arg)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof(numbers[0]), compare);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    return arg;
}

int main(void)
{
    puts("1..2");
    on_thread(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, on_thread, NULL);
    pthread_join(thread, NULL);
    printf("%sok 1 - stacks_are_as_the_oracle_says\n", disagreed ? "not " : "");
    struct kymo_loaded loaded;
    int known =
        kymo__modules_refresh() == 0 && kymo__module_at((uint64_t)(uintptr_t)&main, &loaded);
    printf("%sok 2 - the_program_is_a_module\n", known ? "" : "not ");
    return disagreed || !known;
}
