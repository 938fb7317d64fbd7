/* hooks_load.c — dlopen and dlmopen: what they load is patched before its user gets the handle.

   The loader looks for a file without a slash in its name along the path of whoever calls dlopen,
   which would now be us. So if the caller has a path, the file is looked for along it here. */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "heaprec.h"
#include "patchset.h"
#include "variants.h"

typedef void *open_function(const char *file, int mode);

/* Does the object MAP have a path of its own? */
static bool has_path(const struct link_map *map)
{
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH)
            return true;
    return false;
}

static struct link_map *object_of(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* Find FILE along the path of the object MAP and store its name in the SIZE bytes at NAME. */
static bool find_along(struct link_map *map, const char *file, char *name, size_t size)
{
    Dl_serinfo count;
    if (dlinfo(map, RTLD_DI_SERINFOSIZE, &count) != 0)
        return false;
    Dl_serinfo *path = kymo__alloc(count.dls_size);
    if (!path)
        return false;
    *path = count;
    bool found = false;
    if (dlinfo(map, RTLD_DI_SERINFO, path) == 0)
        for (unsigned i = 0; !found && i < path->dls_cnt; i++) {
            int n = snprintf(name, size, "%s/%s", path->dls_serpath[i].dls_name, file);
            found = n > 0 && (size_t)n < size && access(name, R_OK) == 0;
        }
    kymo__free(path);
    return found;
}

/* Store the folder of the object MAP's file in the SIZE bytes at NAME. The program has no name. */
static bool folder_of(const struct link_map *map, char *name, size_t size)
{
    ssize_t n = map->l_name[0] ? snprintf(name, size, "%s", map->l_name)
                               : readlink("/proc/self/exe", name, size - 1);
    if (n <= 0 || (size_t)n >= size)
        return false;
    name[n] = '\0';
    char *slash = strrchr(name, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

static void *open_for(open_function *call, const char *file, int mode, const void *caller)
{
    char name[4096];
    struct link_map *map;
    if (file && *file && !strchr(file, '/') && (map = object_of(caller)) && has_path(map)) {
        void *loaded = call(file, mode | RTLD_NOLOAD);
        if (loaded)
            return loaded;
        if (find_along(map, file, name, sizeof(name)))
            file = name;
    } else if (file && strncmp(file, "$ORIGIN/", 8) == 0 && (map = object_of(caller)) &&
               folder_of(map, name, sizeof(name))) {
        size_t used = strlen(name);
        int n = snprintf(name + used, sizeof(name) - used, "%s", file + 7);
        if (n > 0 && (size_t)n < sizeof(name) - used)
            file = name;
    }
    return call(file, mode);
}

/* Patch what was loaded; our own work in between is not recorded. */
static void loaded(void)
{
    int error = errno;
    if (kymo_memory_enter()) {
        kymo__patchset_more();
        kymo_memory_leave();
    }
    errno = error;
}

HOOK_INLINE void *load_file(void *original, const char *file, int mode, const void *caller)
{
    open_function *call = HOOK_CALL(open_function *, original);
    /* Also when nothing is recorded: the slot may be patched for longer than we record. */
    kymo__memory_thread.loading++;
    void *handle = open_for(call, file, mode, caller);
    kymo__memory_thread.loading--;
    if (handle)
        loaded();
    return handle;
}

HOOK_INLINE void *load_into(void *original, Lmid_t space, const char *file, int mode)
{
    void *(*call)(Lmid_t, const char *, int) =
        HOOK_CALL(void *(*)(Lmid_t, const char *, int), original);
    kymo__memory_thread.loading++;
    void *handle = call(space, file, mode);
    kymo__memory_thread.loading--;
    if (handle)
        loaded();
    return handle;
}

HOOK_VARIANTS(DLOPEN, void *, load_file, (const char *file, int mode), file, mode,
              __builtin_return_address(0))
HOOK_VARIANTS(DLMOPEN, void *, load_into, (Lmid_t space, const char *file, int mode), space, file,
              mode)

void kymo__hooks_load(kymo_hook_table table)
{
    HOOK_ENTER(table, DLOPEN);
    HOOK_ENTER(table, DLMOPEN);
}
