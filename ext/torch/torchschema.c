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

/* Do LENGTH bytes at A equal those at B? They are few, so that a call would take longer. */
static inline bool is_same(const char *a, const char *b, size_t length)
{
    enum { WORD = 8 };
    uint64_t x, y;
    size_t i = 0;
    if (length < WORD) {
        while (i < length && a[i] == b[i])
            i++;
        return i == length;
    }
    for (; i + WORD < length; i += WORD) {
        memcpy(&x, a + i, WORD);
        memcpy(&y, b + i, WORD);
        if (x != y)
            return false;
    }
    memcpy(&x, a + length - WORD, WORD); /* the last ones, some of them once more */
    memcpy(&y, b + length - WORD, WORD);
    return x == y;
}

/* Is its text NAME, or NAME.OVERLOAD? */
static inline bool has_text(const struct kymo__torch_schema *s, struct kymo__torch_text name,
                            struct kymo__torch_text overload)
{
    size_t length = overload.length ? name.length + 1 + overload.length : name.length;
    return s->name_length == name.length && s->length == length &&
           is_same(s->text, name.bytes, name.length) &&
           (!overload.length ||
            is_same(s->text + name.length + 1, overload.bytes, overload.length));
}

/* The operator, or NULL; *SLOT is where it is, or belongs. */
static inline struct kymo__torch_schema *find_schema(const void *object,
                                                     struct kymo__torch_text name,
                                                     struct kymo__torch_text overload, size_t *slot)
{
    for (size_t i = slot_of(object);; i = (i + 1) % SLOTS) {
        struct kymo__torch_schema *here = __atomic_load_n(&slots[i], __ATOMIC_ACQUIRE);
        if (!here || (here->object == object && has_text(here, name, overload))) {
            *slot = i;
            return here;
        }
    }
}

static struct kymo__torch_schema *add_schema(const void *object, struct kymo__torch_text name,
                                             struct kymo__torch_text overload, size_t slot)
{
    if (count == MOST || name.bytes[name.length] != '\0')
        return NULL;
    struct kymo__torch_schema *made = calloc(1, sizeof *made + name.length + overload.length + 2);
    if (!made)
        return NULL;
    char *text = (char *)(made + 1);
    memcpy(text, name.bytes, name.length);
    made->length = made->name_length = name.length;
    if (overload.length) {
        text[name.length] = '.';
        memcpy(text + name.length + 1, overload.bytes, overload.length);
        made->length += 1 + overload.length;
    }
    made->object = object;
    made->text = text;
    made->next = last;
    last = made;
    count++;
    __atomic_store_n(&slots[slot], made, __ATOMIC_RELEASE);
    return made;
}

static __attribute__((noinline)) struct kymo__torch_schema *
make_schema(const void *object, struct kymo__torch_text name, struct kymo__torch_text overload)
{
    enum { LONGEST = 256 };
    size_t slot;
    if (name.length > LONGEST || overload.length > LONGEST)
        return NULL;
    bool memory = kymo_memory_enter(); /* what this allocates is not the program's */
    pthread_mutex_lock(&lock);
    struct kymo__torch_schema *found = find_schema(object, name, overload, &slot);
    if (!found)
        found = add_schema(object, name, overload, slot);
    pthread_mutex_unlock(&lock);
    if (memory)
        kymo_memory_leave();
    return found;
}

struct kymo__torch_schema *kymo__torch_schema(const void *object, struct kymo__torch_text name,
                                              struct kymo__torch_text overload)
{
    size_t slot;
    struct kymo__torch_schema *found = find_schema(object, name, overload, &slot);
    if (__builtin_expect(!found, 0))
        found = make_schema(object, name, overload);
    uint32_t session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    if (found && __atomic_load_n(&found->session, __ATOMIC_RELAXED) != session)
        __atomic_store_n(&found->session, session, __ATOMIC_RELAXED);
    return found;
}

struct kymo__torch_schema *kymo__torch_schemas(void)
{
    pthread_mutex_lock(&lock);
    struct kymo__torch_schema *all = last;
    pthread_mutex_unlock(&lock);
    return all;
}
