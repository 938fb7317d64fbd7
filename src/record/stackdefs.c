/* stackdefs.c — see stackdefs.h. */
#include "stackdefs.h"

#include <errno.h>
#include <stdio.h>

#include "alloc.h"
#include "capture.h"

/* More nodes than this are not remembered: some 100 MiB of memory. */
#define MOST_NODES (UINT32_C(1) << 22)

/* The second word of a stack in `stacks`. One that has waited stays in it as both. */
enum { DEFINED = 0, WAITING = 1 };

static const char unknown[] = "(unknown)";

void kymo__stackdefs_init(struct kymo_stackdefs *defs, struct kymo_names *names)
{
    *defs = (struct kymo_stackdefs){.names = names};
}

void kymo__stackdefs_fini(struct kymo_stackdefs *defs)
{
    for (size_t i = 0; i < defs->waiting_count; i++)
        kymo_stack_release(defs->waiting[i]);
    size_t slots = defs->stacks.bits ? (size_t)1 << defs->stacks.bits : 0;
    for (size_t i = 0; i < slots; i++)
        if (defs->stacks.slots[i].b == DEFINED)
            kymo_stack_release(defs->stacks.slots[i].id);
    kymo__free(defs->waiting);
    kymo__free(defs->scratch);
    kymo__pairs_fini(&defs->modules);
    kymo__pairs_fini(&defs->frames);
    kymo__pairs_fini(&defs->nodes);
    kymo__pairs_fini(&defs->functions);
    kymo__pairs_fini(&defs->stacks);
    kymo__pairs_fini(&defs->numbers);
}

/* Write a definition of TYPE with NUMBERS, the first of which is its id, and remember that A
   and B of PAIRS are it. Returns the id, or negative errno with nothing remembered. */
static int64_t define(struct kymo_stackdefs *defs, struct kymo_pairs *pairs, uint64_t a, uint64_t b,
                      int type, const uint64_t *numbers)
{
    int rc = kymo__pairs_reserve(pairs);
    if (rc == 0)
        rc = kymo__names_define(defs->names, type, numbers);
    if (rc < 0)
        return rc;
    kymo__pairs_add(pairs, a, b, (uint32_t)numbers[0]);
    return (int64_t)numbers[0];
}

/* ---- frames ---- */

/* Define module NUMBER if it is not yet; *BASE is what to subtract from its addresses. */
static int64_t module_of(struct kymo_stackdefs *defs, uint32_t number, uint64_t *base)
{
    struct kymo_module module = {.size = sizeof(module)};
    *base = 0;
    if (!number || kymo_module_get(number, &module) < 0)
        return 0;
    *base = module.base;
    if (kymo__pairs_find(&defs->modules, number, 0))
        return number;
    char hex[2 * sizeof(module.build_id) + 1] = "";
    for (uint32_t i = 0; i < module.build_id_bytes && i < sizeof(module.build_id); i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", module.build_id[i]);
    uint32_t path = kymo__names_string(defs->names, module.path, NULL);
    uint32_t build_id = hex[0] ? kymo__names_string(defs->names, hex, NULL) : 0;
    if (!path || (hex[0] && !build_id))
        return -ENOSPC;
    return define(defs, &defs->modules, number, 0, KYMO__DEF_MODULE,
                  (const uint64_t[]){number, module.base, module.low, module.high, path, build_id});
}

/* The frame that stands for A and B, as numbers two to four of its definition have them. */
static int64_t frame_as(struct kymo_stackdefs *defs, uint64_t managed, uint64_t a, uint64_t b)
{
    uint32_t known = kymo__pairs_find(&defs->frames, managed << 63 | a, b);
    if (known)
        return known;
    int64_t id = define(defs, &defs->frames, managed << 63 | a, b, KYMO__DEF_FRAME,
                        (const uint64_t[]){defs->last_frame + 1, managed, a, b});
    if (id > 0)
        defs->last_frame++;
    return id;
}

/* The key of the function that NAMED tells of. */
static int64_t key_of(struct kymo_stackdefs *defs, const struct kymo_named *named)
{
    const char *file = named->file && named->file[0] ? named->file : NULL;
    uint64_t name_id = kymo__names_string(defs->names, named->name, NULL);
    uint64_t file_id = file ? kymo__names_string(defs->names, file, NULL) : 0;
    if (!name_id || (file && !file_id) || kymo__pairs_reserve(&defs->functions) < 0)
        return -ENOSPC;
    uint32_t key = kymo__pairs_find(&defs->functions, name_id << 32 | file_id, named->first_line);
    if (key)
        return key;
    const struct kymo_function function = {.size = sizeof(function),
                                           .name = named->name,
                                           .file = file,
                                           .line = named->first_line,
                                           .kind = KYMO_CLASS_FUNCTION};
    key = kymo__names_function(defs->names, &function);
    if (!key)
        return -ENOSPC;
    kymo__pairs_add(&defs->functions, name_id << 32 | file_id, named->first_line, key);
    return key;
}

/* The frame of the interpreter's NUMBER; -EAGAIN when its name is not known yet, and is not to
   be given up as at the END. */
static int64_t managed_frame(struct kymo_stackdefs *defs, uint64_t number, bool end)
{
    uint32_t known = kymo__pairs_find(&defs->numbers, number, 0);
    if (known)
        return known;
    const struct kymo_interpreter *interpreter = kymo__interpreter();
    struct kymo_named named = {.size = sizeof(named)};
    int rc = interpreter ? interpreter->name_of(number, &named) : -ENOENT;
    if (rc == -EAGAIN && !end)
        return rc;
    if (rc < 0 || !named.name)
        named = (struct kymo_named){.size = sizeof(named), .name = unknown};
    int64_t key = key_of(defs, &named);
    int64_t id = key > 0 ? frame_as(defs, 1, (uint64_t)key, named.line) : key;
    if (id > 0 && rc == 0 && kymo__pairs_reserve(&defs->numbers) == 0)
        kymo__pairs_add(&defs->numbers, number, 0, (uint32_t)id);
    return id;
}

static int64_t frame_of(struct kymo_stackdefs *defs, const struct kymo_frame *frame, bool end)
{
    if (frame->managed)
        return managed_frame(defs, frame->address, end);
    uint64_t base;
    int64_t module = module_of(defs, frame->module, &base);
    return module < 0 ? module : frame_as(defs, 0, (uint64_t)module, frame->address - base);
}

/* ---- stacks ---- */

static int64_t node_of(struct kymo_stackdefs *defs, uint32_t parent, uint32_t frame)
{
    uint32_t known = kymo__pairs_find(&defs->nodes, parent, frame);
    if (known)
        return known;
    if (defs->last_node == MOST_NODES)
        return -ENOSPC;
    int64_t id = define(defs, &defs->nodes, parent, frame, KYMO__DEF_NODE,
                        (const uint64_t[]){defs->last_node + 1, parent, frame});
    if (id > 0)
        defs->last_node++;
    return id;
}

/* The frames of STACK into the scratch memory. Returns how many, or -ENOMEM. */
static int64_t frames_of(struct kymo_stackdefs *defs, kymo_stack stack)
{
    size_t count = kymo_stack_frames(stack, defs->scratch, defs->scratch_capacity);
    if (count > defs->scratch_capacity) {
        struct kymo_frame *more = kymo__realloc(defs->scratch, count * sizeof(*more));
        if (!more)
            return -ENOMEM;
        defs->scratch = more;
        defs->scratch_capacity = count;
        kymo_stack_frames(stack, more, count);
    }
    return (int64_t)count;
}

/* Define STACK. 0, or negative errno when that has to be tried again. */
static int define_stack(struct kymo_stackdefs *defs, kymo_stack stack, bool end)
{
    int64_t count = frames_of(defs, stack);
    if (count < 0)
        return (int)count;
    /* First all frames: what has no name yet is not to leave half of its nodes. */
    for (int64_t i = count; i-- > 0;) {
        int64_t frame = frame_of(defs, &defs->scratch[i], end);
        if (frame < 0)
            return (int)frame;
        defs->scratch[i].address = (uint64_t)frame;
    }
    int64_t node = 0;
    for (int64_t i = count; i-- > 0;) {
        node = node_of(defs, (uint32_t)node, (uint32_t)defs->scratch[i].address);
        if (node < 0)
            return (int)node;
    }
    int64_t rc = define(defs, &defs->stacks, stack, DEFINED, KYMO__DEF_STACK,
                        (const uint64_t[]){stack, (uint64_t)node});
    return rc < 0 ? (int)rc : 0;
}

/* Let STACK wait. False when there is no memory for that. */
static bool put_off(struct kymo_stackdefs *defs, kymo_stack stack)
{
    if (kymo__pairs_reserve(&defs->stacks) < 0 ||
        kymo__array_grow(&defs->waiting, &defs->waiting_capacity, defs->waiting_count,
                         sizeof(*defs->waiting)) < 0)
        return false;
    defs->waiting[defs->waiting_count++] = stack;
    kymo__pairs_add(&defs->stacks, stack, WAITING, stack);
    return true;
}

void kymo__stackdefs_add(struct kymo_stackdefs *defs, kymo_stack stack)
{
    if (kymo__pairs_find(&defs->stacks, stack, DEFINED) ||
        kymo__pairs_find(&defs->stacks, stack, WAITING)) {
        kymo_stack_release(stack); /* it is held already */
        return;
    }
    if (define_stack(defs, stack, false) < 0 && !put_off(defs, stack)) {
        defs->given_up++;
        kymo_stack_release(stack);
    }
}

void kymo__stackdefs_retry(struct kymo_stackdefs *defs, bool end)
{
    size_t kept = 0;
    for (size_t i = 0; i < defs->waiting_count; i++)
        if (define_stack(defs, defs->waiting[i], end) < 0)
            defs->waiting[kept++] = defs->waiting[i];
    defs->waiting_count = kept;
}
