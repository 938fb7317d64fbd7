/* The table of loaded files: who is at an address, and what stays known of those that left. */
#include "modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <kymo/stack.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "fault.h"
#include "loader.h"

static struct kymo_module module_of(uint64_t pc)
{
    struct kymo_module module = {.size = sizeof(module)};
    CHECK_EQ(kymo__modules_refresh(), 0);
    struct kymo_loaded loaded;
    CHECK(kymo__module_at(pc, &loaded));
    CHECK_EQ(kymo_module_get(loaded.number, &module), 0);
    CHECK(module.low <= pc && pc < module.high);
    return module;
}

static void the_program_is_known_by_its_own_path(void)
{
    struct kymo_module module = module_of((uint64_t)(uintptr_t)&module_of);
    char path[4096] = "";
    CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    CHECK_STR(module.path, path);
    CHECK(module.base <= module.low);
}

static void a_library_has_path_and_build_id(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    CHECK(symbol != NULL);
    struct kymo_module module = module_of((uint64_t)(uintptr_t)symbol);
    CHECK(strstr(module.path, "libc") != NULL);
    CHECK(module.build_id_bytes > 0);
    struct kymo_loaded loaded;
    CHECK(kymo__module_at((uint64_t)(uintptr_t)symbol, &loaded));
    CHECK(loaded.eh_frame_hdr != NULL);
}

static void the_kernels_own_library_is_one(void)
{
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (!vdso)
        CHECK_SKIP("there is no vDSO here");
    CHECK_EQ(kymo__modules_refresh(), 0);
    bool found = false;
    for (uint64_t at = vdso; at < vdso + 8192 && !found; at += 64) {
        struct kymo_loaded loaded;
        found = kymo__module_at(at, &loaded) && loaded.base == vdso && loaded.eh_frame_hdr;
    }
    CHECK(found);
}

static void an_address_outside_is_in_no_module(void)
{
    struct kymo_loaded loaded;
    CHECK_EQ(kymo__modules_refresh(), 0);
    CHECK(!kymo__module_at((uint64_t)(uintptr_t)&loaded, &loaded));
    CHECK(!kymo__module_at(0, &loaded));
    CHECK(!kymo__module_at(UINT64_MAX, &loaded));
}

static void an_unassigned_number_is_refused(void)
{
    struct kymo_module module = {.size = sizeof(module)};
    CHECK_EQ(kymo_module_get(0, &module), -ENOENT);
    CHECK_EQ(kymo_module_get(UINT32_MAX, &module), -ENOENT);
}

static void a_shorter_struct_is_filled_as_far_as_it_goes(void)
{
    struct kymo_module module = {.size = offsetof(struct kymo_module, base), .base = 77};
    CHECK_EQ(kymo__modules_refresh(), 0);
    CHECK_EQ(kymo_module_get(1, &module), 0);
    CHECK(module.path != NULL);
    CHECK_EQ(module.base, 77);
    CHECK_EQ(module.size, offsetof(struct kymo_module, base));
}

/* Load PATH, and give the number of its module and the address of its function. */
static void *load(const char *path, uint32_t *number, uint64_t *at)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    *at = (uint64_t)(uintptr_t)dlsym(library, "walk_library_call");
    CHECK(*at != 0);
    CHECK_EQ(kymo__modules_refresh(), 0);
    struct kymo_loaded loaded;
    CHECK(kymo__module_at(*at, &loaded));
    *number = loaded.number;
    return library;
}

static void unloaded_modules_keep_number_and_names(void)
{
    uint32_t a, b, again;
    uint64_t at;
    struct kymo_module module = {.size = sizeof(module)}, before = {.size = sizeof(before)};

    dlclose(load(WALK_LIBRARY_A, &a, &at));
    CHECK_EQ(kymo_module_get(a, &before), 0);
    dlclose(load(WALK_LIBRARY_B, &b, &at)); /* most likely at the same address */
    CHECK(a != b);
    CHECK_EQ(kymo_module_get(a, &module), 0);
    CHECK_STR(module.path, before.path);
    CHECK(strstr(module.path, "walk_a") != NULL);
    CHECK(memcmp(module.build_id, before.build_id, 20) == 0);
    CHECK_EQ(kymo_module_get(b, &module), 0);
    CHECK(strstr(module.path, "walk_b") != NULL);

    dlclose(load(WALK_LIBRARY_A, &again, &at));
    CHECK_EQ(kymo_module_get(again, &module), 0);
    CHECK(again == a || module.base != before.base);
}

static void the_version_changes_with_every_load(void)
{
    for (int i = 0; i < 5; i++) {
        uint64_t before = kymo__modules_version();
        void *library = dlopen(i % 2 ? WALK_LIBRARY_A : WALK_LIBRARY_B, RTLD_NOW);
        CHECK(library != NULL);
        CHECK(kymo__modules_version() != before);
        CHECK_EQ(kymo__modules_refresh(), 0);
        dlclose(library);
    }
}

static void loading_the_same_again_needs_no_more_memory(void)
{
    FAULT_NOT_EMULATED("memory of its own that stays small");
    if (FAULT_ASAN || FAULT_TSAN)
        CHECK_SKIP("the sanitizer itself keeps memory for each load");
    long before = 0;
    for (int i = 0; i < 2100; i++) {
        void *library = dlopen(WALK_LIBRARY_A, RTLD_NOW);
        CHECK(library != NULL);
        CHECK_OK(kymo__modules_refresh());
        dlclose(library);
        CHECK_OK(kymo__modules_refresh());
        if (i == 100)
            before = fault_resident();
    }
    CHECK_LE(fault_resident(), before + (1 << 20));
}

/* Take the place AT, so that the library is loaded elsewhere the next time. */
static void occupy(uint64_t at)
{
    CHECK(mmap((void *)(uintptr_t)(at & ~UINT64_C(4095)), 4096, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
}

static void loading_elsewhere_each_time_needs_little_memory(void)
{
    FAULT_NOT_EMULATED("memory of its own that stays small");
    if (FAULT_ASAN || FAULT_TSAN)
        CHECK_SKIP("the sanitizer itself keeps memory for each load");
    long before = 0;
    uint64_t at = 0, last = 0, moved = 0;
    uint32_t number = 0;
    for (int i = 0; i < 1100; i++) {
        dlclose(load(WALK_LIBRARY_A, &number, &at));
        moved += at != last;
        last = at;
        occupy(at);
        if (i == 100)
            before = fault_resident();
    }
    struct kymo_module module = {.size = sizeof(module)};
    CHECK_EQ(kymo_module_get(number, &module), 0);
    CHECK(strstr(module.path, "walk_a") != NULL);
    CHECK_LE(1000, moved);
    CHECK_LE(fault_resident(), before + (1 << 20));
}

static void the_loaders_counter_is_found(void)
{
    if (!dlsym(RTLD_DEFAULT, "_rtld_global"))
        CHECK_SKIP("this loader does not show its memory");
    CHECK_EQ(kymo__modules_refresh(), 0);
    CHECK(kymo__loader.count >= 1);
    uint64_t adds = kymo__loader_ask();
    for (uint32_t i = 0; i < kymo__loader.count; i++)
        CHECK_EQ(*kymo__loader.words[i], adds);
}

static void without_the_counter_the_loader_is_asked(void)
{
    CHECK_EQ(kymo__modules_refresh(), 0);
    struct kymo_loader kept = kymo__loader;
    kymo__loader.count = 0;
    uint64_t before = kymo__modules_version();
    void *library = dlopen(WALK_LIBRARY_A, RTLD_NOW);
    bool changed = kymo__modules_version() != before;
    dlclose(library);
    kymo__loader = kept;
    CHECK(changed);
}

static void tables_are_found_before_the_table_is_rebuilt(void)
{
    CHECK_EQ(kymo__modules_refresh(), 0);
    void *library = dlopen(WALK_LIBRARY_A, RTLD_NOW);
    uint64_t at = (uint64_t)(uintptr_t)dlsym(library, "walk_library_call");
    struct kymo_loaded loaded;
    if (!kymo__loader_finds()) {
        dlclose(library);
        CHECK_SKIP("this loader cannot be asked without a lock");
    }
    bool found = kymo__module_tables(at, &loaded);
    kymo__modules_refresh();
    struct kymo_loaded known;
    CHECK(found && kymo__module_at(at, &known));
    CHECK(loaded.eh_frame_hdr == known.eh_frame_hdr);
    CHECK_EQ(loaded.readable_low, known.readable_low);
    CHECK_EQ(loaded.readable_high, known.readable_high);
    dlclose(library);
}

static void *ask(void *arg)
{
    const bool *stop = arg;
    uint64_t self = (uint64_t)(uintptr_t)&ask, lost = 0;
    while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
        struct kymo_loaded loaded;
        lost += !kymo__module_at(self, &loaded) || self < loaded.low || self >= loaded.high;
        kymo__modules_refresh();
    }
    return (void *)(uintptr_t)lost;
}

static void readers_always_see_a_whole_table(void)
{
    bool stop = false;
    pthread_t threads[3];
    CHECK_EQ(kymo__modules_refresh(), 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, ask, &stop);
    for (int i = 0; i < 200; i++) {
        void *library = dlopen(i % 2 ? WALK_LIBRARY_A : WALK_LIBRARY_B, RTLD_NOW);
        uint64_t at = (uint64_t)(uintptr_t)dlsym(library, "walk_library_call");
        kymo__modules_refresh();
        dlclose(library);
        occupy(at); /* so that each table is new, and overwrites an old one */
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    uintptr_t lost = 0;
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        lost += (uintptr_t)result;
    }
    CHECK_EQ(lost, 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(the_program_is_known_by_its_own_path),
    CHECK_CASE(a_library_has_path_and_build_id),
    CHECK_CASE(the_kernels_own_library_is_one),
    CHECK_CASE(an_address_outside_is_in_no_module),
    CHECK_CASE(an_unassigned_number_is_refused),
    CHECK_CASE(a_shorter_struct_is_filled_as_far_as_it_goes),
    CHECK_CASE(unloaded_modules_keep_number_and_names),
    CHECK_CASE(the_version_changes_with_every_load),
    CHECK_CASE(loading_the_same_again_needs_no_more_memory),
    CHECK_CASE(loading_elsewhere_each_time_needs_little_memory),
    CHECK_CASE(the_loaders_counter_is_found),
    CHECK_CASE(without_the_counter_the_loader_is_asked),
    CHECK_CASE(tables_are_found_before_the_table_is_rebuilt),
    CHECK_CASE(readers_always_see_a_whole_table),
};
CHECK_MAIN(cases)
