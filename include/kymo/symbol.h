/* symbol.h — resolve addresses to functions, files and lines.

   This works after the fact. An address is a position in a file (a program or shared library), and
   that file or its debug file is read from wherever it can be found. Debug files are searched by
   build id in the directories of KYMO_DEBUG_DIRS (default /usr/lib/debug), by the link in the file,
   and, only if DEBUGINFOD_URLS is set, on those servers. A file with a different build id is not
   read. Nothing here touches the recorded process. */
#ifndef KYMO_SYMBOL_H
#define KYMO_SYMBOL_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kymo_symbolizer;

/* How much to resolve. */
enum kymo_symbol_mode {
    KYMO_SYMBOL_FULL = 0,  /* functions, functions inlined into them, files and lines */
    KYMO_SYMBOL_NAMES = 1, /* names from symbol tables: much cheaper */
    KYMO_SYMBOL_NONE = 2,  /* file and offset, without reading anything */
};

/* An address in a file. */
struct kymo_place {
    const char *path;        /* the file */
    const uint8_t *build_id; /* NULL if unknown */
    uint32_t build_id_bytes;
    uint64_t offset; /* address in the file: the run-time address minus the base */
};

/* A function at a place. The texts are lent until kymo_symbolizer_free; equal texts are the same
   pointer. */
struct kymo_symbol {
    const char *name; /* demangled; "" if unknown */
    const char *file; /* source file; "" if unknown */
    uint32_t line;    /* 0 if unknown */
    uint32_t inlined; /* 1: inlined into the next symbol */
};

/* Create a symbolizer; MODE is one of enum kymo_symbol_mode. On success *SYMBOLIZER belongs to the
   caller, who frees it with kymo_symbolizer_free (NULL is fine). Returns 0 or a negative errno. */
KYMO_API int kymo_symbolizer_new(int mode, struct kymo_symbolizer **symbolizer);
KYMO_API void kymo_symbolizer_free(struct kymo_symbolizer *symbolizer);

/* Resolve COUNT places in one batch. Place i has the symbols FIRST[i] up to FIRST[i + 1] of
   *SYMBOLS, innermost first, so FIRST needs room for COUNT + 1. Every place has at least one
   symbol, possibly without a name. *SYMBOLS is lent until the next call. Missing, stripped or
   malformed files are not an error; they give symbols without names. Results are cached, and new
   places are resolved file by file, so one call for all places is much cheaper than many calls. One
   thread at a time may use a symbolizer. Returns 0 or -ENOMEM. */
KYMO_API int kymo_symbolize(struct kymo_symbolizer *symbolizer, const struct kymo_place *places,
                            size_t count, const struct kymo_symbol **symbols, size_t *first);

/* Resolve ADDRESS in code generated at run time by process PID, from the files that JIT compilers
   write for perf: /tmp/perf-PID.map and /tmp/jit-PID.dump (jitdump format, which may have lines).
   Returns 1 and fills SYMBOL, or 0 if there is no such file or it lacks that address. The texts are
   lent until kymo_symbolizer_free. */
KYMO_API int kymo_symbolize_generated(struct kymo_symbolizer *symbolizer, int64_t pid,
                                      uint64_t address, struct kymo_symbol *symbol);

#ifdef __cplusplus
}
#endif
#endif
