#include "thread_choice.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "message.h"
#include "text.h"
#include "units.h"
#include "verb.h"

enum { WIDEST_LABEL = 24 };

static char *make_label(const struct kymo_thread_info *thread)
{
    char *name = kymo__cli_clean(thread->name);
    int fits = kymo__cli_fit(name, WIDEST_LABEL - 4);
    char *label = kymo__cli_format("%u %.*s%s", thread->index, fits, name, name[fits] ? "…" : "");
    if (!*name)
        label[strlen(label) - 1] = '\0';
    kymo__cli_free(name);
    return label;
}

static bool matches(const struct kymo_thread_info *thread, const char *wanted)
{
    uint64_t number;
    if (!wanted)
        return true;
    if (strncmp(wanted, "tid:", 4) == 0 && kymo__cli_read_number(wanted + 4, &number))
        return thread->tid == (int64_t)number;
    if (kymo__cli_read_number(wanted, &number))
        return thread->index == number;
    return strcmp(thread->name, wanted) == 0;
}

static int complain(const char *path, const char *wanted, const struct cli_threads *threads)
{
    char known[400] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < threads->count && used < 300; i++) {
        int more = snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                            threads->label[i]);
        used += (size_t)more < sizeof known - used ? (size_t)more : sizeof known - used - 1;
    }
    kymo__cli_complain("%s: no thread '%s'; 'kymograph info' lists them (%s%s)", path, wanted,
                       threads->count ? known : "none", used >= 300 ? ", ..." : "");
    return CLI_BAD;
}

int kymo__cli_threads_choose(const struct kymo_capture *capture, const char *path,
                             const char *wanted, struct cli_threads *threads)
{
    struct kymo_info info = {.size = sizeof info};
    kymo_capture_info(capture, &info);
    *threads = (struct cli_threads){.count = (uint32_t)info.threads, .only = -1};
    threads->label = kymo__cli_array(threads->count + 1, sizeof *threads->label);
    threads->chosen = kymo__cli_array(threads->count + 1, sizeof *threads->chosen);
    threads->label[threads->count] = kymo__cli_format("-");
    threads->chosen[threads->count] = !wanted;

    uint32_t matching = 0;
    for (uint32_t i = 0; i < threads->count; i++) {
        struct kymo_thread_info thread = {.size = sizeof thread, .index = i, .name = ""};
        kymo_capture_thread(capture, i, &thread);
        threads->label[i] = make_label(&thread);
        int cells = kymo__cli_cells(threads->label[i]);
        threads->cells = cells > threads->cells ? cells : threads->cells;
        threads->chosen[i] = matches(&thread, wanted);
        if (threads->chosen[i] && matching++ == 0)
            threads->only = i;
    }
    if (matching != 1 || !wanted)
        threads->only = -1;
    if (!wanted || matching > 0)
        return CLI_OK;
    complain(path, wanted, threads);
    kymo__cli_threads_free(threads);
    return CLI_BAD;
}

static bool is_process(const struct kymo_process_info *process, const char *wanted)
{
    uint64_t number;
    if (strncmp(wanted, "pid:", 4) == 0 && kymo__cli_read_number(wanted + 4, &number))
        return process->pid == (int64_t)number;
    if (kymo__cli_read_number(wanted, &number))
        return process->index == number;
    return strcmp(process->name, wanted) == 0;
}

int kymo__cli_threads_of_process(const struct kymo_capture *capture, const char *path,
                                 const char *wanted, struct cli_threads *threads)
{
    uint32_t left = 0;
    if (!wanted)
        return CLI_OK;
    for (uint32_t i = 0; i < threads->count; i++) {
        struct kymo_thread_info thread = {.size = sizeof thread};
        struct kymo_process_info process = {.size = sizeof process, .name = ""};
        kymo_capture_thread(capture, i, &thread);
        kymo_capture_process(capture, thread.process, &process);
        threads->chosen[i] = threads->chosen[i] && is_process(&process, wanted);
        left += threads->chosen[i];
    }
    threads->chosen[threads->count] = false;
    if (left > 0)
        return CLI_OK;
    kymo__cli_complain("%s: no process '%s' with such threads; 'kymograph info' lists them", path,
                       wanted);
    return CLI_BAD;
}

void kymo__cli_threads_free(struct cli_threads *threads)
{
    for (uint32_t i = 0; i <= threads->count; i++)
        kymo__cli_free(threads->label[i]);
    kymo__cli_free(threads->label);
    kymo__cli_free(threads->chosen);
    *threads = (struct cli_threads){.only = -1};
}
