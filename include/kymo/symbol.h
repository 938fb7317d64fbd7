/* symbol.h — what addresses stand for: functions, files, lines.

   All of it is after the fact: an address is a place in a file (a program, a shared library),
   and that file, or its debug file, is read wherever it can be found: a debug file by its build
   id in the directories of KYMO_DEBUG_DIRS (/usr/lib/debug), by the link in the file, or, only
   where DEBUGINFOD_URLS is set, from those servers. A file whose build id is another one than
   asked for is not read. Nothing here touches the process that was recorded. */
#ifndef KYMO_SYMBOL_H
#define KYMO_SYMBOL_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kymo_symbolizer;

/* How much is asked for. */
enum kymo_symbol_mode {
    KYMO_SYMBOL_FULL = 0,  /* functions, the functions inlined in them, files and lines */
    KYMO_SYMBOL_NAMES = 1, /* names from symbol tables: much cheaper */
    KYMO_SYMBOL_NONE = 2,  /* file and offset, without reading anything */
};

/* A place in a file. */
struct kymo_place {
    const char *path;        /* of the file */
    const uint8_t *build_id; /* NULL when it is not known */
    uint32_t build_id_bytes;
    uint64_t offset; /* the address in the file's own terms: at run time, less the base */
};

/* A function at a place. The texts are lent until kymo_symbolizer_free; equal ones are the same
   pointer. */
struct kymo_symbol {
    const char *name; /* demangled; "" when nothing is known */
    const char *file; /* of the source; "" when it is not known */
    uint32_t line;    /* 0 when it is not known */
    uint32_t inlined; /* 1: it was inlined into the next one */
};

/* MODE of enum kymo_symbol_mode. Returns 0 or a negative errno. */
KYMO_API int kymo_symbolizer_new(int mode, struct kymo_symbolizer **symbolizer);
KYMO_API void kymo_symbolizer_free(struct kymo_symbolizer *symbolizer);

/* Find COUNT places, in one go: for each, in FIRST[i], the first of its symbols in *SYMBOLS,
   innermost first; they end where those of the next place begin, and FIRST[COUNT] is the end of
   the last. Every place has at least one symbol, be it without a name. FIRST has room for COUNT
   + 1. *SYMBOLS is lent until the next call. Files that are missing, stripped or malformed give
   symbols without names and are no error. What was found once is remembered; what is new is
   looked for file by file, so that asking for all places at once is much cheaper than one by one.
   One thread at a time may use a symbolizer. Returns 0 or -ENOMEM. */
KYMO_API int kymo_symbolize(struct kymo_symbolizer *symbolizer, const struct kymo_place *places,
                            size_t count, const struct kymo_symbol **symbols, size_t *first);

/* Addresses of code that was made at run time in process PID, from the files that such
   programs leave for perf: /tmp/perf-PID.map, and /tmp/jit-PID.dump in the jitdump format, which
   may have lines too. False when there is none or it has no such address. The text is lent until kymo_symbolizer_free. */
KYMO_API int kymo_symbolize_generated(struct kymo_symbolizer *symbolizer, int64_t pid,
                                      uint64_t address, struct kymo_symbol *symbol);

#ifdef __cplusplus
}
#endif
#endif
