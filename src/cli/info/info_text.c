/* info_text.c — the text output of `kymograph info`. */
#include <stdio.h>
#include <string.h>

#include "absent.h"
#include "clock_words.h"
#include "heapview.h"
#include "info.h"
#include "memory.h"
#include "naming.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

enum { INDENT = CLI_INDENT, LABEL = CLI_LABEL };

static void print_losses(const struct cli_facts *facts)
{
    kymo__cli_label("lost");
    if (facts->info.gaps == 0 && facts->info.lost_records == 0) {
        puts(kymo__cli_name_no_loss(&facts->info));
        return;
    }
    printf("%s%s in %s%s\n", kymo__cli_colour(CLI_YELLOW),
           kymo__cli_count(facts->info.lost_records, "record", "records").text,
           kymo__cli_count(facts->info.gaps, "gap", "gaps").text, kymo__cli_colour(CLI_PLAIN));
    for (int reason = 0; reason < CLI_GAP_REASONS; reason++) {
        const struct cli_loss *loss = &facts->losses[reason];
        if (loss->gaps > 0)
            printf("%*s%s in %s: %s\n", INDENT + LABEL, "",
                   kymo__cli_count(loss->records, "record", "records").text,
                   kymo__cli_count(loss->gaps, "gap", "gaps").text,
                   kymo__cli_name_gap(reason).phrase);
    }
}

static void print_expired(const struct kymo_info *info)
{
    if (info->expired_records == 0)
        return;
    kymo__cli_label("expired");
    printf("%s, older than the flight recorder keeps\n",
           kymo__cli_count(info->expired_records, "record", "records").text);
}

static void print_size(const struct kymo_info *info)
{
    uint64_t in_file = info->records - info->recovered_records;
    kymo__cli_label("size");
    printf("%s", kymo__cli_bytes(info->file_bytes).text);
    if (in_file > 0)
        printf(", %.2f bytes per record", (double)info->file_bytes / (double)in_file);
    if (info->live_bytes > 0)
        printf("; the live file beside it %s", kymo__cli_bytes(info->live_bytes).text);
    putchar('\n');
}

static void print_format(const struct cli_facts *facts)
{
    const struct kymo_info *info = &facts->info;
    kymo__cli_label("format");
    printf("version %d.%d, %s\n", info->version_major, info->version_minor,
           info->indexed ? "with its index" : "without an index, which was rebuilt by scanning");
    if (info->unknown_parts) {
        kymo__cli_label("unknown");
        printf("%s%s of a newer version, not shown%s\n", kymo__cli_colour(CLI_YELLOW),
               kymo__cli_count(info->unknown_parts, "part", "parts").text,
               kymo__cli_colour(CLI_PLAIN));
    }
    kymo__cli_label("damage");
    if (info->damaged_blocks == 0 && info->damaged_bytes == 0)
        puts(facts->verified ? "none; every block was read"
                             : "none found so far; --verify reads every block");
    else
        printf("%s%s cannot be read, %s in all%s\n", kymo__cli_colour(CLI_YELLOW),
               kymo__cli_count(info->damaged_blocks, "block", "blocks").text,
               kymo__cli_bytes(info->damaged_bytes).text, kymo__cli_colour(CLI_PLAIN));
}

/* On a terminal a command line may take several lines. */
static void print_pair(const char *key, const char *value)
{
    char *raw = kymo__cli_format("%s = %s", key, value), *text = kymo__cli_clean(raw);
    if (kymo__cli_terminal_width() > 0)
        kymo__cli_wrap(stdout, text, INDENT + LABEL, kymo__cli_terminal_width(), INDENT + LABEL);
    else
        puts(text);
    kymo__cli_free(text);
    kymo__cli_free(raw);
}

static void print_metadata(const struct kymo_capture *capture)
{
    const char *key, *value;
    bool first = true;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++) {
        if (strncmp(key, "interpreter.", 12) == 0 || kymo__is_ping(key))
            continue; /* long lists, of use to programs only */
        if (first) {
            kymo__cli_label("metadata");
        } else {
            printf("%*s", INDENT + LABEL, "");
        }
        first = false;
        print_pair(key, value);
    }
}

/* The processes of a merged capture. */
static void print_processes(const struct cli_facts *facts)
{
    static const struct cli_column columns[] = {
        {"PROCESS", true, false},
        {"PID", true, false},
        {"NAME", false, true},
        {"MACHINE", false, true},
        {0},
    };
    if (facts->info.processes < 2)
        return;
    struct cli_table *table = kymo__cli_table_new(columns);
    for (uint32_t i = 0; i < facts->info.processes; i++) {
        struct kymo_process_info process = {.size = sizeof process};
        if (kymo_capture_process(facts->capture, i, &process) < 0)
            break;
        char index[16], pid[24];
        snprintf(index, sizeof index, "%u", process.index);
        snprintf(pid, sizeof pid, "%lld", (long long)process.pid);
        const char *const cells[] = {index, pid, process.name, process.machine};
        kymo__cli_table_add(table, cells);
    }
    putchar('\n');
    kymo__cli_table_print(table, INDENT);
    kymo__cli_table_free(table);
}

static void print_threads(const struct cli_facts *facts)
{
    static const struct cli_column all[] = {
        {"THREAD", true, false}, {"PROCESS", true, false}, {"TID", true, false},
        {"NAME", false, true},   {"RECORDS", true, false}, {"LOST", true, false},
        {"FIRST", true, false},  {"LAST", true, false},    {0},
    };
    struct cli_column columns[sizeof all / sizeof *all];
    bool several = facts->info.processes > 1;
    size_t kept = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (i != 1 || several)
            columns[kept++] = all[i];
    struct cli_table *table = kymo__cli_table_new(columns);
    for (uint32_t i = 0; i < facts->info.threads; i++) {
        struct kymo_thread_info thread = {.size = sizeof thread};
        if (kymo_capture_thread(facts->capture, i, &thread) < 0)
            break;
        char index[16], process[16], tid[24];
        snprintf(index, sizeof index, "%u", thread.index);
        snprintf(process, sizeof process, "%u", thread.process);
        snprintf(tid, sizeof tid, "%lld", (long long)thread.tid);
        struct cli_text records = kymo__cli_grouped(thread.records);
        struct cli_text lost = kymo__cli_grouped(thread.lost);
        struct cli_text first = {"-"}, last = {"-"};
        if (thread.records > 0) {
            first = kymo__cli_duration(thread.first - facts->info.start);
            last = kymo__cli_duration(thread.last - facts->info.start);
        }
        /* Without a process column, the first cell takes its place. */
        const char *const cells[] = {several ? index : "",
                                     several ? process : index,
                                     tid,
                                     thread.name,
                                     records.text,
                                     lost.text,
                                     first.text,
                                     last.text};
        kymo__cli_table_add(table, cells + !several);
    }
    if (facts->info.threads > 0) {
        putchar('\n');
        kymo__cli_table_print(table, INDENT);
    }
    kymo__cli_table_free(table);
}

static void print_samples(const struct cli_facts *facts)
{
    const struct kymo_info *info = &facts->info;
    if (!info->samples && !info->stacks)
        return;
    kymo__cli_label("samples");
    printf("%s of the records, with %s\n", kymo__cli_grouped(info->samples).text,
           kymo__cli_count(info->stacks, "stack", "different stacks").text);
}

static void print_memory(const struct cli_facts *facts)
{
    if (!kymo__may_have_heap(facts->capture))
        return;
    const char *domains = kymo__heap_metadata(facts->capture, KYMO__HEAP_DOMAINS);
    kymo__cli_label("memory");
    kymo__cli_put_clean(stdout, kymo__heap_mode_phrase(facts->capture));
    if (*domains) {
        fputs(": ", stdout);
        kymo__cli_put_clean(stdout, domains);
    }
    printf("; %s'kymograph report --memory' shows it%s\n", kymo__cli_colour(CLI_DIM),
           kymo__cli_colour(CLI_PLAIN));
}

static void print_pings(const struct kymo_capture *capture)
{
    struct kymo_pings pings = {0};
    kymo__pings_read(&pings, capture);
    char *words = kymo__cli_ping_words(&pings);
    if (words) {
        kymo__cli_label("pings");
        puts(words);
    }
    kymo__cli_free(words);
    kymo__pings_fini(&pings);
}

void kymo__cli_info_text(const struct cli_facts *facts)
{
    const struct kymo_info *info = &facts->info;
    fputs(kymo__cli_colour(CLI_BOLD), stdout);
    kymo__cli_put_clean(stdout, facts->path);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));

    kymo__cli_print_ending(facts->path, info);
    kymo__cli_label("started");
    printf("%s, by process %lld\n", kymo__cli_wall(info->wall_start).text, (long long)info->pid);
    kymo__cli_label("lasted");
    printf("%s\n", kymo__cli_duration(kymo__cli_lasted(facts->capture, info)).text);
    kymo__cli_label("records");
    printf("%s on %s\n", kymo__cli_grouped(info->records).text,
           kymo__cli_count(info->threads, "thread", "threads").text);
    print_samples(facts);
    print_memory(facts);
    print_losses(facts);
    print_expired(info);
    const struct cli_absent absent = {
        .nothing = kymo__cli_hardly_any(facts->capture, info, info->records)};
    kymo__cli_print_absent(facts->capture, info, &absent);
    print_size(info);
    kymo__cli_label("clock");
    printf("%s, %s, %s\n", kymo__cli_name_clock(info->clock).phrase,
           kymo__cli_frequency(info->ticks_per_second).text,
           kymo__cli_count(info->snapshots, "snapshot", "snapshots").text);
    struct kymo_hostclock wall;
    kymo__hostclock_read(facts->capture, &wall);
    char *words = kymo__cli_clock_words(&wall);
    kymo__cli_label("wall");
    puts(words);
    kymo__cli_free(words);
    print_pings(facts->capture);
    print_format(facts);
    print_metadata(facts->capture);
    print_processes(facts);
    print_threads(facts);
    kymo__cli_info_family(facts->family);
}
