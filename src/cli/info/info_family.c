/* info_family.c — the processes of a family as a tree, for `kymograph info`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "memory.h"
#include "naming.h"
#include "report_words.h"
#include "table.h"
#include "units.h"

enum { SHOWN = 60, NOBODY = UINT32_MAX };

static const struct kymo_file_header *header_of(const struct kymo_family *family, uint32_t i)
{
    return &family->captures[i]->reader->header;
}

/* The process that started process I: the last one with the pid of its parent that began before
   it. A process that was adopted, or started by one that is not recorded, has none. */
static uint32_t parent_of(const struct kymo_family *family, uint32_t i)
{
    const char *text = kymo__family_metadata(family->captures[i], "process.parent");
    long long pid = text ? strtoll(text, NULL, 10) : -1;
    for (uint32_t other = i; other-- > 0;)
        if (header_of(family, other)->pid == pid)
            return other;
    return NOBODY;
}

/* How process I ended, as its parent saw it if that is known. */
static const char *ending_of(const struct kymo_family *family, uint32_t i, uint32_t parent)
{
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(family->captures[i], &info);
    const char *own = kymo__family_metadata(family->captures[i], "process.ended");
    char key[40];
    snprintf(key, sizeof key, "child.%lld", (long long)info.pid);
    const char *seen =
        parent == NOBODY ? NULL : kymo__family_metadata(family->captures[parent], key);
    if (info.ending == KYMO_ENDED_RUNNING)
        return "running";
    if (own)
        return own;
    return seen ? seen : kymo__cli_name_ending(info.ending).word;
}

struct tree {
    const struct kymo_family *family;
    uint32_t *parent, *depth, *order; /* by process; ORDER: as shown */
    uint32_t shown;
};

/* Put process I and those that it started, in order, into the tree. */
static void place_process(struct tree *tree, uint32_t i)
{
    uint32_t above = tree->parent[i];
    tree->depth[i] = above == NOBODY ? i > 0 : tree->depth[above] + 1;
    tree->order[tree->shown++] = i;
    for (uint32_t child = i + 1; child < tree->family->count; child++)
        if (tree->parent[child] == i)
            place_process(tree, child);
}

static struct tree make_tree(const struct kymo_family *family)
{
    struct tree tree = {
        .family = family,
        .parent = kymo__cli_array(family->count, sizeof(uint32_t)),
        .depth = kymo__cli_array(family->count, sizeof(uint32_t)),
        .order = kymo__cli_array(family->count, sizeof(uint32_t)),
    };
    for (uint32_t i = 0; i < family->count; i++)
        tree.parent[i] = parent_of(family, i);
    for (uint32_t i = 0; i < family->count; i++)
        if (tree.parent[i] == NOBODY)
            place_process(&tree, i);
    return tree;
}

static void free_tree(struct tree *tree)
{
    kymo__cli_free(tree->parent);
    kymo__cli_free(tree->depth);
    kymo__cli_free(tree->order);
}

static void add_row(struct cli_table *table, const struct tree *tree, uint32_t i, kymo_ns start)
{
    const struct kymo_family *family = tree->family;
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    struct kymo_process_info process = {.size = sizeof process, .name = ""};
    kymo_capture_info(family->captures[i], &info);
    kymo_capture_process(family->captures[i], 0, &process);
    uint32_t depth = tree->depth[i] < 20 ? tree->depth[i] : 20;
    char *name = kymo__cli_format("%*s%s", (int)depth * 2, "", process.name);
    const char *began = kymo__family_metadata(family->captures[i], "process.began");
    char index[16], pid[24];
    snprintf(index, sizeof index, "%u", i);
    snprintf(pid, sizeof pid, "%lld", (long long)info.pid);
    struct cli_text records = kymo__cli_grouped(info.records);
    struct cli_text lost = kymo__cli_grouped(info.lost_records);
    struct cli_text first = kymo__cli_duration(info.start - start);
    struct cli_text lasted = kymo__cli_duration(info.end - info.start);
    const char *const cells[] = {index,
                                 pid,
                                 name,
                                 began ? began : "run",
                                 ending_of(family, i, tree->parent[i]),
                                 first.text,
                                 lasted.text,
                                 records.text,
                                 lost.text};
    kymo__cli_table_add(table, cells);
    kymo__cli_free(name);
}

void kymo__cli_info_family(const struct kymo_family *family)
{
    static const struct cli_column columns[] = {
        {"PROCESS", true, CLI_KEEP}, {"PID", true, CLI_KEEP},
        {"NAME", false, CLI_CUT},    {"BY", false, CLI_DROP(3)},
        {"ENDED", false, CLI_CUT},   {"START", true, CLI_DROP(2)},
        {"TIME", true, CLI_KEEP},    {"RECORDS", true, CLI_KEEP},
        {"LOST", true, CLI_DROP(1)}, {0},
    };
    if (family->count > 1) {
        struct kymo_info first = {.size = offsetof(struct kymo_info, samples)};
        kymo_capture_info(family->captures[0], &first);
        struct tree tree = make_tree(family);
        struct cli_table *table = kymo__cli_table_new(columns);
        for (uint32_t i = 0; i < tree.shown && i < SHOWN; i++)
            add_row(table, &tree, tree.order[i], first.start);
        putchar('\n');
        kymo__cli_table_print(table, CLI_INDENT);
        kymo__cli_left_out(tree.shown, SHOWN);
        kymo__cli_table_free(table);
        free_tree(&tree);
    }
    if (family->unreadable) {
        kymo__cli_label("absent");
        printf("%s whose capture cannot be read: damaged, or killed before anything was written\n",
               kymo__cli_count(family->unreadable, "child", "children").text);
    }
}

void kymo__cli_info_family_json(struct kymo_jsonout *json, const struct kymo_family *family)
{
    struct tree tree = make_tree(family);
    for (uint32_t i = 0; i < family->count; i++) {
        struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
        struct kymo_process_info process = {.size = sizeof process, .name = "", .machine = ""};
        kymo_capture_info(family->captures[i], &info);
        kymo_capture_process(family->captures[i], 0, &process);
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "index", i);
        kymo__jsonout_int(json, "pid", info.pid);
        kymo__jsonout_string(json, "name", process.name);
        kymo__jsonout_string(json, "machine", process.machine);
        if (tree.parent[i] == NOBODY)
            kymo__jsonout_null(json, "parent");
        else
            kymo__jsonout_uint(json, "parent", tree.parent[i]);
        kymo__jsonout_string(json, "file", family->paths[i]);
        kymo__jsonout_string(json, "ending", kymo__cli_name_ending(info.ending).word);
        kymo__jsonout_string(json, "status", ending_of(family, i, tree.parent[i]));
        kymo__jsonout_int(json, "monotonic_start_ns", info.start);
        kymo__jsonout_int(json, "duration_ns", info.end - info.start);
        kymo__jsonout_uint(json, "records", info.records);
        kymo__jsonout_uint(json, "lost_records", info.lost_records);
        kymo__jsonout_end(json);
    }
    free_tree(&tree);
}
