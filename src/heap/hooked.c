/* hooked.c — see hooked.h. */
#include "hooked.h"

#include <kymo/payload.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "atomic.h"

struct kymo_hooked kymo__hooked;

static const struct {
    const char *symbol, *name;
    unsigned what;
} functions[] = {
#define ENTRY(symbol, id, name, what) {symbol, name, what},
    KYMO__FUNCTIONS(ENTRY)
#undef ENTRY
};

static kymo_hook_table hooks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_hooks(void)
{
    kymo__hooks_malloc(hooks);
    kymo__hooks_new(hooks);
    kymo__hooks_map(hooks);
    kymo__hooks_track(hooks);
    kymo__hooks_load(hooks);
}

/* Large libraries have hundreds of thousands of symbols, most of them C++ names. */
static bool promising(const char *name)
{
    switch (name[0]) {
    case '_':
        return name[1] == 'Z' && (name[2] == 'n' || name[2] == 'd') &&
               (name[3] == 'w' || name[3] == 'a' || name[3] == 'l');
    case 'P':
        return name[1] == 'y' && name[2] == 'T' && name[3] == 'r';
    case 'a':
    case 'b':
    case 'c':
    case 'd':
    case 'f':
    case 'm':
    case 'p':
    case 'r':
    case 's':
    case 'v':
        return true;
    default:
        return false;
    }
}

int kymo__hooked_find(const char *name)
{
    if (!promising(name))
        return -1;
    for (int i = 0; i < KYMO__FUNCTION_COUNT; i++)
        if (name[1] == functions[i].symbol[1] && strcmp(name, functions[i].symbol) == 0)
            return i;
    return -1;
}

const char *kymo__hooked_symbol(int id)
{
    return functions[id].symbol;
}

unsigned kymo__hooked_what(int id)
{
    return functions[id].what;
}

void kymo__hooked_keys(void)
{
    static char loading[KYMO__FUNCTION_COUNT][48]; /* names stay for as long as the session */
    for (int i = 0; i < KYMO__FUNCTION_COUNT; i++) {
        const char *name = functions[i].name;
        snprintf(loading[i], sizeof(loading[i]), "%s" KYMO__WHILE_LOADING, name);
        kymo__hooked.key[0][i] = name[0] ? kymo_name_key(name) : 0;
        kymo__hooked.key[1][i] = name[0] ? kymo_name_key(loading[i]) : 0;
    }
}

kymo_code *kymo__hooked_hook(int id, void *original)
{
    pthread_once(&once, fill_hooks);
    for (int i = 0; i < KYMO__VARIANTS; i++) {
        void **place = &kymo__hooked.original[id][i];
        if (!*place)
            kymo__store_release(place, original); /* before any slot leads to the hook */
        if (*place == original)
            return hooks[id][i];
    }
    return NULL;
}

bool kymo__hooked_is_hook(int id, const void *address)
{
    pthread_once(&once, fill_hooks);
    for (int i = 0; i < KYMO__VARIANTS; i++)
        if (address && address == (const void *)(uintptr_t)hooks[id][i])
            return true;
    return false;
}
