/* torchschema.c — see torchschema.h. */
#include "torchschema.h"

#include <kymo/memory.h>
#include <kymo/record.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = KYMO__TORCH_SCHEMA_SLOTS, MOST = SLOTS / 2 };

struct kymo__torch_schema *kymo__torch_schema_slots[SLOTS];
static struct kymo__torch_schema *last;
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The operator, or NULL; *SLOT is where it is, or belongs. */
static struct kymo__torch_schema *find_schema(const void *object, struct kymo__torch_text name,
                                              struct kymo__torch_text overload, size_t *slot)
{
    for (size_t i = kymo__torch_schema_slot(object);; i = (i + 1) % SLOTS) {
        struct kymo__torch_schema *here =
            __atomic_load_n(&kymo__torch_schema_slots[i], __ATOMIC_ACQUIRE);
        if (!here || kymo__torch_schema_is(here, object, name, overload)) {
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
    __atomic_store_n(&kymo__torch_schema_slots[slot], made, __ATOMIC_RELEASE);
    return made;
}

static struct kymo__torch_schema *make_schema(const void *object, struct kymo__torch_text name,
                                              struct kymo__torch_text overload)
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

struct kymo__torch_schema *kymo__torch_schema_search(const void *object,
                                                     struct kymo__torch_text name,
                                                     struct kymo__torch_text overload)
{
    size_t slot;
    struct kymo__torch_schema *found = find_schema(object, name, overload, &slot);
    return found ? found : make_schema(object, name, overload);
}

void kymo__torch_met_set(struct kymo__torch_met *m, const struct kymo__torch_schema *s,
                         uint32_t session)
{
    struct kymo_op_site site = {__atomic_load_n(&s->site.name, __ATOMIC_RELAXED),
                                __atomic_load_n(&s->site.schema, __ATOMIC_RELAXED)};
    if (site.name >> 32 != session || site.schema >> 32 != session)
        return;
    *m = (struct kymo__torch_met){
        .object = s->object,
        .session = session,
        .name_length = (uint16_t)s->name_length,
        .length = (uint16_t)s->length,
        .text = s->text,
        .site = site,
    };
    if (s->length <= sizeof m->head)
        memcpy(m->head, s->text, s->length);
}

struct kymo__torch_schema *kymo__torch_schemas(void)
{
    pthread_mutex_lock(&lock);
    struct kymo__torch_schema *all = last;
    pthread_mutex_unlock(&lock);
    return all;
}
