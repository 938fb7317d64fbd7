/* verdict.h — whether symbolizers are right about a file, by what the judges say (judges.h).

   Every address of .text is compared, or some thousands of them. All frames are: the functions,
   from the innermost to the one that is not inlined, the files and the lines. Where the two
   judges are of one mind nothing else is accepted. They are not where

   - the outermost function has several names: addr2line takes the one of the debug information,
     llvm-symbolizer the one of the symbol table, and of aliases there they take any. Ours must be
     one of them: what a judge says, or an alias of that by nm, or that without what the compiler
     put behind it for a part or a copy of the function (hot_and_cold.cold).
   - a name of C++ can be spelt in several ways: blanks are not compared, and what llvm-symbolizer
     cannot demangle is given to c++filt.
   - functions are inlined in one another: addr2line leaves some out, while giving their lines.
     llvm-symbolizer decides, unless it has no more than a name.
   - an address lies between functions: addr2line names the function before it. We name none, as
     llvm-symbolizer.
   - there is no debug information at all, or an address has no line: llvm-symbolizer leaves out
     what addr2line finds. Either will do.
   - a file that is included is shown by addr2line with the name of the one that includes it, for
     some functions: files are judged by llvm-symbolizer alone.
   - there is a file but no line: both take it from the symbol table, which we do not.
   - the directory of compilation is a relative one: both write it twice. */
#ifndef KYMO_VERDICT_H
#define KYMO_VERDICT_H

#include <kymo/symbol.h>

#include "elffile.h"
#include "fault.h"
#include "judges.h"
#include "random.h"

enum { ADDRESSES_MOST = FAULT_TIMES(20000, 4000) };

/* ---- the comparison ---- */

static struct {
    size_t addresses, inlined, names_of_debug, between, no_line;
} seen;

static inline const char *same_dir(const char *file)
{
    /* "x/x/name" of a relative directory x, which both judges write twice. */
    size_t len = strlen(file);
    if (*file == '/')
        return file;
    for (size_t n = 1; 2 * n + 1 < len; n++)
        if (file[n] == '/' && file[2 * n + 1] == '/' && strncmp(file, file + n + 1, n) == 0)
            return file + n + 1;
    return file;
}

static inline void show(const char *who, const struct frame *frames, int count)
{
    for (int i = 0; i < count; i++)
        printf("#   %s: %.100s at %s:%u\n", who, frames[i].name, frames[i].file, frames[i].line);
}

static inline int same_spelling(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " ");
        b += strspn(b, " ");
        if (*a != *b)
            return 0;
        if (!*a)
            return 1;
    }
}

/* Whether OURS is a name of what a judge calls THEIRS. */
static inline int same_function(const char *ours, const char *theirs)
{
    size_t len = strlen(ours);
    if (same_spelling(ours, theirs))
        return 1;
    if (len && strncmp(ours, theirs, len) == 0 &&
        (theirs[len] == '.' || strncmp(theirs + len, " [clone ", 8) == 0))
        return 1;
    return *ours && *theirs && aliases(ours, theirs);
}

/* NULL when OURS is what the judges say, or else what is wrong with it. */
static inline const char *compare(const struct frame *ours, int count, const struct answer *bin,
                                  const struct answer *llvm)
{
    int last = count - 1;
    int between = count == 1 && !*ours[0].name && !*llvm->frames[0].name && llvm->count == 1;
    if (between) {
        seen.between++;
    } else {
        const struct answer *deep = llvm->count > 1 || bin->count == 1 ? llvm : bin;
        if (deep->count != count)
            return "the number of frames";
        for (int i = 0; i < last; i++)
            if (!same_spelling(ours[i].name, deep->frames[i].name))
                return "the name of an inlined function";
        if (strcmp(ours[last].name, bin->frames[bin->count - 1].name) == 0)
            seen.names_of_debug++;
        else if (!same_function(ours[last].name, llvm->frames[llvm->count - 1].name) &&
                 !same_function(ours[last].name, bin->frames[bin->count - 1].name))
            return "the name of the function";
    }
    for (int i = 0; i < count; i++) {
        const struct frame *judge = &llvm->frames[i < llvm->count ? i : 0];
        int from_symbols = judge->line == 0 && !strchr(judge->file, '/') && !*ours[i].file;
        if (llvm->count == count && *judge->file && !from_symbols) {
            if (strcmp(same_dir(judge->file), same_dir(ours[i].file)) != 0)
                return "a file";
            if (judge->line != ours[i].line)
                return "a line";
        } else if (bin->count == count && !(between && ours[i].line == judge->line)) {
            seen.no_line++;
            if (ours[i].line != bin->frames[i].line)
                return "a line";
        }
    }
    return NULL;
}

/* ---- a file ---- */

static inline size_t text_of(const char *path, uint64_t *addresses)
{
    struct kymo_elf elf;
    struct kymo_section section;
    CHECK_EQ(kymo__elf_open(&elf, path), 0);
    uint32_t index = 0;
    for (uint32_t i = 1; kymo__elf_section(&elf, i, &section); i++)
        if ((section.flags & 4) && section.type == 1 && kymo__elf_named(&elf, ".text") == i)
            index = i;
    CHECK(kymo__elf_section(&elf, index, &section) && index);
    uint64_t state = 1, step = section.size / ADDRESSES_MOST + 1;
    size_t count = 0;
    for (uint64_t at = 0; at < section.size && count<ADDRESSES_MOST; at += step> 1
                              ? 1 + random_next(&state) % (2 * step)
                              : 1)
        addresses[count++] = section.address + at;
    kymo__elf_fini(&elf);
    return count;
}

/* Judge all of .text of the file GIVEN by the judges ADDR2LINE and llvm-symbolizer, which read
   JUDGED_GIVEN. */
static inline void judge_as(const char *given, const char *judged_given, const char *addr2line)
{
    char path[512], judged[512]; /* those of check_path do not last */
    snprintf(path, sizeof(path), "%s", given);
    snprintf(judged, sizeof(judged), "%s", judged_given);
    static uint64_t addresses[ADDRESSES_MOST];
    char command[1024];
    if (!have(addr2line) || !have("llvm-symbolizer"))
        CHECK_SKIP("addr2line or llvm-symbolizer is not installed, and they are the judges");
    if (shell("%s -e '%s' 0 >/dev/null 2>&1", addr2line, judged) != 0)
        CHECK_SKIP("addr2line does not read files of this machine");
    size_t count = text_of(path, addresses);
    list_symbols(judged);
    snprintf(command, sizeof(command), "%s -fCia -e '%s'", addr2line, judged);
    struct answer *bin = ask(command, "cat", addresses, count);
    snprintf(command, sizeof(command),
             "DEBUGINFOD_URLS= llvm-symbolizer --output-style=GNU --addresses --inlines --demangle "
             "-e '%s'",
             judged);
    struct answer *llvm = ask(command, "c++filt", addresses, count);

    struct kymo_symbolizer *symbolizer;
    struct kymo_place *places = calloc(count, sizeof(*places));
    size_t *first = calloc(count + 1, sizeof(*first)), wrong = 0;
    const struct kymo_symbol *symbols;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct kymo_place){.path = path, .offset = addresses[i]};
    CHECK_EQ(kymo_symbolizer_new(KYMO_SYMBOL_FULL, &symbolizer), 0);
    CHECK_EQ(kymo_symbolize(symbolizer, places, count, &symbols, first), 0);

    memset(&seen, 0, sizeof(seen));
    for (size_t i = 0; i < count; i++) {
        struct frame ours[FRAMES_MOST];
        int n = (int)(first[i + 1] - first[i]);
        CHECK(n > 0 && n <= FRAMES_MOST);
        for (int k = 0; k < n; k++) {
            const struct kymo_symbol *symbol = &symbols[first[i] + (size_t)k];
            ours[k] = (struct frame){symbol->name, symbol->file, symbol->line};
            CHECK_EQ(symbol->inlined, k < n - 1);
        }
        seen.addresses++;
        seen.inlined += n > 1;
        const char *why = compare(ours, n, &bin[i], &llvm[i]);
        if (why && wrong++ < 2) {
            printf("# %s, 0x%" PRIx64 ": %s is wrong\n", path, addresses[i], why);
            show("kymograph", ours, n);
            show("addr2line", bin[i].frames, bin[i].count);
            show("llvm-symbolizer", llvm[i].frames, llvm[i].count);
        }
    }
    printf("# %zu addresses, %zu in inlined functions, %zu named as addr2line does, %zu between "
           "functions, %zu frames of which only addr2line knows the line\n",
           seen.addresses, seen.inlined, seen.names_of_debug, seen.between, seen.no_line);
    kymo_symbolizer_free(symbolizer);
    free(places);
    free(first);
    free(bin);
    free(llvm);
    if (wrong)
        CHECK_FAIL("%zu of %zu addresses are wrong", wrong, count);
}

static inline void judge(const char *path)
{
    judge_as(path, path, "addr2line");
}

#endif
