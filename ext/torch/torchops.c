/* torchops.c — see torchops.h.

   torch calls us on whatever thread runs the operator, without the GIL. A record that begins on one
   thread may end on another: so each thread has a list of the operators open on it, by the address of
   their record. When one has ended elsewhere, its own thread records the end at its next operator. */
#include "torchops.h"

#include <kymo/memory.h>
#include <kymo/opquick.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "torchcall.h"
#include "torchextras.h"
#include "torchhead.h"
#include "torchparts.h"
#include "torchread.h"

enum {
    OPEN_MOST = 512, /* operators open on a thread */
    FEW = 24,        /* values of most operators: others take more of the stack */
    USER_SCOPE = 7,  /* annotations of the program */
};

struct open_op {
    const void *record;
    struct kymo_op op;
    uint32_t ended; /* 1: on another thread */
};

struct op_thread {
    struct op_thread *next; /* under the lock */
    uint32_t depth;
    struct open_op open[OPEN_MOST];
    struct kymo__torch_known_ops known;
};

static int mode_now; /* enum kymo__torch_mode; read in every call */
static uint64_t handles[KYMO__TORCH_SCOPES];
static unsigned handle_count;
static uint64_t probe_handles[KYMO__TORCH_SCOPES];
static unsigned probe_handle_count;
static uint32_t inherited; /* 1: the handles are those of the parent process */
static uint64_t too_deep;

static struct op_thread *threads; /* all, under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
/* Initial-exec: reading them takes an instruction, in a library loaded with dlopen too. */
static __thread struct op_thread *mine __attribute__((tls_model("initial-exec")));
static __thread const struct kymo__torch_probe *probe __attribute__((tls_model("initial-exec")));

/* ---- threads ---- */

static void end_thread(void *arg)
{
    struct op_thread *ending = arg;
    pthread_mutex_lock(&lock);
    struct op_thread **at = &threads;
    while (*at && *at != ending)
        at = &(*at)->next;
    if (*at)
        *at = ending->next;
    pthread_mutex_unlock(&lock);
    mine = NULL;
    bool memory = kymo_memory_enter();
    free(ending);
    if (memory)
        kymo_memory_leave();
}

static void make_key(void)
{
    pthread_key_create(&thread_key, end_thread);
}

/* The list of this thread, made at its first operator; NULL if memory is short. */
static __attribute__((noinline)) struct op_thread *make_mine(void)
{
    pthread_once(&thread_once, make_key);
    bool memory = kymo_memory_enter(); /* what this allocates is not the program's */
    struct op_thread *made = aligned_alloc(_Alignof(struct op_thread), sizeof *made);
    if (made)
        memset(made, 0, sizeof *made);
    if (made && pthread_setspecific(thread_key, made) != 0) {
        free(made);
        made = NULL;
    }
    if (memory)
        kymo_memory_leave();
    if (made) {
        pthread_mutex_lock(&lock);
        made->next = threads;
        threads = made;
        pthread_mutex_unlock(&lock);
    }
    return mine = made;
}

/* RECORD has ended here, but began on another thread: tell that one. */
static __attribute__((noinline)) void end_elsewhere(const void *record)
{
    pthread_mutex_lock(&lock);
    for (struct op_thread *t = threads; t; t = t->next) {
        uint32_t depth = __atomic_load_n(&t->depth, __ATOMIC_ACQUIRE);
        for (uint32_t i = depth; t != mine && i--;)
            if (__atomic_load_n(&t->open[i].record, __ATOMIC_RELAXED) == record) {
                __atomic_store_n(&t->open[i].ended, 1u, __ATOMIC_RELEASE);
                pthread_mutex_unlock(&lock);
                return;
            }
    }
    pthread_mutex_unlock(&lock);
}

static inline void push_op(struct op_thread *t, const void *record, struct kymo_op op)
{
    uint32_t depth = t->depth;
    struct open_op *open = &t->open[depth];
    __atomic_store_n(&open->ended, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&open->record, record, __ATOMIC_RELAXED);
    open->op = op;
    __atomic_store_n(&t->depth, depth + 1, __ATOMIC_RELEASE);
}

static inline struct kymo_op pop_op(struct op_thread *t)
{
    uint32_t depth = t->depth - 1;
    __atomic_store_n(&t->depth, depth, __ATOMIC_RELEASE);
    return t->open[depth].op;
}

/* End the innermost operators that have ended on other threads. */
static inline void end_ended(struct op_thread *t)
{
    while (t->depth && __builtin_expect(
                           __atomic_load_n(&t->open[t->depth - 1].ended, __ATOMIC_ACQUIRE) != 0, 0))
        kymo_op_end(pop_op(t), NULL, 0);
}

/* ---- begin ---- */

static inline bool has_extras(void)
{
    return __builtin_expect(__atomic_load_n(&kymo__torch_extras, __ATOMIC_RELAXED) != 0, 0);
}

static __attribute__((noinline)) struct kymo_op
begin_large(const void *record, struct kymo_operator *what, const struct kymo__torch_layout *l)
{
    struct kymo__torch_parts parts;
    kymo__torch_parts_begin(&parts, 0);
    kymo__torch_read_inputs(l, kymo__torch_known(), record, &parts.values);
    what->inputs = parts.room;
    what->input_count = kymo__torch_parts_end(&parts);
    what->flags &= KYMO_OP_ASYNC;
    if (what->input_count)
        what->flags |= parts.values.cut ? KYMO_OP_CUT : 0;
    else
        what->flags |= kymo_op_parts_flags(&parts.recorded);
    struct kymo_op op = kymo_op_begin(what);
    what->inputs = NULL; /* the room is gone */
    if (has_extras())
        kymo__torch_note_extras_of(l, what->name, op, record, &parts);
    return op;
}

static struct kymo_op begin_with_inputs(const void *record, struct kymo_operator *what,
                                        const struct kymo__torch_layout *l)
{
    struct kymo_op_value room[FEW];
    struct kymo__torch_values values = {.at = room, .end = room + FEW};
    kymo__torch_read_inputs(l, kymo__torch_known(), record, &values);
    if (__builtin_expect(values.cut, 0))
        return begin_large(record, what, l);
    what->inputs = room;
    what->input_count = (size_t)(values.at - room);
    what->flags &= KYMO_OP_ASYNC;
    struct kymo_op op = kymo_op_begin(what);
    if (has_extras())
        kymo__torch_note_extras(l, what->name, op, room, what->input_count, 0);
    what->inputs = NULL; /* the room is gone */
    return op;
}

/* Is it an annotation with a text? In every mode, torch passes the inputs of annotations. */
static bool has_text(const void *record, unsigned scope)
{
    return scope == USER_SCOPE && kymo__torch_known()->inputs(record) > 0;
}

/* Only annotations may end on another thread. */
static bool is_async(const void *record, unsigned scope)
{
    const struct kymo__torch_lib *lib = kymo__torch_known();
    return scope == USER_SCOPE && lib->async && lib->async(record);
}

/* Begin an operator, whatever is to be recorded of it. */
static __attribute__((noinline)) struct kymo_op
begin_slowly(struct op_thread *t, const void *record, unsigned scope, int mode)
{
    const struct kymo__torch_layout *l = kymo__torch_layout();
    struct kymo_operator what = {
        .size = sizeof what,
        .name = kymo__torch_known()->name(record),
        .sequence = -1,
        .scope = scope,
        .flags = KYMO_OP_NAMES | (is_async(record, scope) ? KYMO_OP_ASYNC : 0),
    };
    if (l)
        kymo__torch_read_head(l, record, what.name, &t->known, &what);
    if (l && (mode >= KYMO__TORCH_INPUTS || has_text(record, scope)))
        return begin_with_inputs(record, &what, l);
    return kymo_op_begin(&what);
}

/* The head of RECORD, if the thread has met the operator in this session: most are such. */
static inline __attribute__((always_inline)) bool read_known(struct op_thread *t,
                                                             const struct kymo__torch_layout *l,
                                                             const void *record,
                                                             struct kymo_operator *what)
{
    kymo__torch_read_head(l, record, kymo__torch_known()->name(record), &t->known, what);
    return __builtin_expect(what->site && what->id, 1);
}

/* The same as begin_slowly for operators that have nothing but tensors and numbers. The result's key is
   0 if it is another; then nothing has happened. */
static __attribute__((noinline)) struct kymo_op
begin_with_numbers(struct op_thread *t, const struct kymo__torch_layout *l, const void *record)
{
    struct kymo_record room[KYMO__OPRECORDS_MOST];
    struct kymo_operator what;
    struct kymo_op op = {0};
    uint32_t session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    if (!read_known(t, l, record, &what) || has_extras())
        return op;
    /* A copy, because another thread may put keys of a new session into a site. */
    struct kymo_op_site site = {__atomic_load_n(&what.site->name, __ATOMIC_RELAXED),
                                __atomic_load_n(&what.site->schema, __ATOMIC_RELAXED)};
    what.site = &site;
    if (__builtin_expect(site.name >> 32 != session, 0))
        return op;
    const struct kymo_record *end =
        kymo__torch_put_inputs(l, kymo__torch_known(), record, session, &t->known.keys, room);
    what.flags = 0;
    if (__builtin_expect(end != NULL, 1))
        op = kymo__op_begin_quickly(&what, room, (unsigned)(end - room));
    return op;
}

/* The same for names only. */
static inline struct kymo_op begin_with_name(struct op_thread *t,
                                             const struct kymo__torch_layout *l, const void *record)
{
    struct kymo_operator what;
    struct kymo_op op = {0};
    if (!read_known(t, l, record, &what))
        return op;
    what.flags = KYMO_OP_NAMES;
    return kymo__op_begin_quickly(&what, NULL, 0);
}

static inline struct kymo_op begin_quickly(struct op_thread *t, const void *record, unsigned scope,
                                           int mode)
{
    const struct kymo__torch_layout *l = kymo__torch_layout();
    if (__builtin_expect(!l || scope == USER_SCOPE, 0))
        return (struct kymo_op){0};
    return mode < KYMO__TORCH_INPUTS ? begin_with_name(t, l, record)
                                     : begin_with_numbers(t, l, record);
}

static inline void record_start(const void *record, unsigned scope, int mode)
{
    struct op_thread *t = mine ? mine : make_mine();
    if (!t)
        return;
    end_ended(t);
    if (__builtin_expect(t->depth == OPEN_MOST, 0)) {
        __atomic_add_fetch(&too_deep, 1, __ATOMIC_RELAXED);
        return;
    }
    struct kymo_op op = begin_quickly(t, record, scope, mode);
    if (__builtin_expect(!op.key, 0))
        op = begin_slowly(t, record, scope, mode);
    push_op(t, record, op);
}

/* ---- end ---- */

static __attribute__((noinline)) void
end_large(const void *record, const struct kymo__torch_layout *l, struct kymo_op op, uint64_t ticks)
{
    struct kymo__torch_parts parts;
    kymo__torch_parts_begin(&parts, ticks);
    kymo__torch_read_outputs(l, kymo__torch_known(), record, &parts.values);
    size_t count = kymo__torch_parts_end(&parts);
    if (count)
        kymo_op_end_at(op, parts.room, count, ticks);
    else
        kymo_op_end_parts(op, &parts.recorded);
}

static __attribute__((noinline)) void end_slowly(const void *record, int mode)
{
    struct op_thread *t = mine;
    uint32_t at = t ? t->depth : 0;
    while (at && t->open[at - 1].record != record)
        at--;
    if (__builtin_expect(!at, 0)) {
        end_elsewhere(record);
        return;
    }
    while (t->depth > at)
        kymo_op_end(pop_op(t), NULL, 0); /* they end on other threads, later */
    struct kymo_op op = pop_op(t);
    const struct kymo__torch_layout *l = kymo__torch_layout();
    if (!op.key)
        return;
    if (!l || mode < KYMO__TORCH_FULL) {
        kymo_op_end(op, NULL, 0);
        return;
    }
    uint64_t ticks = kymo__stamp_begin();
    struct kymo_op_value room[FEW];
    struct kymo__torch_values values = {.at = room, .end = room + FEW};
    kymo__torch_read_outputs(l, kymo__torch_known(), record, &values);
    if (__builtin_expect(values.cut, 0))
        end_large(record, l, op, ticks);
    else
        kymo_op_end_at(op, room, (size_t)(values.at - room), ticks);
}

/* Most end where they began, last of all that are open, without outputs. */
static inline void record_end(const void *record, int mode)
{
    struct op_thread *t = mine;
    uint32_t depth = t ? t->depth : 0;
    if (__builtin_expect(depth && t->open[depth - 1].record == record && mode < KYMO__TORCH_FULL,
                         1)) {
        struct kymo_op op = pop_op(t);
        if (__builtin_expect(op.key && !kymo__op_end_quickly(op), 0))
            kymo_op_end(op, NULL, 0);
    } else {
        end_slowly(record, mode);
    }
}

/* ---- what torch calls ---- */

/* In a forked child nobody listens any more: take the parent's callbacks away, here, because an
   operator runs and torch works. */
static __attribute__((noinline)) void leave_parent(void)
{
    if (!__atomic_exchange_n(&inherited, 0u, __ATOMIC_RELAXED))
        return;
    for (unsigned i = 0; i < handle_count; i++)
        kymo__torch_known()->remove(handles[i]);
    handle_count = 0;
}

void kymo__torch_starts(const void *record, unsigned scope)
{
    if (__builtin_expect(probe != NULL, 0)) {
        probe->starts(record, scope);
        return;
    }
    int mode = __atomic_load_n(&mode_now, __ATOMIC_RELAXED);
    if (mode && kymo_running())
        record_start(record, scope, mode);
    else if (__builtin_expect(__atomic_load_n(&inherited, __ATOMIC_RELAXED) != 0, 0))
        leave_parent();
}

void kymo__torch_ends(const void *record, unsigned scope)
{
    if (__builtin_expect(probe != NULL, 0))
        probe->ends(record, scope);
    else
        record_end(record, __atomic_load_n(&mode_now, __ATOMIC_RELAXED));
}

/* ---- listening ---- */

/* Scopes that are no operators: single kernels by type, and features of the build. */
static bool is_scope(unsigned scope)
{
    return scope != 3 && scope != 5;
}

static uint64_t add_callback(const struct kymo__torch_lib *lib, int mode, unsigned scope,
                             uint32_t scopes)
{
    struct kymo__torch_callback callback = {
        .start = kymo__torch_starter(scope),
        .end = kymo__torch_ender(scope),
        .probability = 1.0,
        .inputs = mode >= KYMO__TORCH_INPUTS || scope == USER_SCOPE,
        .outputs = mode >= KYMO__TORCH_FULL,
        .ids = 1,
    };
    for (unsigned i = 0; i < KYMO__TORCH_SCOPES; i++)
        callback.scopes[i] = is_scope(i) && (scopes >> i & 1);
    return lib->add(callback);
}

/* Add callbacks that get what MODE needs: one for each scope, or, if the layout is known, one for all;
   but two if only annotations need their inputs. */
static unsigned add_callbacks(const struct kymo__torch_lib *lib, int mode, bool each, uint64_t *to)
{
    unsigned count = 0;
    if (!each && mode >= KYMO__TORCH_INPUTS) {
        to[count++] = add_callback(lib, mode, 0, ~0u);
    } else if (!each) {
        to[count++] = add_callback(lib, mode, 0, ~(1u << USER_SCOPE));
        to[count++] = add_callback(lib, mode, USER_SCOPE, 1u << USER_SCOPE);
    }
    for (unsigned scope = 0; each && scope < KYMO__TORCH_SCOPES; scope++)
        if (is_scope(scope) && kymo__torch_starter(scope))
            to[count++] = add_callback(lib, mode, scope, 1u << scope);
    return count;
}

static uint32_t others; /* bits: 1 somebody listened to all threads before us, 2 as set */

bool kymo__torch_others(void)
{
    const struct kymo__torch_lib *lib = kymo__torch_known();
    if (!lib)
        return false;
    if ((lib->local && lib->local()) || __atomic_load_n(&others, __ATOMIC_RELAXED))
        return true;
    return !handle_count && !probe_handle_count && lib->global && lib->global();
}

bool kymo__torch_listens(void)
{
    return __atomic_load_n(&mode_now, __ATOMIC_RELAXED) && handle_count && kymo_running();
}

void kymo__torch_others_set(bool set)
{
    if (set)
        __atomic_or_fetch(&others, 2u, __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(&others, ~2u, __ATOMIC_RELAXED);
}

int kymo__torch_listen(int mode)
{
    const struct kymo__torch_lib *lib = kymo__torch_known();
    if (!lib)
        return KYMO__TORCH_OFF;
    const struct kymo__torch_layout *l = kymo__torch_layout();
    __atomic_store_n(&inherited, 0u, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < handle_count; i++)
        lib->remove(handles[i]);
    handle_count = 0;
    if (mode && lib->global && lib->global())
        __atomic_or_fetch(&others, 1u, __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(&others, ~1u, __ATOMIC_RELAXED);
    mode = mode && !l ? KYMO__TORCH_NAMES : mode;
    __atomic_store_n(&mode_now, mode, __ATOMIC_RELEASE);
    if (mode)
        handle_count = add_callbacks(lib, mode, !l, handles);
    return handle_count ? mode : KYMO__TORCH_OFF;
}

void kymo__torch_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    if (mine) {
        mine->next = NULL;
        mine->depth = 0;
    }
    threads = mine;
    mode_now = KYMO__TORCH_OFF;
    kymo__torch_extras_forked();
    others = 0;
    inherited = handle_count != 0;
}

uint64_t kymo__torch_too_deep(void)
{
    return __atomic_load_n(&too_deep, __ATOMIC_RELAXED);
}

bool kymo__torch_probe_this_thread(const struct kymo__torch_probe *new)
{
    const struct kymo__torch_lib *lib = kymo__torch_known();
    if (!lib || (new &&handle_count))
        return false;
    if (new && !probe_handle_count)
        probe_handle_count = add_callbacks(lib, KYMO__TORCH_FULL, true, probe_handles);
    probe = new;
    return !new || probe_handle_count;
}

void kymo__torch_probes_end(void)
{
    for (unsigned i = 0; i < probe_handle_count; i++)
        kymo__torch_known()->remove(probe_handles[i]);
    probe_handle_count = 0;
    probe = NULL;
}
