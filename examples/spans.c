/* spans.c — a small program that records its own spans: the main thread fills a queue of
   orders, and three workers parse them.

       cc spans.c -o spans $(pkg-config --cflags --libs kymo) -lpthread
       ./spans spans.kymo && kymograph info spans.kymo

   Kill it in the middle (kill -9) and the capture still opens. */
#include <kymo/kymo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS = 3, ORDERS = 600 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int queue[ORDERS];
static int head, tail;

/* Something that takes a few microseconds per unit of WORK. */
static unsigned churn(unsigned seed, int work)
{
    for (int i = 0; i < work * 1000; i++)
        seed = seed * 1664525u + 1013904223u;
    return seed;
}

static unsigned parse(int order)
{
    struct kymo_span span = kymo_span_begin("parse");
    unsigned sum = 0;
    for (int field = 0; field < 1 + order % 4; field++) {
        struct kymo_span inner = kymo_span_begin("field");
        sum += churn((unsigned)order, 3);
        kymo_span_end(inner);
    }
    kymo_span_end(span);
    return sum;
}

static int take(void)
{
    pthread_mutex_lock(&lock);
    while (head == tail && tail < ORDERS)
        pthread_cond_wait(&more, &lock);
    int order = head < tail ? queue[head++] : -1;
    kymo_counter("queue", tail - head);
    pthread_mutex_unlock(&lock);
    return order;
}

static void *worker(void *arg)
{
    kymo_thread_name(arg);
    unsigned sum = 0;
    for (int order; (order = take()) >= 0;) {
        struct kymo_span span = kymo_span_begin("order");
        kymo_flow_in("order", (uint64_t)order); /* an arrow from where it was queued */
        sum += parse(order);
        kymo_async_end("waiting", (uint64_t)order);
        kymo_span_end(span);
    }
    return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "spans.kymo";
    int rc = kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options), .path = path});
    if (rc < 0) {
        fprintf(stderr, "spans: %s: %s\n", path, kymo_strerror(rc));
        return 2;
    }
    kymo_thread_name("main");
    kymo_metadata("orders", "600");
    char *names[WORKERS] = {"worker 1", "worker 2", "worker 3"};
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, names[i]);
    for (int i = 0; i < ORDERS; i++) {
        struct kymo_span span = kymo_span_begin("put");
        kymo_flow_out("order", (uint64_t)i);
        kymo_async_begin("waiting", (uint64_t)i);
        pthread_mutex_lock(&lock);
        queue[tail++] = i;
        kymo_counter("queue", tail - head);
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
        kymo_span_end(span);
        usleep(100);
    }
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    kymo_instant("all done");
    return kymo_stop() < 0;
}
