/* patchset.c — see patchset.h.

   The loader's list of objects shows an object before it has been relocated, and drops it before it
   is unmapped, both under a lock that dl_iterate_phdr takes. While the function below runs inside
   dl_iterate_phdr nothing in the list is unmapped. To wait until everything in it has been relocated,
   the list is read first; then a call that takes the lock of dlopen waits for loads in progress; and
   only objects that were in the list before are patched. That wait comes before our own lock is
   taken: a constructor that runs inside dlopen may itself call dlopen, and so come here.

   If an object was unloaded meanwhile, one that is just being loaded may lie where it was, and look
   like it: its pages are about to be sealed. Then the list is read again. */
#include "patchset.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "domains.h"
#include "file.h"
#include "heaprec.h"
#include "lock.h"
#include "patch.h"

struct listed {
    uintptr_t base;
    const void *phdr;
};

struct listing {
    struct listed *all;
    size_t count, capacity;
    uint64_t adds, subs; /* objects loaded and unloaded so far */
    bool failed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static struct kymo_patched *objects;
static size_t object_count, object_capacity;
static struct kymo_patched preloaded; /* no object, but the table of the preloaded library */
static struct kymo_patching patching;
static struct kymo_patchset_counts counts;
static bool started;
static const void *skipped[8];
static unsigned skipped_count;

static uint64_t patched_adds; /* objects loaded when the list was last patched */

/* ---- what is loaded ---- */

static int list_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct listing *listing = arg;
    (void)size;
    listing->adds = info->dlpi_adds;
    listing->subs = info->dlpi_subs;
    if (kymo__array_grow(&listing->all, &listing->capacity, listing->count, sizeof(*listing->all)) <
        0) {
        listing->failed = true;
        return 1;
    }
    listing->all[listing->count++] = (struct listed){info->dlpi_addr, info->dlpi_phdr};
    return 0;
}

static int ask_adds(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(uint64_t *)arg = info->dlpi_adds;
    return 1;
}

static int ask_base(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(uintptr_t *)arg = info->dlpi_addr;
    return 1;
}

/* Set where the C library ends, and begins: now it is an address inside. */
static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct kymo_patching *wanted = arg;
    (void)size;
    if (!kymo__object_has(info, (const void *)wanted->library))
        return 0;
    wanted->library = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && end > wanted->library_end)
            wanted->library_end = end;
    }
    return 1;
}

static bool is_listed(const struct listing *listing, const struct dl_phdr_info *info, size_t *hint)
{
    for (size_t i = 0; i < listing->count; i++) {
        const struct listed *one = &listing->all[(*hint + i) % listing->count];
        if (one->base == info->dlpi_addr && one->phdr == info->dlpi_phdr) {
            *hint += i + 1; /* the list keeps its order */
            return true;
        }
    }
    return false;
}

/* Wait until what other threads are loading or unloading is complete: dladdr takes dlopen's lock. */
static void wait_for_loader(void)
{
    Dl_info info;
    dladdr(&info, &info); /* in no object, which takes the least time */
}

/* The loader itself must not call us, nor we ourselves. */
static bool is_skipped(const struct dl_phdr_info *info)
{
    if (kymo__object_has(info, &started) || info->dlpi_addr == _r_debug.r_ldbase)
        return true;
    for (unsigned i = 0; i < skipped_count; i++)
        if (kymo__object_has(info, skipped[i]))
            return true;
    return false;
}

/* ---- patching ---- */

/* The record of the object INFO if it is patched already. Another object may have been loaded where
   an earlier one was: then its slots are not ours. */
static struct kymo_patched *known(const struct dl_phdr_info *info, size_t *hint)
{
    for (size_t i = 0; i < object_count; i++) {
        struct kymo_patched *object = &objects[(*hint + i) % object_count];
        if (object->base != info->dlpi_addr || object->phdr != info->dlpi_phdr || object->seen)
            continue;
        if (object->count && !kymo__hooked_is_hook(object->slots[0].function,
                                                   kymo__load_relaxed(object->slots[0].at)))
            continue;
        *hint += i + 1;
        return object;
    }
    return NULL;
}

enum { TRIES = 200 }; /* after which a program that keeps loading and unloading is not waited for */

struct round {
    const struct listing *listing;
    size_t listed_hint, known_hint;
    bool last;     /* try */
    bool outdated; /* an object was unloaded since it was listed */
};

static int patch_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct round *round = arg;
    (void)size;
    round->outdated = info->dlpi_subs != round->listing->subs;
    if (round->outdated && !round->last)
        return 1;
    struct kymo_patched *object = known(info, &round->known_hint);
    if (object) {
        object->seen = true;
        return 0;
    }
    if (!is_listed(round->listing, info, &round->listed_hint) || is_skipped(info))
        return 0;
    struct kymo_patched fresh;
    if (kymo__array_grow(&objects, &object_capacity, object_count, sizeof(*objects)) < 0 ||
        kymo__patch(info, &patching, &fresh) < 0) {
        patching.missed++;
        return 0;
    }
    fresh.seen = true;
    objects[object_count++] = fresh;
    return 0;
}

/* Forget the objects that have been unloaded. */
static void forget_unseen(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].seen)
            objects[kept++] = objects[i];
        else
            kymo__free(objects[i].slots);
    }
    object_count = kept;
    for (size_t i = 0; i < object_count; i++)
        objects[i].seen = false;
}

/* Where slots that are not bound yet lead. A program at a fixed address may have an entry of its own
   for a function, which leads to a slot again. */
static void bind_all(void **bound)
{
    uintptr_t program_base = 0;
    dl_iterate_phdr(ask_base, &program_base);
    for (int i = 0; i < KYMO__FUNCTION_COUNT; i++) {
        const char *name = kymo__hooked_symbol(i);
        void *found = dlsym(RTLD_DEFAULT, name);
        Dl_info info;
        const ElfW(Sym) *symbol = NULL;
        if (found && !program_base && dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) &&
            (!symbol || symbol->st_shndx == SHN_UNDEF))
            found = dlsym(RTLD_NEXT, name);
        bound[i] = found;
    }
}

/* The text of /proc/self/maps, for the caller to free, or NULL. */
static char *read_maps(void)
{
    size_t size = 256 << 10, used = 0;
    char *text = kymo__alloc(size);
    int fd = text ? open("/proc/self/maps", O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0) {
        if (size - used < 4096) {
            char *more = kymo__realloc(text, size *= 2);
            if (!more)
                break;
            text = more;
        }
        ssize_t n = read(fd, text + used, size - used - 1);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    if (text)
        text[used] = '\0';
    return text;
}

/* Returns false if the list has to be read again. */
static bool patch_listed(const struct listing *listing, bool last)
{
    struct round round = {.listing = listing, .last = last};
    dl_iterate_phdr(patch_one, &round);
    if (round.outdated && !last)
        return false;
    forget_unseen();
    kymo__store_relaxed(&patched_adds, listing->adds);
    return true;
}

/* Read the list and wait until all in it can be patched. */
static bool list_all(struct listing *listing)
{
    *listing = (struct listing){0};
    dl_iterate_phdr(list_one, listing);
    if (!listing->failed)
        wait_for_loader();
    return !listing->failed;
}

/* Patch all that is loaded now. */
static void patch_all(void)
{
    bool done = false;
    for (int i = 0; i < TRIES && !done; i++) {
        struct listing listing;
        bool listed = list_all(&listing);
        kymo__lock(&lock);
        done = !started || !listed || patch_listed(&listing, i + 1 == TRIES);
        kymo__unlock(&lock);
        kymo__free(listing.all);
    }
}

void kymo__patchset_start(unsigned what, bool sampled)
{
    struct kymo_patching wanted = {.what = what, .sampled = sampled};
    /* A forked process has the slots as the one that it comes from wanted them. */
    kymo__patchset_stop();
    bind_all(wanted.bound);
    /* A function that nobody else has reason to define. */
    wanted.library = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    if (wanted.library)
        dl_iterate_phdr(find_library, &wanted);
    struct kymo_preload_entry *table = dlsym(RTLD_DEFAULT, KYMO__PRELOAD_TABLE);
    char *maps = read_maps();
    wanted.maps = maps;
    kymo__lock(&lock);
    counts = (struct kymo_patchset_counts){0};
    patching = wanted;
    skipped_count = kymo__excluded(skipped);
    kymo__hooked_begin(sampled);
    started = true;
    kymo__unlock(&lock);
    patch_all();
    kymo__lock(&lock);
    if (table && kymo__patch_table(table, &patching, &preloaded) < 0)
        patching.missed++;
    patching.maps = NULL;
    kymo__free(maps);
    kymo__unlock(&lock);
}

void kymo__patchset_more(void)
{
    uint64_t adds = 0;
    dl_iterate_phdr(ask_adds, &adds);
    if (adds != kymo__load_relaxed(&patched_adds))
        patch_all();
}

/* ---- the end ---- */

static int unpatch_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct kymo_patched *object = known(info, arg);
    if (object) {
        object->seen = true;
        counts.lost += kymo__unpatch(object);
    }
    return 0;
}

void kymo__patchset_stop(void)
{
    size_t hint = 0;
    kymo__lock(&lock);
    started = false;
    counts.objects = object_count;
    counts.slots = 0;
    for (size_t i = 0; i < object_count; i++)
        counts.slots += objects[i].count;
    dl_iterate_phdr(unpatch_one, &hint);
    counts.slots += preloaded.count;
    counts.lost += kymo__unpatch(&preloaded);
    kymo__free(preloaded.slots);
    preloaded = (struct kymo_patched){0};
    for (size_t i = 0; i < object_count; i++)
        kymo__free(objects[i].slots);
    kymo__free(objects);
    objects = NULL;
    object_count = object_capacity = 0;
    kymo__store_relaxed(&patched_adds, UINT64_C(0));
    kymo__unlock(&lock);
}

void kymo__patchset_count(struct kymo_patchset_counts *out)
{
    kymo__lock(&lock);
    *out = counts;
    out->missed = patching.missed;
    if (started) {
        out->objects = object_count;
        out->slots = preloaded.count;
        for (size_t i = 0; i < object_count; i++)
            out->slots += objects[i].count;
    }
    kymo__unlock(&lock);
}

/* ---- forks ---- */

static bool held_for_fork;

void kymo__patchset_before_fork(void)
{
    pthread_mutex_lock(&lock);
    held_for_fork = true;
}

void kymo__patchset_after_fork(void)
{
    held_for_fork = false;
    pthread_mutex_unlock(&lock);
}

void kymo__patchset_forked(void)
{
    if (held_for_fork)
        kymo__patchset_after_fork();
    else
        pthread_mutex_init(&lock, NULL);
    /* The slots still lead to the hooks, which do nothing here but call on. A session of this
       process puts them back first. */
}
