/* info_json.c — the output of `kymograph info --json`: one object on one line. Its fields are
   documented in docs/command.md and are stable. */
#include <stdio.h>

#include "heapview.h"
#include "info.h"
#include "jsonout.h"
#include "naming.h"
#include "units.h"

static void write_losses(struct kymo_jsonout *json, const struct cli_facts *facts)
{
    kymo__jsonout_uint(json, "gaps", facts->info.gaps);
    kymo__jsonout_uint(json, "lost_records", facts->info.lost_records);
    kymo__jsonout_uint(json, "expired_records", facts->info.expired_records);
    kymo__jsonout_array(json, "losses");
    for (int reason = 0; reason < CLI_GAP_REASONS; reason++) {
        const struct cli_loss *loss = &facts->losses[reason];
        if (loss->gaps == 0)
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_string(json, "reason", kymo__cli_name_gap(reason).word);
        kymo__jsonout_uint(json, "gaps", loss->gaps);
        kymo__jsonout_uint(json, "records", loss->records);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_clock(struct kymo_jsonout *json, const struct kymo_info *info)
{
    kymo__jsonout_object(json, "clock");
    kymo__jsonout_string(json, "source", kymo__cli_name_clock(info->clock).word);
    kymo__jsonout_double(json, "ticks_per_second", info->ticks_per_second);
    kymo__jsonout_uint(json, "snapshots", info->snapshots);
    kymo__jsonout_end(json);
}

static void write_metadata(struct kymo_jsonout *json, const struct kymo_capture *capture)
{
    const char *key, *value;
    kymo__jsonout_object(json, "metadata");
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        kymo__jsonout_string(json, key, value);
    kymo__jsonout_end(json);
}

static void write_processes(struct kymo_jsonout *json, const struct cli_facts *facts)
{
    kymo__jsonout_array(json, "processes");
    if (facts->family->count > 1) {
        kymo__cli_info_family_json(json, facts->family);
        kymo__jsonout_end(json);
        return;
    }
    for (uint32_t i = 0; i < facts->info.processes; i++) {
        struct kymo_process_info process = {.size = sizeof process};
        if (kymo_capture_process(facts->capture, i, &process) < 0)
            break;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "index", process.index);
        kymo__jsonout_int(json, "pid", process.pid);
        kymo__jsonout_string(json, "name", process.name);
        kymo__jsonout_string(json, "machine", process.machine);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_threads(struct kymo_jsonout *json, const struct cli_facts *facts)
{
    kymo__jsonout_array(json, "threads");
    for (uint32_t i = 0; i < facts->info.threads; i++) {
        struct kymo_thread_info thread = {.size = sizeof thread};
        if (kymo_capture_thread(facts->capture, i, &thread) < 0)
            break;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "index", thread.index);
        kymo__jsonout_int(json, "tid", thread.tid);
        kymo__jsonout_uint(json, "process", thread.process);
        kymo__jsonout_int(json, "pid", thread.pid);
        kymo__jsonout_string(json, "name", thread.name);
        kymo__jsonout_uint(json, "records", thread.records);
        kymo__jsonout_uint(json, "lost_records", thread.lost);
        if (thread.records > 0) {
            kymo__jsonout_int(json, "first_ns", thread.first - facts->info.start);
            kymo__jsonout_int(json, "last_ns", thread.last - facts->info.start);
        } else {
            kymo__jsonout_null(json, "first_ns");
            kymo__jsonout_null(json, "last_ns");
        }
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

void kymo__cli_info_json(const struct cli_facts *facts)
{
    const struct kymo_info *info = &facts->info;
    struct kymo_jsonout json = {.out = stdout};
    char version[32];
    snprintf(version, sizeof version, "%d.%d", info->version_major, info->version_minor);

    kymo__jsonout_object(&json, NULL);
    kymo__jsonout_string(&json, "file", facts->path);
    kymo__jsonout_string(&json, "format", version);
    kymo__jsonout_string(&json, "ending", kymo__cli_name_ending(info->ending).word);
    if (info->error)
        kymo__jsonout_string(&json, "error", kymo_strerror(info->error));
    else
        kymo__jsonout_null(&json, "error");
    kymo__jsonout_int(&json, "pid", info->pid);
    kymo__jsonout_string(&json, "wall_start", kymo__cli_wall_full(info->wall_start).text);
    kymo__jsonout_int(&json, "wall_start_ns", info->wall_start);
    kymo__jsonout_int(&json, "monotonic_start_ns", info->start);
    kymo__jsonout_int(&json, "duration_ns", info->end - info->start);
    kymo__jsonout_uint(&json, "records", info->records);
    kymo__jsonout_uint(&json, "recovered_records", info->recovered_records);
    kymo__jsonout_uint(&json, "samples", info->samples);
    if (kymo__may_have_heap(facts->capture))
        kymo__jsonout_string(&json, "memory", kymo__heap_mode_word(facts->capture));
    else
        kymo__jsonout_null(&json, "memory");
    kymo__jsonout_uint(&json, "stacks", info->stacks);
    write_losses(&json, facts);
    kymo__jsonout_uint(&json, "file_bytes", info->file_bytes);
    kymo__jsonout_uint(&json, "live_bytes", info->live_bytes);
    write_clock(&json, info);
    kymo__jsonout_uint(&json, "unknown_parts", info->unknown_parts);
    kymo__jsonout_uint(&json, "damaged_blocks", info->damaged_blocks);
    kymo__jsonout_uint(&json, "damaged_bytes", info->damaged_bytes);
    kymo__jsonout_bool(&json, "verified", facts->verified);
    kymo__jsonout_bool(&json, "indexed", info->indexed);
    write_metadata(&json, facts->capture);
    write_processes(&json, facts);
    write_threads(&json, facts);
    kymo__jsonout_end(&json);
    putchar('\n');
}
