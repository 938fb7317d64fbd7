/* source.c — the list of registered sources, and how a session uses it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "names.h"
#include "running.h"
#include "sampler.h"
#include "sources.h"

enum { SOURCES_MOST = 32 };

/* Changed under the life lock. `forks` also guards the number of slots and the fields that the
   fork functions read: a thread that forks must not wait for the life lock, because the thread
   holding it may wait for an interpreter lock that the forking thread holds. */
static struct source_slot {
    struct kymo_source source; /* a copy; absent functions are NULL */
    const struct kymo_source *table;
    void *user, *state;
    const void *options; /* borrowed from the caller of kymo_start */
    bool chosen;         /* for the session that is starting */
    bool active;         /* start has succeeded; end has not been called */
    bool stopped;        /* by kymo_source_stop; active until the session ends */
} slots[SOURCES_MOST];
static unsigned slot_count;
static bool sources_paused;
static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool forking __attribute__((tls_model("initial-exec"))); /* it holds `forks` */

/* ---- registration ---- */

static bool name_is_suitable(const char *name)
{
    return name && *name && *name != ' ' && name[strlen(name) - 1] != ' ' &&
           !strpbrk(name, "*,=\n");
}

/* The slot whose source has the first LEN bytes of NAME as its name, or NULL. */
static struct source_slot *slot_named(const char *name, size_t len)
{
    for (unsigned i = 0; i < slot_count; i++)
        if (strlen(slots[i].source.name) == len &&
            strncasecmp(slots[i].source.name, name, len) == 0)
            return &slots[i];
    return NULL;
}

static struct source_slot *slot_of(const struct kymo_source *table)
{
    for (unsigned i = 0; i < slot_count; i++)
        if (slots[i].table == table)
            return &slots[i];
    return NULL;
}

int kymo__source_add(const struct kymo_source *table, void *user)
{
    if (!table || table->size < offsetof(struct kymo_source, flags) ||
        !name_is_suitable(table->name))
        return -EINVAL;
    if (slot_of(table) || slot_named(table->name, strlen(table->name)))
        return KYMO_EREGISTERED;
    if (slot_count == SOURCES_MOST)
        return -ENOSPC;
    struct source_slot slot = {.table = table, .user = user};
    size_t known = table->size < sizeof(slot.source) ? table->size : sizeof(slot.source);
    memcpy(&slot.source, table, known);
    pthread_mutex_lock(&forks);
    slots[slot_count++] = slot;
    pthread_mutex_unlock(&forks);
    return 0;
}

int kymo__source_remove(const struct kymo_source *table)
{
    struct source_slot *slot = slot_of(table);
    if (!slot || slot->active)
        return slot ? KYMO_ERUNNING : KYMO_ENOTREGISTERED;
    pthread_mutex_lock(&forks);
    slot_count--;
    memmove(slot, slot + 1, (size_t)(&slots[slot_count] - slot) * sizeof(*slot));
    pthread_mutex_unlock(&forks);
    return 0;
}

int kymo_source_register(const struct kymo_source *table, void *user)
{
    kymo__life_lock();
    int rc = kymo__source_add(table, user);
    kymo__life_unlock();
    return rc;
}

int kymo_source_unregister(const struct kymo_source *table)
{
    kymo__life_lock();
    int rc = kymo__source_remove(table);
    kymo__life_unlock();
    return rc;
}

int kymo_source_at(unsigned index, struct kymo_source_info *info)
{
    if (info->size < sizeof(size_t))
        return -EINVAL;
    kymo__life_lock();
    int rc = index < slot_count ? 0 : -ENOENT;
    if (rc == 0) {
        const struct source_slot *slot = &slots[index];
        const struct kymo_source_info found = {
            .size = info->size,
            .name = slot->source.name,
            .flags = slot->source.flags,
            .active = slot->active,
        };
        memcpy(info, &found, info->size < sizeof(found) ? info->size : sizeof(found));
    }
    kymo__life_unlock();
    return rc;
}

/* ---- choosing sources ---- */

/* Write to WHY that the LEN bytes at TEXT are wrong, and list the names. Returns KYMO_ESOURCE. */
static int refuse_list(char *why, size_t size, const char *what, const char *text, size_t len)
{
    int at =
        size ? snprintf(why, size, "%s '%.*s'; registered sources: ", what, (int)len, text) : 0;
    for (unsigned i = 0; at >= 0 && (size_t)at < size && i <= slot_count; i++) {
        const char *name = i < slot_count ? slots[i].source.name : slot_count ? "" : "none";
        at += snprintf(why + at, size - (size_t)at, "%s%s", i && i < slot_count ? ", " : "", name);
    }
    return KYMO_ESOURCE;
}

static void choose_all(bool on)
{
    for (unsigned i = 0; i < slot_count; i++)
        slots[i].chosen = on;
}

/* Parse LIST and, with APPLY, choose the sources it names. */
static int read_list(const char *list, bool apply, char *why, size_t size)
{
    while (list && *list) {
        size_t len = strcspn(list, ",");
        const char *equals = memchr(list, '=', len);
        size_t name_len = equals ? (size_t)(equals - list) : len;
        bool all = name_len == 1 && *list == '*';
        struct source_slot *slot = all ? NULL : slot_named(list, name_len);
        if (!slot && !all)
            return refuse_list(why, size, "no source", list, name_len);
        size_t value_len = equals ? len - name_len - 1 : 0;
        bool on = value_len == 2 && memcmp(equals + 1, "on", 2) == 0;
        if (!on && !(value_len == 3 && memcmp(equals + 1, "off", 3) == 0))
            return refuse_list(why, size, "a source is switched with NAME=on or NAME=off, not",
                               list, len);
        if (apply && all)
            choose_all(on);
        else if (apply)
            slot->chosen = on;
        list += len + (list[len] == ',');
    }
    return 0;
}

int kymo_sources_check(const char *sources, char *why, size_t size)
{
    kymo__life_lock();
    int rc = read_list(sources, false, why, size);
    kymo__life_unlock();
    return rc;
}

int kymo__sources_choose(const struct kymo_options *options)
{
    for (unsigned i = 0; i < slot_count; i++) {
        slots[i].chosen = !(slots[i].source.flags & KYMO_SOURCE_OFF);
        slots[i].options = NULL;
    }
    int rc = read_list(options->sources, true, NULL, 0);
    for (const struct kymo_source_options *o = options->source_options; rc == 0 && o; o = o->next) {
        struct source_slot *slot = slot_named(o->source, strlen(o->source));
        if (slot)
            slot->options = o->options;
        else
            rc = KYMO_ESOURCE;
    }
    return rc;
}

/* ---- starting and stopping ---- */

static void set_active(struct source_slot *slot, bool active, void *state)
{
    pthread_mutex_lock(&forks);
    slot->active = active;
    slot->stopped = false;
    slot->state = state;
    pthread_mutex_unlock(&forks);
}

static void describe_failure(struct kymo_names *names, const char *name, int code)
{
    char key[128];
    snprintf(key, sizeof(key), "source %s", name);
    kymo__names_meta(names, key, kymo_strerror(code));
}

static void describe_active(struct kymo_names *names)
{
    char list[512] = "";
    size_t len = 0;
    for (unsigned i = 0; i < slot_count; i++)
        if (slots[i].active && len < sizeof(list))
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", len ? "," : "",
                                    slots[i].source.name);
    if (len)
        kymo__names_meta(names, "sources", list);
}

void kymo__sources_begin(struct kymo_names *names, const struct kymo_source_session *common)
{
    sources_paused = false;
    for (unsigned i = 0; i < slot_count; i++) {
        struct source_slot *slot = &slots[i];
        if (!slot->chosen)
            continue;
        struct kymo_source_session session = *common;
        session.options = slot->options;
        void *state = NULL;
        int rc = slot->source.start ? slot->source.start(slot->user, &session, &state) : 0;
        slot->options = NULL;
        if (rc < 0) {
            describe_failure(names, slot->source.name, rc);
            continue;
        }
        set_active(slot, true, state);
    }
    describe_active(names);
}

/* Call the function at OFFSET in the table of every active source, STOPPED ones too or not; in
   reverse order with REVERSE. */
static void call_each(size_t offset, bool reverse, bool stopped)
{
    for (unsigned i = 0; i < slot_count; i++) {
        const struct source_slot *slot = &slots[reverse ? slot_count - 1 - i : i];
        void (*function)(void *);
        memcpy(&function, (const char *)&slot->source + offset, sizeof(function));
        if (slot->active && (stopped || !slot->stopped) && function)
            function(slot->state);
    }
}

#define CALL_EACH(function, reverse)                                                               \
    call_each(offsetof(struct kymo_source, function), reverse, false)
#define CALL_EACH_FORKED(function, reverse)                                                        \
    call_each(offsetof(struct kymo_source, function), reverse, true)

void kymo__sources_stop(void)
{
    CALL_EACH(stop, true);
}

void kymo__sources_end(void)
{
    for (unsigned i = slot_count; i-- > 0;) {
        struct source_slot *slot = &slots[i];
        void *state = slot->state;
        if (!slot->active)
            continue;
        set_active(slot, false, NULL);
        if (slot->source.end)
            slot->source.end(state);
    }
}

/* ---- in the middle of a session ---- */

static int join_session(struct source_slot *slot, const void *options)
{
    const struct kymo_source_session session = {
        .size = sizeof(session), .number = kymo__running->number, .options = options};
    void *state = NULL;
    int rc = slot->source.start ? slot->source.start(slot->user, &session, &state) : 0;
    if (rc < 0)
        return rc;
    set_active(slot, true, state);
    describe_active(kymo__running->names);
    if (sources_paused && slot->source.pause)
        slot->source.pause(state);
    return 0;
}

int kymo_source_start(const char *name, const void *options)
{
    kymo__life_lock();
    struct source_slot *slot = slot_named(name, strlen(name));
    int rc = !kymo__running ? KYMO_EIDLE : !slot ? KYMO_ESOURCE : 0;
    if (rc == 0 && slot->active)
        rc = slot->stopped ? -EALREADY : KYMO_ERUNNING;
    if (rc == 0)
        rc = join_session(slot, options);
    kymo__life_unlock();
    return rc;
}

int kymo_source_stop(const char *name)
{
    kymo__life_lock();
    struct source_slot *slot = slot_named(name, strlen(name));
    int rc = slot && slot->active && !slot->stopped ? 0 : KYMO_EIDLE;
    if (rc == 0) {
        slot->stopped = true;
        if (slot->source.stop)
            slot->source.stop(slot->state);
    }
    kymo__life_unlock();
    return rc;
}

static int set_paused(bool paused)
{
    kymo__life_lock();
    int rc = kymo__running ? 0 : KYMO_EIDLE;
    if (rc == 0 && paused != sources_paused) {
        sources_paused = paused;
        if (paused)
            CALL_EACH(pause, true);
        else
            CALL_EACH(resume, false);
    }
    if (rc == 0)
        kymo__sampler_pause(kymo__running->sampler, paused);
    kymo__life_unlock();
    return rc;
}

int kymo_pause(void)
{
    return set_paused(true);
}

int kymo_resume(void)
{
    return set_paused(false);
}

void kymo__sources_rest(void)
{
    CALL_EACH(rest, true);
}

void kymo__sources_work(void)
{
    CALL_EACH(work, false);
}

void kymo__sources_collections(void)
{
    CALL_EACH(collections, false);
}

/* ---- forks ---- */

void kymo__sources_before_fork(void)
{
    pthread_mutex_lock(&forks);
    forking = true;
    CALL_EACH_FORKED(fork_prepare, true);
}

void kymo__sources_after_fork(void)
{
    CALL_EACH_FORKED(fork_parent, false);
    forking = false;
    pthread_mutex_unlock(&forks);
}

void kymo__sources_forked(void)
{
    if (forking)
        pthread_mutex_unlock(&forks);
    else /* a raw fork: somebody else may have held it */
        pthread_mutex_init(&forks, NULL);
    forking = false;
    CALL_EACH_FORKED(fork_child, false);
    for (unsigned i = 0; i < slot_count; i++) {
        slots[i].active = slots[i].chosen = slots[i].stopped = false;
        slots[i].state = NULL;
        slots[i].options = NULL;
    }
    sources_paused = false;
}
