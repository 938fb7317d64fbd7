/* opahead.c — see opahead.h.

   Operators go from one thread to the other in batches, which are used again and again. An operator
   is not copied: it changes places with an old one, whose buffers the reader fills next. */
#include "opahead.h"

#include <errno.h>

#include "alloc.h"
#include "thread.h"

enum {
    BATCH = 256,
    BATCHES = 4,
    VALUES = 1 << 16, /* a batch is full with these, too, so that memory is bounded */
    KEPT = 1 << 10,   /* room for more values is not used again */
};

struct item {
    enum { OPERATOR, THREAD, DEVICE } what;
    union {
        struct kymo_op_thread thread;
        struct kymo_op_device device;
    };
    struct kymo_opcall op;
};

struct batch {
    struct item items[BATCH];
    size_t count;
    size_t values; /* of all operators in it */
};

struct ahead {
    const struct kymo_ops_visitor *visitor;
    struct batch *batches; /* a ring of BATCHES */
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t changed;
    size_t filled, emptied; /* batches so far */
    bool all;               /* the last batch is filled */
    int error;              /* the visitor's */
};

/* ---- the reader ---- */

static struct batch *being_filled(const struct ahead *a)
{
    return &a->batches[a->filled % BATCHES];
}

/* Pass on the batch that is being filled, and wait until there is an empty one. */
static int pass_on(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->filled++;
    pthread_cond_broadcast(&a->changed);
    while (a->filled - a->emptied == BATCHES)
        pthread_cond_wait(&a->changed, &a->lock);
    int rc = a->error;
    pthread_mutex_unlock(&a->lock);
    being_filled(a)->count = being_filled(a)->values = 0;
    return rc;
}

static struct item *next_item(struct ahead *a)
{
    struct batch *batch = being_filled(a);
    return &batch->items[batch->count++];
}

/* An item was added: pass the batch on if it is full. */
static int added(struct ahead *a)
{
    const struct batch *batch = being_filled(a);
    return batch->count == BATCH || batch->values >= VALUES ? pass_on(a) : 0;
}

static int on_thread(void *arg, const struct kymo_op_thread *thread)
{
    struct item *item = next_item(arg);
    item->what = THREAD;
    item->thread = *thread;
    return added(arg);
}

static int on_device(void *arg, const struct kymo_op_device *device)
{
    struct item *item = next_item(arg);
    item->what = DEVICE;
    item->device = *device;
    return added(arg);
}

static int on_end(void *arg, struct kymo_opcall *op)
{
    struct item *item = next_item(arg);
    struct kymo_opcall old = item->op;
    item->what = OPERATOR;
    item->op = *op;
    *op = old;
    being_filled(arg)->values += item->op.inputs.count + item->op.outputs.count;
    return added(arg);
}

/* Wait for the visitor: operators refer to texts of the reader. */
static void on_last(void *arg)
{
    struct ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    a->filled += being_filled(a)->count > 0;
    a->all = true;
    pthread_cond_broadcast(&a->changed);
    while (a->emptied != a->filled)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

/* ---- the visitor's thread ---- */

/* What the reader wrote is in the cache of its core. Fetch SIZE bytes of it while other work is
   done. */
static inline void fetch_soon(const void *at, size_t size)
{
    enum { LINE = 64 };
    for (size_t done = 0; done < size; done += LINE)
        __builtin_prefetch((const char *)at + done);
}

static inline void fetch_values(const struct kymo_opdata *values)
{
    fetch_soon(values->all, values->count * sizeof(*values->all));
    fetch_soon(values->bytes.bytes, values->bytes.len);
}

static inline void let_go(struct kymo_opdata *values)
{
    if (kymo__unlikely(values->capacity > KEPT))
        kymo__op_values_fini(values);
}

static int visit_item(const struct kymo_ops_visitor *visitor, struct item *item)
{
    switch (item->what) {
    case THREAD:
        return visitor->thread ? visitor->thread(visitor->arg, &item->thread) : 0;
    case DEVICE:
        return visitor->device(visitor->arg, &item->device);
    default:
        return visitor->end ? visitor->end(visitor->arg, &item->op) : 0;
    }
}

static int visit_all(const struct kymo_ops_visitor *visitor, struct batch *batch)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (i + 2 < batch->count)
            fetch_soon(item + 2, sizeof(*item));
        if (i + 1 < batch->count) {
            fetch_values(&item[1].op.inputs);
            fetch_values(&item[1].op.outputs);
        }
        rc = visit_item(visitor, item);
        let_go(&item->op.inputs);
        let_go(&item->op.outputs);
    }
    return rc;
}

static void *visit_batches(void *arg)
{
    struct ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    for (;;) {
        while (a->emptied == a->filled && !a->all)
            pthread_cond_wait(&a->changed, &a->lock);
        if (a->emptied == a->filled)
            break;
        struct batch *batch = &a->batches[a->emptied % BATCHES];
        int rc = a->error;
        pthread_mutex_unlock(&a->lock);
        if (rc == 0)
            rc = visit_all(a->visitor, batch);
        pthread_mutex_lock(&a->lock);
        a->error = rc;
        a->emptied++;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---- both ---- */

static int read_and_visit(struct ahead *a, struct kymo_capture *capture,
                          const struct kymo_export_options *options)
{
    const struct kymo_ops_visitor to_batches = {
        .arg = a,
        .thread = on_thread,
        .end = on_end,
        .device = a->visitor->device ? on_device : NULL,
        .last = on_last,
    };
    pthread_t visiting;
    int rc = kymo__thread_start(&visiting, "kymo operators", 0, visit_batches, a);
    if (rc < 0)
        return kymo__operators_read(capture, options, a->visitor);
    rc = kymo__operators_read(capture, options, &to_batches);
    pthread_join(visiting, NULL);
    return a->error ? a->error : rc;
}

int kymo__operators_read_ahead(struct kymo_capture *capture,
                               const struct kymo_export_options *options,
                               const struct kymo_ops_visitor *visitor)
{
    struct ahead a = {.visitor = visitor};
    a.batches = kymo__alloc_zeroed(BATCHES * sizeof(*a.batches));
    if (!a.batches)
        return -ENOMEM;
    pthread_mutex_init(&a.lock, NULL);
    pthread_cond_init(&a.changed, NULL);
    int rc = read_and_visit(&a, capture, options);
    pthread_cond_destroy(&a.changed);
    pthread_mutex_destroy(&a.lock);
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t j = 0; j < BATCH; j++)
            kymo__opcall_fini(&a.batches[i].items[j].op);
    kymo__free(a.batches);
    return rc;
}
