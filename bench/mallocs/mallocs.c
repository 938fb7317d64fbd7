/* mallocs.c — threads that allocate and free without Python, for bench_memory.py. */
#include <pthread.h>
#include <stdlib.h>

enum { KEPT = 64, MOST = 16 };

static long pairs;

/* Each block lives until as many others as are KEPT have been allocated. */
static void *work(void *arg)
{
    void *kept[KEPT] = {0};
    (void)arg;
    for (long i = 0; i < pairs; i++) {
        void **place = &kept[i % KEPT];
        free(*place);
        *place = malloc((size_t)(16 + i % 512));
    }
    for (int i = 0; i < KEPT; i++)
        free(kept[i]);
    return NULL;
}

int run(int threads, long count); /* called from Python */

/* COUNT blocks in each of THREADS threads. Returns 0, or an error number. */
int run(int threads, long count)
{
    pthread_t ids[MOST];
    int started = 0, error = 0;
    pairs = count;
    while (!error && started < threads && started < MOST) {
        error = pthread_create(&ids[started], NULL, work, NULL);
        started += !error;
    }
    while (started > 0)
        pthread_join(ids[--started], NULL);
    return error;
}
