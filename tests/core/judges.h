/* judges.h — what others say of the addresses of a file: addr2line and llvm-symbolizer which
   functions, files and lines they stand for, nm which names are names of one function. */
#ifndef KYMO_JUDGES_H
#define KYMO_JUDGES_H

#include "check.h"
#include "shell.h"
#include "strtab.h"

enum { FRAMES_MOST = 64 };

struct frame {
    const char *name, *file;
    unsigned line;
};

struct answer {
    uint64_t address;
    struct frame frames[FRAMES_MOST];
    int count;
};

/* Texts that last, each of them once. */
static inline const char *keep(const char *text)
{
    static struct kymo_strtab texts;
    int added;
    int64_t id = kymo__strtab_add(&texts, text, strlen(text), &added);
    CHECK(id > 0);
    return kymo__strtab_get(&texts, (uint32_t)id)->text;
}

/* FILE:LINE, FILE:?, FILE:LINE:COLUMN, each perhaps with words behind it. */
static inline void split_place(char *text, struct frame *frame)
{
    char *words = strstr(text, " (discriminator");
    if (words)
        *words = '\0';
    char *colon = strrchr(text, ':');
    if (colon) {
        *colon = '\0';
        frame->line = (unsigned)strtoul(colon + 1, NULL, 10);
        char *second = strrchr(text, ':');
        if (second && second[1] >= '0' && second[1] <= '9') {
            *second = '\0';
            frame->line = (unsigned)strtoul(second + 1, NULL, 10);
        }
    }
    frame->file = strcmp(text, "??") == 0 || !*text ? "" : keep(text);
}

/* What COMMAND, of addr2line's manners, says of the addresses, through FILTER. */
static inline struct answer *ask(const char *command, const char *filter, const uint64_t *addresses,
                                 size_t count)
{
    FILE *in = fopen(check_path("addresses"), "w");
    CHECK(in != NULL);
    for (size_t i = 0; i < count; i++)
        fprintf(in, "0x%" PRIx64 "\n", addresses[i]);
    fclose(in);
    CHECK_EQ(shell("%s <'%s' 2>/dev/null | %s >'%s'", command, check_path("addresses"), filter,
                   check_path("answers")),
             0);
    struct answer *answers = calloc(count, sizeof(*answers));
    FILE *out = fopen(check_path("answers"), "r");
    static char line[1 << 16];
    size_t at = 0;
    while (fgets(line, sizeof(line), out)) {
        line[strcspn(line, "\n")] = '\0';
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        if (strncmp(line, "0x", 2) == 0 && *end == '\0') {
            CHECK(at < count && address == addresses[at]);
            answers[at++].address = address;
        } else if (*line) {
            struct answer *answer = &answers[at - 1];
            CHECK(at > 0 && answer->count < FRAMES_MOST);
            struct frame *frame = &answer->frames[answer->count++];
            frame->name = strcmp(line, "??") == 0 ? "" : keep(line);
            CHECK(fgets(line, sizeof(line), out) != NULL);
            line[strcspn(line, "\n")] = '\0';
            split_place(line, frame);
        }
    }
    fclose(out);
    CHECK_EQ(at, count);
    return answers;
}

/* ---- aliases ---- */

/* The symbols by nm. */
static struct {
    uint64_t address;
    char *name;
} * symbols_known;
static size_t symbols_count;

static inline void list_symbols(const char *path)
{
    static char line[1 << 16];
    for (size_t i = 0; i < symbols_count; i++)
        free(symbols_known[i].name);
    symbols_count = 0;
    /* Those of a separate debug file too, where Debian puts it. */
    CHECK(
        shell("id=$(readelf -n '%s' | sed -n 's/.*Build ID: //p'); rest=${id#??}; "
              "(nm -C '%s'; nm -CD '%s'; nm -C /usr/lib/debug/.build-id/${id%%$rest}/$rest.debug) "
              ">'%s' 2>/dev/null",
              path, path, path, check_path("symbols")) >= 0);
    FILE *in = fopen(check_path("symbols"), "r");
    CHECK(in != NULL);
    while (fgets(line, sizeof(line), in)) {
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        if (end == line || strlen(end) < 4)
            continue;
        char *name = end + 3;
        name[strcspn(name, "@\n")] = '\0';
        symbols_known = realloc(symbols_known, (symbols_count + 1) * sizeof(*symbols_known));
        symbols_known[symbols_count].address = address;
        symbols_known[symbols_count++].name = strdup(name);
    }
    fclose(in);
}

static inline int aliases(const char *a, const char *b)
{
    for (size_t i = 0; i < symbols_count; i++)
        for (size_t k = 0; strcmp(symbols_known[i].name, a) == 0 && k < symbols_count; k++)
            if (symbols_known[k].address == symbols_known[i].address &&
                strcmp(symbols_known[k].name, b) == 0)
                return 1;
    return 0;
}

#endif
