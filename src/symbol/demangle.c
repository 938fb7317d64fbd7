/* demangle.c — see demangle.h. */
#include "demangle.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* Longer names could overflow a small stack inside the C++ library. */
enum { NAME_MOST = 8192 };

typedef char *demangler(const char *name, char *buffer, size_t *len, int *status);

static demangler *cxa_demangle;
static pthread_once_t looked_for = PTHREAD_ONCE_INIT;

static void look_for_it(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
    void *found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        /* Never closed: others may be using it by now. */
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        if (library)
            found = dlsym(library, "__cxa_demangle");
    }
    memcpy(&cxa_demangle, &found, sizeof(found));
}

/* Rust's legacy names are C++ names that end in ::h and sixteen hexadecimal digits. */
static bool ends_in_hash(const char *text, size_t len)
{
    if (len < 20 || memcmp(text + len - 19, "::h", 3) != 0)
        return false;
    for (size_t i = len - 16; i < len; i++)
        if (!strchr("0123456789abcdef", text[i]))
            return false;
    return true;
}

/* Characters not allowed in a C++ name are written between dollars, and :: as two dots. */
static void undo_rust(char *text)
{
    static const struct {
        const char *code;
        char sign;
    } signs[] = {
        {"$SP$", '@'},   {"$BP$", '*'},  {"$RF$", '&'},  {"$LT$", '<'},  {"$GT$", '>'},
        {"$LP$", '('},   {"$RP$", ')'},  {"$C$", ','},   {"$u20$", ' '}, {"$u22$", '"'},
        {"$u27$", '\''}, {"$u2b$", '+'}, {"$u3b$", ';'}, {"$u5b$", '['}, {"$u5d$", ']'},
        {"$u7b$", '{'},  {"$u7d$", '}'}, {"$u7e$", '~'},
    };
    char *out = text;
    /* A path component that would start with such a character has an underscore before it. */
    bool begins = true;
    for (const char *at = text; *at;) {
        if (begins && at[0] == '_' && at[1] == '$')
            at++;
        begins = false;
        size_t i = 0;
        while (*at == '$' && i < sizeof(signs) / sizeof(signs[0]) &&
               strncmp(at, signs[i].code, strlen(signs[i].code)) != 0)
            i++;
        if (*at == '$' && i < sizeof(signs) / sizeof(signs[0])) {
            *out++ = signs[i].sign;
            at += strlen(signs[i].code);
        } else if (at[0] == '.' && at[1] == '.') {
            *out++ = ':';
            *out++ = ':';
            at += 2;
        } else {
            begins = at[0] == ':' && at[1] != ':';
            *out++ = *at++;
        }
    }
    *out = '\0';
}

/* Copy the LEN bytes, so that the caller can use kymo__free. */
static int keep_text(const char *made, size_t len, char **text)
{
    *text = kymo__alloc_text(made, len);
    return *text ? 0 : -ENOMEM;
}

int kymo__demangle(const char *name, size_t len, char **text)
{
    *text = NULL;
    if (len >= 2 && name[0] == '_' && name[1] == 'R')
        return kymo__demangle_rust(name, len, text);
    if (len < 3 || len > NAME_MOST || name[0] != '_' || name[1] != 'Z')
        return 0;
    pthread_once(&looked_for, look_for_it);
    if (!cxa_demangle)
        return 0;
    char *copy = kymo__alloc_text(name, len);
    if (!copy)
        return -ENOMEM;
    int status = 0;
    char *made = cxa_demangle(copy, NULL, NULL, &status);
    kymo__free(copy);
    if (!made)
        return 0;
    size_t made_len = strlen(made);
    int rc;
    if (status != 0) {
        rc = 0;
    } else if (ends_in_hash(made, made_len)) {
        made[made_len - 19] = '\0';
        undo_rust(made);
        rc = keep_text(made, strlen(made), text);
    } else {
        rc = keep_text(made, made_len, text);
    }
    free(made);
    return rc;
}
