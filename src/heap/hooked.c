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

static kymo_hook_table hooks[KYMO__HOOK_KINDS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_hooks(void)
{
    kymo__hooks_malloc(hooks[KYMO__HOOK_REPORTING]);
    kymo__hooks_new(hooks[KYMO__HOOK_REPORTING]);
    kymo__hooks_map(hooks[KYMO__HOOK_REPORTING]);
    kymo__hooks_track(hooks[KYMO__HOOK_REPORTING]);
    kymo__hooks_load(hooks[KYMO__HOOK_REPORTING]);
    kymo__hooks_nesting(hooks[KYMO__HOOK_NESTING]);
    kymo__hooks_passing(hooks[KYMO__HOOK_PASSING]);
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

/* Let the hooks of the sampled mode that are variant I of function ID call what they should. */
static void lead_onward(int id, int i)
{
    void *to = kymo__hooked.original[id][i];
    if (to && !kymo__hooked.sampling)
        to = (void *)(uintptr_t)hooks[KYMO__HOOK_REPORTING][id][i];
    kymo__store_release(&kymo__hooked.onward[id][i], to);
}

void kymo__hooked_begin(bool sampled)
{
    pthread_once(&once, fill_hooks);
    kymo__store_relaxed(&kymo__hooked.sampling, (uint32_t)sampled);
    for (int id = 0; id < KYMO__FUNCTION_COUNT; id++)
        for (int i = 0; i < KYMO__VARIANTS; i++)
            lead_onward(id, i);
}

kymo_code *kymo__hooked_hook(int id, enum kymo_hook_kind kind, void *original)
{
    pthread_once(&once, fill_hooks);
    while (!hooks[kind][id][0])
        kind--;
    for (int i = 0; i < KYMO__VARIANTS; i++) {
        void **place = &kymo__hooked.original[id][i];
        if (!*place) { /* before any slot leads to the hook */
            kymo__store_release(place, original);
            lead_onward(id, i);
        }
        if (*place == original)
            return hooks[kind][id][i];
    }
    return NULL;
}

bool kymo__hooked_is_hook(int id, const void *address)
{
    pthread_once(&once, fill_hooks);
    for (int kind = 0; kind < KYMO__HOOK_KINDS; kind++)
        for (int i = 0; i < KYMO__VARIANTS; i++)
            if (address && address == (const void *)(uintptr_t)hooks[kind][id][i])
                return true;
    return false;
}
