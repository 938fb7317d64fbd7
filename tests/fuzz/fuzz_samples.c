/* Samples of any file are added up, written in every format and copied without harm. Inputs are
   those of fuzz_reader.c; names come from a stand-in, as nothing of the disk is to be read. */
#include <kymo/symbol.h>

#include "alloc.h"
#include "rewrite.h"
#include "samples.h"

static void read_samples(struct kymo_capture *capture);

#define FUZZ_READ read_samples
#include "fuzz_reader.c"

struct kymo_symbolizer {
    struct kymo_symbol *symbols;
};

int kymo_symbolizer_new(int mode, struct kymo_symbolizer **symbolizer)
{
    (void)mode;
    *symbolizer = kymo__alloc_zeroed(sizeof(**symbolizer));
    return *symbolizer ? 0 : -12;
}

void kymo_symbolizer_free(struct kymo_symbolizer *symbolizer)
{
    if (symbolizer)
        kymo__free(symbolizer->symbols);
    kymo__free(symbolizer);
}

/* Some places have no name, some two functions. */
int kymo_symbolize(struct kymo_symbolizer *symbolizer, const struct kymo_place *places,
                   size_t count, const struct kymo_symbol **symbols, size_t *first)
{
    static const char *const names[] = {"", "_PyEval_EvalFrameDefault", "list_sort", "work"};
    symbolizer->symbols = kymo__alloc((2 * count + 1) * sizeof(*symbolizer->symbols));
    if (!symbolizer->symbols)
        return -12;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        text_bytes += strlen(places[i].path);
        first[i] = at;
        if (places[i].offset & 4)
            symbolizer->symbols[at++] =
                (struct kymo_symbol){.name = "inlined", .file = "a.h", .line = 1, .inlined = 1};
        symbolizer->symbols[at++] =
            (struct kymo_symbol){.name = names[places[i].offset & 3], .file = ""};
    }
    first[count] = at;
    *symbols = symbolizer->symbols;
    return 0;
}

int kymo_symbolize_generated(struct kymo_symbolizer *symbolizer, int64_t pid, uint64_t address,
                             struct kymo_symbol *symbol)
{
    (void)symbolizer, (void)pid;
    *symbol = (struct kymo_symbol){.name = "made", .file = ""};
    return (int)(address & 1);
}

static void survey(struct kymo_capture *capture, int native)
{
    const struct kymo_samples_options options = {.tally = {.from = INT64_MIN, .to = INT64_MAX},
                                                 .nodes = 1000,
                                                 .by_thread = native != KYMO_NATIVE_ALL,
                                                 .native = native};
    struct kymo_samples *samples;
    if (kymo__samples(capture, &options, &samples) < 0)
        return;
    /* What all took is what each took. */
    kymo_ns threads = 0, self = 0;
    for (size_t i = 0; i < samples->survey->thread_count; i++)
        threads = kymo__ns_add(threads, samples->survey->threads[i].busy);
    for (int i = 0; i < KYMO__CLASSES; i++)
        self = kymo__ns_add(self, samples->survey->self[i]);
    bool absurd = threads == INT64_MAX || self == INT64_MAX;
    if (threads != self && !absurd && !samples->survey->tree.folded)
        abort();
    kymo__samples_free(samples);
}

static void read_samples(struct kymo_capture *capture)
{
    static const char *const formats[] = {"collapsed", "speedscope", "pprof",
                                          "perfetto",  "chrome",     "html"};
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    read_stacks(capture);
    /* One way for each input is enough: there are many inputs. */
    size_t way = info.file_bytes / 8;
    survey(capture, (int)(way % (KYMO_NATIVE_NONE + 1)));
    kymo_export(capture, "/dev/null",
                &(struct kymo_export_options){.size = sizeof(struct kymo_export_options),
                                              .format = formats[way / 3 % 6],
                                              .to = INT64_MAX,
                                              .thread = -1,
                                              .of = KYMO_OF_SAMPLES});
    char copy[100];
    snprintf(copy, sizeof(copy), "%s/copy", dir);
    const struct kymo_rewrite_options plain = {0};
    const struct kymo_part parts[2] = {
        {.capture = capture, .from = INT64_MIN, .to = INT64_MAX},
        {.capture = capture, .from = INT64_MIN, .to = INT64_MAX},
    };
    kymo__rewrite(parts, 2, copy, &plain);
    unlink(copy);
}
