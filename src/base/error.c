/* error.c — messages for return codes; the list itself is KYMO_ERROR_MAP. */
#include <kymo/kymo.h>
#include <string.h>

const char *kymo_strerror(int code)
{
    switch (code) {
#define KYMO_ERROR_TEXT(name, number, text)                                                        \
    case name:                                                                                     \
        return text;
        KYMO_ERROR_MAP(KYMO_ERROR_TEXT)
#undef KYMO_ERROR_TEXT
    }
    /* Of the same model as all others: if the loader meets another one first, it may find no room for
       them. */
    static _Thread_local char text[128] __attribute__((tls_model("initial-exec")));
    return strerror_r(code < 0 ? -code : code, text, sizeof(text));
}

const char *kymo_version(void)
{
    return KYMO_VERSION;
}
