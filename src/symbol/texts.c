/* texts.c — see texts.h. */
#include "texts.h"

#include <string.h>

#include "alloc.h"
#include "demangle.h"

const char *kymo__texts_keep(struct kymo_texts *texts, const char *text, size_t len)
{
    int added;
    int64_t id = kymo__strtab_add(&texts->kept, text, len, &added);
    return id < 0 ? NULL : kymo__strtab_get(&texts->kept, (uint32_t)id)->text;
}

/* memcpy@@GLIBC_2.14 is memcpy. */
static size_t without_version(const char *name)
{
    const char *at = strchr(name, '@');
    return at && at > name ? (size_t)(at - name) : strlen(name);
}

const char *kymo__texts_name(struct kymo_texts *texts, const char *name)
{
    size_t len = without_version(name);
    if (len < 2 || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return kymo__texts_keep(texts, name, len);
    uint32_t known = kymo__strtab_find(&texts->mangled, name, len);
    if (known)
        return texts->plain[known - 1];
    char *made;
    if (kymo__array_grow(&texts->plain, &texts->plain_capacity, texts->mangled.count,
                         sizeof(*texts->plain)) < 0 ||
        kymo__demangle(name, len, &made) < 0)
        return NULL;
    const char *plain =
        made ? kymo__texts_keep(texts, made, strlen(made)) : kymo__texts_keep(texts, name, len);
    kymo__free(made);
    int added;
    if (!plain || kymo__strtab_add(&texts->mangled, name, len, &added) < 0)
        return NULL;
    texts->plain[texts->mangled.count - 1] = plain;
    return plain;
}

void kymo__texts_fini(struct kymo_texts *texts)
{
    kymo__strtab_fini(&texts->kept);
    kymo__strtab_fini(&texts->mangled);
    kymo__free(texts->plain);
    *texts = (struct kymo_texts){0};
}
