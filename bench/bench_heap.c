/* How long a memory report takes over fifty million records, and how much memory.

   Made by hand: two threads, each with a set of live blocks that it replaces at random, from some
   thousand stacks, as a program with caches and queues would. Usage: bench_heap [MILLIONS [PATH]];
   with a path, the capture is kept. Prints elapsed and CPU seconds of the replay, and the most
   memory the process had resident. */
#include <kymo/heap.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heapmade.h"

enum { THREADS = 2, LIVE = 100000, FUNCTIONS = 60, STACKS = 2000 };

static long events;
static uint32_t stacks[STACKS];

static uint64_t dice(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static void *work(void *arg)
{
    int self = *(int *)arg;
    uint64_t state = (uint64_t)self + 1;
    unsigned char *taken = calloc(LIVE, 1);
    uint32_t function = kymo_name_key("malloc");
    for (long i = 0; i < events / THREADS; i++) {
        uint64_t slot = dice(&state) % LIVE;
        uint64_t address = ((uint64_t)(self + 1) << 36) + slot * 112;
        if (taken[slot])
            heapmade_store(HEAPMADE_FREE, kymo_ticks(), &address, 1);
        else
            heapmade_store(HEAPMADE_ALLOC, kymo_ticks(),
                           (uint64_t[]){16 + dice(&state) % 4000, address,
                                        stacks[dice(&state) % STACKS], function},
                           4);
        taken[slot] ^= 1;
    }
    free(taken);
    return NULL;
}

static void make(const char *path)
{
    static char names[FUNCTIONS][32];
    pthread_t threads[THREADS];
    int numbers[THREADS];
    heapmade_begin(path, "exact");
    for (int i = 0; i < FUNCTIONS; i++)
        snprintf(names[i], sizeof(names[i]), "function_%d", i);
    for (int i = 0; i < STACKS; i++)
        stacks[i] = heapmade_stack_of(
            0, heapmade_line(names[i % FUNCTIONS], "/srv/app/module.py", 10, 10 + (uint32_t)i));
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    heapmade_ok(kymo_stop());
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    events = (argc > 1 ? atol(argv[1]) : 50) * 1000000;
    char made[64] = "/tmp/kymograph-bench-heap-XXXXXX";
    const char *path = argc > 2 ? argv[2] : made;
    if (argc <= 2 && !mkdtemp(made))
        return 1;
    if (argc <= 2)
        strcat(made, "/heap.kymo");
    /* Recorded by a process of its own, so that its memory does not count. */
    pid_t child = fork();
    if (child == 0) {
        make(path);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status)
        return 1;
    struct kymo_capture *capture;
    struct kymo_heap *heap;
    struct kymo_info file = {.size = sizeof(file)};
    struct kymo_heap_info info = {.size = sizeof(info)};
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    heapmade_ok(kymo_open(path, &capture));
    heapmade_ok(kymo_heap_new(capture, NULL, &heap));
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    kymo_heap_info(heap, &info);
    kymo_capture_info(capture, &file);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%llu memory events, %.2f bytes each in the file\n", (unsigned long long)info.events,
           (double)file.file_bytes / (double)info.events);
    printf("replayed in %.2f s, CPU %.2f s: %.0f ns of CPU for each; most memory %ld MB\n", wall,
           cpu, cpu / (double)info.events * 1e9, usage.ru_maxrss / 1024);
    printf("peak %llu bytes in %llu blocks, disorder %llu\n",
           (unsigned long long)info.set[KYMO_HEAP_AT_PEAK].bytes,
           (unsigned long long)info.set[KYMO_HEAP_AT_PEAK].count,
           (unsigned long long)info.disorder);
    kymo_heap_free(heap);
    kymo_close(capture);
    if (argc <= 2) {
        unlink(made);
        *strrchr(made, '/') = '\0';
        rmdir(made);
    }
    return 0;
}
