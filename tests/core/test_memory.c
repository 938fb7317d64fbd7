/* The memory tracer, compared with a library that knows what it allocated. */
#include <dlfcn.h>
#include <errno.h>
#include <kymo/heap.h>
#include <kymo/kymo.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

#include "allocations.h"
#include "fault.h"
#include "heaped.h"

/* The n-th mark of the test's. */
static size_t mark(const struct heaped *heaped, int number)
{
    for (size_t i = 0; i < heaped->count; i++)
        if (strcmp(heaped->all[i].kind, "mark") == 0 && number-- == 0)
            return i;
    CHECK_FAIL("the mark is missing");
}

/* Check that what happened between the two marks is EXPECTED, and nothing else on that thread. */
static void check_between(const struct heaped *heaped, const struct made *expected, size_t count)
{
    size_t at = mark(heaped, 0), end = mark(heaped, 1), done = 0;
    uint32_t thread = heaped->all[at].thread;
    for (at++; at < end; at++) {
        const struct heaped_event *event = &heaped->all[at];
        if (event->thread != thread)
            continue; /* resident memory, on a thread of ours */
        CHECK_LE(done + 1, count);
        CHECK_STR(event->kind, expected[done].kind);
        CHECK_STR(event->function, expected[done].function);
        CHECK_EQ(event->size, expected[done].size);
        CHECK_EQ(event->address, (uintptr_t)expected[done].at);
        CHECK_EQ(event->from, (uintptr_t)expected[done].from);
        done++;
    }
    CHECK_EQ(done, count);
}

static void every_function_is_recorded_with_its_size_and_address(void)
{
    static struct made made[100];
    const char *path = check_path("every");
    heaped_start(path, NULL);
    kymo_instant("begin");
    size_t count = allocations_make(made);
    kymo_instant("end");
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    check_between(&heaped, made, count);
    CHECK_STR(heaped.mode, "exact");
    CHECK_STR(heaped.domains, "native,mappings");
    CHECK_STR(heaped.missed, "");
    CHECK_EQ(heaped.gaps, 0);
    free(heaped.all);
}

static void mappings_alone_are_recorded_alone(void)
{
    static struct made made[100];
    const char *path = check_path("mappings");
    const struct kymo_memory_options options = {.size = sizeof(options),
                                                .what = KYMO_MEMORY_MAPPINGS};
    heaped_start(path, &options);
    kymo_instant("begin");
    size_t count = allocations_make(made), kept = 0;
    kymo_instant("end");
    CHECK_OK(kymo_stop());

    for (size_t i = 0; i < count; i++)
        if (strstr(made[i].kind, "map"))
            made[kept++] = made[i];
    struct heaped heaped = heaped_read(path);
    check_between(&heaped, made, kept);
    CHECK_STR(heaped.domains, "mappings");
    free(heaped.all);
}

/* ---- what libraries report ---- */

enum { NUMPY = 389047, DEVICE = 7 };

static void what_a_library_reports_names_a_block_or_is_one_of_its_own(void)
{
    const char *path = check_path("tracked");
    const uintptr_t device = UINT64_C(0x7e0000000000);
    heaped_start(path, NULL);
    kymo_instant("begin");
    void *array = allocations_one(9000), *small = allocations_one(200);
    CHECK_EQ(PyTraceMalloc_Track(NUMPY, (uintptr_t)small, 200), 1);
    PyTraceMalloc_Untrack(NUMPY, (uintptr_t)small);                 /* numpy keeps it, */
    CHECK_EQ(PyTraceMalloc_Track(NUMPY, (uintptr_t)small, 200), 2); /* uses it again, */
    PyTraceMalloc_Untrack(NUMPY, (uintptr_t)small);
    allocations_free(small); /* and gives it back */
    allocations_free(array);
    CHECK_EQ(PyTraceMalloc_Track(DEVICE, device, 1 << 20), 3);
    CHECK_EQ(PyTraceMalloc_Track(DEVICE, 0, 1), -1);
    PyTraceMalloc_Untrack(DEVICE, device);
    kymo_instant("end");
    CHECK_OK(kymo_stop());

    const struct made made[] = {
        {"memory.alloc", "malloc", 9000, array, NULL},
        {"memory.alloc", "malloc", 200, small, NULL},
        {"memory.alloc", "tracked numpy", 200, small, NULL},
        {"memory.alloc", "tracked numpy", 200, small, NULL},
        {"memory.free", "", 0, small, NULL},
        {"memory.free", "", 0, array, NULL},
        {"memory.alloc", "tracked 7", 1 << 20, (void *)device, NULL},
        {"memory.free", "", 0, (void *)device, NULL},
    };
    struct heaped heaped = heaped_read(path);
    check_between(&heaped, made, sizeof(made) / sizeof(made[0]));
    free(heaped.all);
}

static uint64_t held_by(const struct heaped *heaped, uint64_t number, const char *function)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < heaped->count; i++) {
        const struct heaped_event *row = &heaped->all[i];
        if (strcmp(row->kind, "memory.held") == 0 && row->number == number &&
            strcmp(row->function, function) == 0)
            bytes += row->size;
    }
    return bytes;
}

static void blocks_that_a_library_reports_are_held_once(void)
{
    const char *path = check_path("held");
    const uintptr_t device = UINT64_C(0x7e0000000000);
    const struct kymo_memory_options options = {
        .size = sizeof(options), .mode = KYMO_MEMORY_LIVE, .no_stacks = 1};
    heaped_start(path, &options);
    void *array = allocations_one(5000000);
    PyTraceMalloc_Track(NUMPY, (uintptr_t)array, 5000000);
    PyTraceMalloc_Track(DEVICE, device, 3000000);
    int number = kymo_memory_snapshot("both");
    PyTraceMalloc_Untrack(DEVICE, device);
    PyTraceMalloc_Untrack(NUMPY, (uintptr_t)array);
    allocations_free(array);
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    CHECK_EQ(held_by(&heaped, (uint64_t)number, "tracked numpy"), 5000000);
    CHECK_EQ(held_by(&heaped, (uint64_t)number, "tracked 7"), 3000000);
    CHECK_LE(held_by(&heaped, (uint64_t)number, "malloc"), 4000000);
    CHECK_EQ(held_by(&heaped, 0, "tracked numpy"), 0);
    CHECK_EQ(held_by(&heaped, 0, "tracked 7"), 0);
    free(heaped.all);
}

static void stacks_are_native_in_a_program_without_an_interpreter(void)
{
    const char *path = check_path("native");
    heaped_start(path, NULL);
    allocations_free(allocations_one(7019));
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t found = 0;
    for (size_t i = 0; i < heaped.count; i++)
        found += heaped.all[i].size == 7019 && heaped.all[i].stack;
    CHECK_EQ(found, 1);
    free(heaped.all);
}

/* ---- nothing is left behind ---- */

struct slots {
    void **at[4096];
    void *value[4096];
    size_t count;
};

static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const names[] = {"malloc", "free", "calloc", "realloc", "mmap", "dlopen"};
    struct slots *slots = arg;
    const ElfW(Dyn) *dynamic = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const ElfW(Rela) * tables[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (strstr(info->dlpi_name, "vdso"))
        return 0;
    for (; dynamic && dynamic->d_tag; dynamic++) {
        const void *at = (const void *)dynamic->d_un.d_ptr;
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            symbols = at;
            break;
        case DT_STRTAB:
            strings = at;
            break;
        case DT_RELA:
            tables[0] = at;
            break;
        case DT_JMPREL:
            tables[1] = at;
            break;
        case DT_RELASZ:
            counts[0] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_PLTRELSZ:
            counts[1] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
            break;
        }
    }
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; tables[t] && i < counts[t]; i++) {
            const char *name = strings + symbols[ELF64_R_SYM(tables[t][i].r_info)].st_name;
            for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
                if (strcmp(name, names[n]) == 0 && slots->count < 4096) {
                    slots->at[slots->count] = (void **)(info->dlpi_addr + tables[t][i].r_offset);
                    slots->value[slots->count] = *slots->at[slots->count];
                    slots->count++;
                }
        }
    return 0;
}

/* The lines of /proc/self/maps that belong to files. */
static void files_mapped(char *text, size_t size)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    size_t used = 0;
    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps))
        if (strchr(line, '/') && used + strlen(line) < size) {
            strcpy(text + used, line);
            used += strlen(line);
        }
    fclose(maps);
}

static size_t different(const struct slots *a, const struct slots *b)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count && i < b->count; i++)
        count += a->value[i] != b->value[i];
    return count;
}

static void every_slot_and_protection_is_put_back(void)
{
    static struct slots before, during, after;
    static char maps_before[1 << 16], maps_after[1 << 16];
    free(malloc(10)); /* lazily bound functions are bound */
    files_mapped(maps_before, sizeof(maps_before));
    for (int round = 0; round < 3; round++) {
        before.count = during.count = after.count = 0;
        dl_iterate_phdr(collect, &before);
        heaped_start(check_path("slots"), NULL);
        dl_iterate_phdr(collect, &during);
        CHECK_OK(kymo_stop());
        dl_iterate_phdr(collect, &after);
        files_mapped(maps_after, sizeof(maps_after));

        CHECK(different(&before, &during) > 10);
        CHECK_EQ(before.count, after.count);
        CHECK_EQ(different(&before, &after), 0);
        CHECK_STR(maps_after, maps_before);
    }
}

/* ---- threads ---- */

enum { THREADS = 4, BLOCKS = 64, ROUNDS = FAULT_TIMES(10000, 2000) };

static void *mailbox[BLOCKS];

/* Exchange blocks through a few mailboxes: what one thread frees another gets. The sizes are above
   what the C library keeps for each thread. */
static void *contend(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg * 7919 + 1;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245 + 12345;
        size_t size = 1100 + (seed >> 16) % 400;
        void *mine = seed >> 30 ? allocations_one(size) : realloc(allocations_one(size), size * 2);
        allocations_free(
            __atomic_exchange_n(&mailbox[(seed >> 8) % BLOCKS], mine, __ATOMIC_ACQ_REL));
    }
    return NULL;
}

static int by_address(const void *a, const void *b)
{
    const struct heaped_event *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    if (x->thread == y->thread)
        return x->place < y->place ? -1 : 1;
    return strcmp(y->kind, x->kind); /* frees first, as in src/model/heap */
}

static void no_address_is_allocated_twice_while_it_is_live(void)
{
    const char *path = check_path("contend");
    pthread_t threads[THREADS];
    mallopt(M_ARENA_MAX, 1);
    heaped_start(path, NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, contend, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < BLOCKS; i++) {
        free(mailbox[i]);
        mailbox[i] = NULL;
    }
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t allocated = 0, wrong = 0, live = 0, kept = 0;
    for (size_t i = 0; i < heaped.count; i++)
        if (strcmp(heaped.all[i].kind, "memory.free") == 0 ||
            (strcmp(heaped.all[i].kind, "memory.map") != 0 && heaped.all[i].size >= 1100 &&
             heaped.all[i].size < 3000 && heaped.all[i].address))
            heaped.all[kept++] = heaped.all[i];
    qsort(heaped.all, kept, sizeof(*heaped.all), by_address);
    bool is_live = false;
    for (size_t i = 0; i < kept; i++) {
        struct heaped_event *event = &heaped.all[i];
        if (!i || event->address != event[-1].address) {
            live += is_live;
            is_live = false;
        }
        /* Allocated by one thread and freed by another between two ticks of a coarse clock. */
        if (!is_live && i + 1 < kept && event->address == event[1].address &&
            event->ticks == event[1].ticks && event->thread != event[1].thread &&
            strcmp(event->kind, "memory.free") == 0) {
            struct heaped_event swap = event[0];
            event[0] = event[1];
            event[1] = swap;
        }
        bool frees = strcmp(event->kind, "memory.free") == 0;
        allocated += !frees;
        wrong += !frees && is_live;
        is_live = !frees;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(live + is_live, 0);
    CHECK_EQ(heaped.gaps, 0);
    CHECK_LE(THREADS * ROUNDS, allocated);
    free(heaped.all);
}

static pthread_key_t key;

static void at_end(void *value)
{
    allocations_free(value);
    allocations_free(allocations_one(4001));
}

static void *leave_a_value(void *arg)
{
    (void)arg;
    pthread_setspecific(key, allocations_one(4003));
    return NULL;
}

static void destructors_of_threads_are_recorded(void)
{
    const char *path = check_path("destructors");
    pthread_key_create(&key, at_end);
    heaped_start(path, NULL);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, leave_a_value, NULL), 0);
        pthread_join(thread, NULL);
    }
    CHECK_OK(kymo_stop());
    struct heaped heaped = heaped_read(path);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 4003), 10);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 4001), 10);
    free(heaped.all);
}

/* ---- loading ---- */

static void what_is_loaded_later_is_recorded_too(void)
{
    const char *path = check_path("loaded");
    heaped_start(path, NULL);
    for (int i = 0; i < 20; i++) {
        /* The bare name is found along the run path of this program. */
        const char *name = i % 2 ? ALLOCATIONS_MODULE : strrchr(ALLOCATIONS_MODULE, '/') + 1;
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            CHECK_FAIL("%s", dlerror());
        void *(*one)(size_t) = (void *(*)(size_t))dlsym(library, "allocations_one");
        void (*release)(void *) = (void (*)(void *))dlsym(library, "allocations_free");
        release(one(5003));
        dlclose(library);
    }
    CHECK_OK(kymo_stop());
    struct heaped heaped = heaped_read(path);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 5003), 20);
    CHECK_STR(heaped.missed, "");
    free(heaped.all);
}

/* Its slots are patched only after its constructor has run. */
static void frees_while_loading_are_not_seen_and_that_is_known(void)
{
    if (SANITIZED)
        CHECK_SKIP("a sanitizer does not give a freed block out again");
    const char *path = check_path("constructor");
    heaped_start(path, NULL);
    void *library = dlopen(CONSTRUCTOR, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        CHECK_FAIL("%s", dlerror());
    void *same = allocations_one(7001); /* where the last one was */
    allocations_free(same);
    CHECK_OK(kymo_stop());
    dlclose(library);

    struct heaped heaped = heaped_read(path);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 7001), 6);
    for (size_t i = 0; i < heaped.count; i++)
        if (heaped.all[i].size == 7013)
            CHECK_STR(heaped.all[i].function, "malloc while loading");
    free(heaped.all);
    struct kymo_capture *capture;
    struct kymo_heap *heap;
    struct kymo_heap_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_heap_new(capture, NULL, &heap));
    CHECK_OK(kymo_heap_info(heap, &info));
    CHECK_EQ(info.disorder, 0);
    CHECK_EQ(info.unseen_frees, 5);
    kymo_heap_free(heap);
    kymo_close(capture);
}

static void a_library_with_its_own_allocator_keeps_it(void)
{
    if (SANITIZED)
        CHECK_SKIP("sanitizers refuse RTLD_DEEPBIND");
    const char *path = check_path("own");
    void *library = dlopen(OWN_ALLOCATOR, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library)
        CHECK_FAIL("%s", dlerror());
    void *(*make)(size_t) = (void *(*)(size_t))dlsym(library, "own_make");
    void (*release)(void *) = (void (*)(void *))dlsym(library, "own_free");
    int (*has)(const void *) = (int (*)(const void *))dlsym(library, "own_has");
    CHECK(has(make(10)));

    heaped_start(path, NULL);
    void *theirs = make(8009), *ours = allocations_one(8011);
    CHECK(has(theirs));
    CHECK(!has(ours));
    release(theirs); /* aborts for a block that is not its own */
    allocations_free(ours);
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 8009), 1);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 8011), 1);
    free(heaped.all);
    dlclose(library);
}

static void forked_children_run_on_unrecorded_and_may_record_themselves(void)
{
    FAULT_NOT_EMULATED("threads in forked children");
    const char *path = check_path("parent"), *other = check_path("child");
    heaped_start(path, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 1000; i++)
            allocations_free(allocations_one(6007));
        const struct kymo_options options = {
            .size = sizeof(options), .path = other, .sources = "memory=on"};
        int rc = kymo_start(&options);
        allocations_free(allocations_one(6011));
        _exit(rc < 0 || kymo_stop() < 0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    allocations_free(allocations_one(6029));
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 6007), 0);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 6029), 1);
    free(heaped.all);
    heaped = heaped_read(other);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 6007), 0);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 6011), 1);
    free(heaped.all);
}

static void a_hook_leaves_errno_alone(void)
{
    heaped_start(check_path("errno"), NULL);
    errno = EXDEV;
    for (int i = 0; i < 20000; i++)
        allocations_free(allocations_one(100));
    int now = errno;
    CHECK_OK(kymo_stop());
    CHECK_EQ(now, EXDEV);
}

/* Not inline: who calls a function before and after the start may keep its address in a register. */
static __attribute__((noinline)) uintptr_t block_of(size_t size)
{
    return (uintptr_t)malloc(size);
}

static __attribute__((noinline)) uintptr_t resized(uintptr_t block, size_t size)
{
    return (uintptr_t)realloc((void *)block, size);
}

static __attribute__((noinline)) void release(uintptr_t block)
{
    free((void *)block);
}

static uint64_t size_at(uintptr_t at)
{
    return kymo_memory_size_of((void *)at);
}

static void sizes_of_live_blocks_are_known_when_asked_for(void)
{
    const struct kymo_memory_options options = {.size = sizeof(options), .keep_sizes = 1};
    int local = 0;
    uintptr_t old = block_of(50), many[3000];
    heaped_start(check_path("sizes"), &options);
    uintptr_t block = block_of(1000), before = block;
    CHECK_EQ(size_at(block), 1000);
    CHECK_EQ(size_at(block + 8), 0);
    CHECK_EQ(size_at(old), 0);
    CHECK_EQ(size_at((uintptr_t)&local), 0);
    CHECK_EQ(size_at(0), 0);
    CHECK_EQ(size_at(1), 0);
    CHECK(!resized(block, PTRDIFF_MAX)); /* which leaves it as it was */
    CHECK_EQ(size_at(block), 1000);
    block = resized(block, 500000);
    CHECK_EQ(size_at(block), 500000);
    if (block != before)
        CHECK_EQ(size_at(before), 0);
    release(block);
    CHECK_EQ(size_at(block), 0);
    for (int i = 0; i < 3000; i++)
        many[i] = block_of(32 + (size_t)i);
    for (int i = 0; i < 3000; i++)
        CHECK_EQ(size_at(many[i]), 32 + (size_t)i);
    for (int i = 0; i < 3000; i++)
        release(many[i]);
    for (int i = 0; i < 3000; i++)
        CHECK_EQ(size_at(many[i]), 0);
    uintptr_t kept = block_of(77);
    CHECK_EQ(size_at(kept), 77);
    CHECK_OK(kymo_stop());

    /* Another session knows nothing of the last one's. */
    heaped_start(check_path("none"), NULL);
    block = block_of(1000);
    CHECK_EQ(size_at(block), 0);
    CHECK_EQ(size_at(kept), 0);
    CHECK_OK(kymo_stop());
    release(block);
    release(kept);
    release(old);
}

#ifdef HAVE_NEW
static void operators_new_and_delete_are_recorded_also_after_one_threw(void)
{
    if (SANITIZED)
        CHECK_SKIP("with a sanitizer, operator new ends the program where it should throw");
    static struct made made[100];
    const char *path = check_path("new");
    heaped_start(path, NULL);
    kymo_instant("begin");
    size_t count = allocations_new(made), at, operators = 0, expected = 0, done = 0;
    kymo_instant("end");
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    for (at = mark(&heaped, 0); at < mark(&heaped, 1); at++) {
        const struct heaped_event *event = &heaped.all[at];
        operators += strncmp(event->function, "operator", 8) == 0;
        if (done < count && strncmp(made[done].kind, "memory", 6) != 0)
            done++; /* an exception: what the runtime allocates for it is its own affair */
        if (done < count && strcmp(event->kind, made[done].kind) == 0 &&
            strcmp(event->function, made[done].function) == 0 && event->size == made[done].size &&
            event->address == (uintptr_t)made[done].at)
            done++;
    }
    for (size_t i = 0; i < count; i++)
        expected += strncmp(made[i].function, "operator", 8) == 0;
    CHECK_EQ(done, count);
    CHECK_EQ(operators, expected);
    free(heaped.all);
}
#endif

static const struct check_case cases[] = {
    CHECK_CASE(every_function_is_recorded_with_its_size_and_address),
    CHECK_CASE(mappings_alone_are_recorded_alone),
    CHECK_CASE(what_a_library_reports_names_a_block_or_is_one_of_its_own),
    CHECK_CASE(blocks_that_a_library_reports_are_held_once),
    CHECK_CASE(stacks_are_native_in_a_program_without_an_interpreter),
    CHECK_CASE(every_slot_and_protection_is_put_back),
    CHECK_CASE(no_address_is_allocated_twice_while_it_is_live),
    CHECK_CASE(destructors_of_threads_are_recorded),
    CHECK_CASE(what_is_loaded_later_is_recorded_too),
    CHECK_CASE(frees_while_loading_are_not_seen_and_that_is_known),
    CHECK_CASE(a_library_with_its_own_allocator_keeps_it),
    CHECK_CASE(forked_children_run_on_unrecorded_and_may_record_themselves),
    CHECK_CASE(a_hook_leaves_errno_alone),
    CHECK_CASE(sizes_of_live_blocks_are_known_when_asked_for),
#ifdef HAVE_NEW
    CHECK_CASE(operators_new_and_delete_are_recorded_also_after_one_threw),
#endif
};

CHECK_MAIN(cases)
