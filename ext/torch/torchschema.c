/* torchschema.c — see torchschema.h. */
#include "torchschema.h"

#include <kymo/memory.h>
#include <kymo/record.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14, MOST = SLOTS / 2 }; /* torch has some 4000 operators */

static struct kymo__torch_schema *slots[SLOTS]; /* open addressing, by the object's address */
static struct kymo__torch_schema *last;
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(const void *object)
{
    return (size_t)((uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 50) % SLOTS;
}

/* Is TEXT NAME, or NAME.OVERLOAD? */
static bool is_text(const char *text, const char *name, const char *overload, size_t length)
{
    size_t begin = strlen(name);
    if (strncmp(text, name, begin) != 0)
        return false;
    if (!length)
        return text[begin] == '\0';
    return text[begin] == '.' && strncmp(text + begin + 1, overload, length) == 0 &&
           text[begin + 1 + length] == '\0';
}

static struct kymo__torch_schema *find_schema(const void *object, const char *name,
                                              const char *overload, size_t length, size_t *slot)
{
    for (*slot = slot_of(object);; *slot = (*slot + 1) % SLOTS) {
        struct kymo__torch_schema *here = __atomic_load_n(&slots[*slot], __ATOMIC_ACQUIRE);
        if (!here || (here->object == object && is_text(here->text, name, overload, length)))
            return here;
    }
}

static struct kymo__torch_schema *add_schema(const void *object, const char *name,
                                             const char *overload, size_t length, size_t slot)
{
    size_t begin = strlen(name);
    struct kymo__torch_schema *made =
        count < MOST ? calloc(1, sizeof *made + begin + length + 2) : NULL;
    if (!made)
        return NULL;
    char *text = (char *)(made + 1);
    memcpy(text, name, begin);
    if (length) {
        text[begin] = '.';
        memcpy(text + begin + 1, overload, length);
    }
    made->object = object;
    made->text = text;
    made->next = last;
    last = made;
    count++;
    __atomic_store_n(&slots[slot], made, __ATOMIC_RELEASE);
    return made;
}

const char *kymo__torch_schema(const void *object, const char *name, const char *overload,
                               size_t length)
{
    enum { LONGEST = 256 };
    size_t slot;
    if (length > LONGEST)
        return NULL;
    struct kymo__torch_schema *found = find_schema(object, name, overload, length, &slot);
    if (__builtin_expect(!found, 0)) {
        bool memory = kymo_memory_enter(); /* what this allocates is not the program's */
        pthread_mutex_lock(&lock);
        found = find_schema(object, name, overload, length, &slot);
        if (!found)
            found = add_schema(object, name, overload, length, slot);
        pthread_mutex_unlock(&lock);
        if (memory)
            kymo_memory_leave();
        if (!found)
            return NULL;
    }
    uint32_t session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    if (__atomic_load_n(&found->session, __ATOMIC_RELAXED) != session)
        __atomic_store_n(&found->session, session, __ATOMIC_RELAXED);
    return found->text;
}

struct kymo__torch_schema *kymo__torch_schemas(void)
{
    pthread_mutex_lock(&lock);
    struct kymo__torch_schema *all = last;
    pthread_mutex_unlock(&lock);
    return all;
}
