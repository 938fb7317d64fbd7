/* stackbook.c — see stackbook.h. */
#include "stackbook.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "interrupted.h"
#include "modules.h"

/* The second word of a stack in `stacks`. A stack that had to wait is in it as both. */
enum { DEFINED = 0, WAITING = 1 };

static const char unknown[] = "(unknown)";

int kymo__stackbook_init(struct kymo_stackbook *book, struct kymo_names *names, const char *root)
{
    *book = (struct kymo_stackbook){.names = names};
    book->root = root ? kymo__alloc_text(root, strlen(root)) : NULL;
    return root && !book->root ? -ENOMEM : 0;
}

void kymo__stackbook_fini(struct kymo_stackbook *book)
{
    for (size_t i = 0; i < book->waiting_count; i++)
        kymo_stack_release(book->waiting[i]);
    for (size_t i = 0; i < book->stacks.count; i++)
        if (book->stacks.all[i].b == DEFINED)
            kymo_stack_release(book->stacks.all[i].id);
    kymo__free(book->root);
    kymo__free(book->waiting);
    kymo__pairs_fini(&book->roots);
    kymo__free(book->scratch);
    kymo__pairs_fini(&book->modules);
    kymo__pairs_fini(&book->frames);
    kymo__nodetable_fini(&book->nodes);
    kymo__pairs_fini(&book->functions);
    kymo__pairs_fini(&book->stacks);
    kymo__map_fini(&book->numbers);
}

/* Write a definition of TYPE with NUMBERS, whose first is its id, and remember it for A and B in
   PAIRS. Returns the id, or negative errno with nothing remembered. */
static int64_t define_numbers(struct kymo_stackbook *book, struct kymo_pairs *pairs, uint64_t a,
                              uint64_t b, int type, const uint64_t *numbers)
{
    int rc = kymo__pairs_reserve(pairs);
    if (rc == 0)
        rc = kymo__names_define(book->names, type, numbers);
    if (rc < 0)
        return rc;
    kymo__pairs_add(pairs, a, b, (uint32_t)numbers[0]);
    return (int64_t)numbers[0];
}

/* ---- frames ---- */

/* Define module NUMBER if needed; *BASE is what to subtract from its addresses. */
static int64_t module_of(struct kymo_stackbook *book, uint32_t number, uint64_t *base)
{
    struct kymo_module module = {.size = sizeof(module)};
    *base = 0;
    if (!number || kymo_module_get(number, &module) < 0)
        return 0;
    *base = module.base;
    if (kymo__pairs_find(&book->modules, number, 0))
        return number;
    char hex[2 * sizeof(module.build_id) + 1] = "";
    for (uint32_t i = 0; i < module.build_id_bytes && i < sizeof(module.build_id); i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", module.build_id[i]);
    uint32_t path = kymo__names_string(book->names, module.path, NULL);
    uint32_t build_id = hex[0] ? kymo__names_string(book->names, hex, NULL) : 0;
    if (!path || (hex[0] && !build_id))
        return -ENOSPC;
    return define_numbers(
        book, &book->modules, number, 0, KYMO__DEF_MODULE,
        (const uint64_t[]){number, module.base, module.low, module.high, path, build_id});
}

/* The frame with MANAGED, A and B as numbers two to four of its definition. */
static int64_t frame_as(struct kymo_stackbook *book, uint64_t managed, uint64_t a, uint64_t b)
{
    uint32_t known = kymo__pairs_find(&book->frames, managed << 63 | a, b);
    if (known)
        return known;
    int64_t id = define_numbers(book, &book->frames, managed << 63 | a, b, KYMO__DEF_FRAME,
                                (const uint64_t[]){book->last_frame + 1, managed, a, b});
    if (id > 0)
        book->last_frame++;
    return id;
}

/* The key of the function that NAMED describes. */
static int64_t key_of(struct kymo_stackbook *book, const struct kymo_named *named)
{
    const char *file = named->file && named->file[0] ? named->file : NULL;
    uint64_t name_id = kymo__names_string(book->names, named->name, NULL);
    uint64_t file_id = file ? kymo__names_string(book->names, file, NULL) : 0;
    if (!name_id || (file && !file_id) || kymo__pairs_reserve(&book->functions) < 0)
        return -ENOSPC;
    uint32_t key = kymo__pairs_find(&book->functions, name_id << 32 | file_id, named->first_line);
    if (key)
        return key;
    const struct kymo_function function = {.size = sizeof(function),
                                           .name = named->name,
                                           .file = file,
                                           .line = named->first_line,
                                           .kind = KYMO_CLASS_FUNCTION};
    key = kymo__names_function(book->names, &function);
    if (!key)
        return -ENOSPC;
    kymo__pairs_add(&book->functions, name_id << 32 | file_id, named->first_line, key);
    return key;
}

/* How the function that NAMED describes relates to the root. */
static uint32_t kin_of(const struct kymo_stackbook *book,
                       const struct kymo_interpreter *interpreter, const struct kymo_named *named)
{
    if (named->file && book->root && strcmp(named->file, book->root) == 0)
        return KYMO__BOOK_ROOT;
    int starts =
        interpreter && interpreter->starts_program ? interpreter->starts_program(named) : 0;
    if (starts == 2)
        return KYMO__BOOK_OURS;
    if (!named->file || !book->root)
        return KYMO__BOOK_OTHER;
    const char *slash = strrchr(book->root, '/');
    bool beside = slash && strncmp(named->file, book->root, (size_t)(slash + 1 - book->root)) == 0;
    return beside || starts ? KYMO__BOOK_BESIDE : KYMO__BOOK_OTHER;
}

enum kymo_book_kin kymo__book_kin(const struct kymo_stackbook *book, uint32_t frame)
{
    return book->roots.count ? kymo__pairs_find(&book->roots, frame, 0) : KYMO__BOOK_OTHER;
}

static struct kymo_book_recent *recent_at(struct kymo_stackbook *book, int64_t distance)
{
    return &book->recent[distance % KYMO__BOOK_RECENT];
}

/* The frame of the interpreter's NUMBER if it is known, else 0; see kymo__book_frame. */
static uint32_t known_number(struct kymo_stackbook *book, uint64_t number, int64_t distance)
{
    struct kymo_book_recent *recent = recent_at(book, distance);
    if (recent->frame && recent->number == number)
        return recent->frame;
    uint32_t known = kymo__map_find(&book->numbers, number);
    if (known) {
        recent->number = number;
        recent->frame = known;
    }
    return known;
}

/* The frame of the interpreter's NUMBER; -EAGAIN when its name is not known yet, unless this is
   the END. */
static int64_t managed_frame(struct kymo_stackbook *book, uint64_t number, int64_t distance,
                             bool end)
{
    uint32_t known = known_number(book, number, distance);
    if (known)
        return known;
    const struct kymo_interpreter *interpreter = kymo__interpreter();
    struct kymo_named named = {.size = sizeof(named)};
    int rc = interpreter ? interpreter->name_of(number, &named) : -ENOENT;
    if (rc == -EAGAIN && !end)
        return rc;
    if (rc < 0 || !named.name)
        named = (struct kymo_named){.size = sizeof(named), .name = unknown};
    int64_t key = key_of(book, &named);
    int64_t id = key > 0 ? frame_as(book, 1, (uint64_t)key, named.line) : key;
    uint32_t kin = kin_of(book, interpreter, &named);
    if (id > 0 && kin && !kymo__pairs_find(&book->roots, (uint64_t)id, 0) &&
        kymo__pairs_reserve(&book->roots) == 0)
        kymo__pairs_add(&book->roots, (uint64_t)id, 0, kin);
    if (id > 0 && rc == 0)
        kymo__map_set(&book->numbers, number, (uint32_t)id); /* without memory: found again */
    return id;
}

int64_t kymo__book_frame(struct kymo_stackbook *book, const struct kymo_frame *frame,
                         int64_t distance, bool end)
{
    if (frame->managed)
        return managed_frame(book, frame->address, distance, end);
    uint64_t base;
    uint32_t number = frame->module;
    if (!number) {
        /* It may have been loaded just before the capture; by now it is known. */
        struct kymo_loaded loaded;
        number = kymo__module_at(frame->address - 1, &loaded) ? loaded.number : 0;
    }
    int64_t module = module_of(book, number, &base);
    return module < 0 ? module : frame_as(book, 0, (uint64_t)module, frame->address - base);
}

/* ---- stacks ---- */

int64_t kymo__book_node(struct kymo_stackbook *book, uint32_t parent, uint32_t frame)
{
    uint32_t known = kymo__nodetable_find(&book->nodes, parent, frame);
    if (known)
        return known;
    int rc = kymo__nodetable_reserve(&book->nodes);
    if (rc == 0)
        rc = kymo__nodechain_add(&book->chain, book->names, (uint32_t)book->nodes.count + 1, parent,
                                 frame);
    return rc < 0 ? rc : (int64_t)kymo__nodetable_add(&book->nodes, parent, frame);
}

static int64_t node_of(struct kymo_stackbook *book, uint32_t parent, uint32_t frame,
                       int64_t distance)
{
    struct kymo_book_recent *recent = recent_at(book, distance);
    if (recent->node && recent->parent == parent && recent->of == frame)
        return recent->node;
    int64_t id = kymo__book_node(book, parent, frame);
    if (id > 0) {
        recent->parent = parent;
        recent->of = frame;
        recent->node = (uint32_t)id;
    }
    return id;
}

int kymo__book_stack(struct kymo_stackbook *book, kymo_stack stack, uint32_t node)
{
    int rc = kymo__nodechain_flush(&book->chain, book->names);
    return rc < 0
               ? rc
               : kymo__names_define(book->names, KYMO__DEF_STACK, (const uint64_t[]){stack, node});
}

/* Put the frames of STACK into the scratch memory. Returns how many, or -ENOMEM. */
static int64_t frames_of(struct kymo_stackbook *book, kymo_stack stack)
{
    size_t count = kymo_stack_frames(stack, book->scratch, book->scratch_capacity);
    if (count > book->scratch_capacity) {
        struct kymo_frame *more = kymo__realloc(book->scratch, count * sizeof(*more));
        if (!more)
            return -ENOMEM;
        book->scratch = more;
        book->scratch_capacity = count;
        kymo_stack_frames(stack, more, count);
    }
    return (int64_t)count;
}

/* Where the frames that are not shown begin in the scratch memory: at the innermost frame of a
   function of the root's file; or, when the root has not been called yet or has returned, at the
   outermost frames that are beside it. Their addresses are already frame ids. *LEFT: are any frames
   left that are shown? */
static int64_t root_of(const struct kymo_stackbook *book, int64_t count, bool *left)
{
    int64_t beside = count;
    bool outermost = true, native = false, other = false;
    for (int64_t i = count; book->roots.count && i-- > 0;) {
        if (!book->scratch[i].managed) {
            native = true;
            continue;
        }
        enum kymo_book_kin kin = kymo__book_kin(book, (uint32_t)book->scratch[i].address);
        outermost = outermost && kin;
        other |= kin != KYMO__BOOK_OURS;
        if (kin == KYMO__BOOK_ROOT || outermost) {
            beside = i;
            other = false;
        }
    }
    *left = native || other || !book->roots.count;
    return beside;
}

/* Is the frame at I of the scratch memory shown, if the frames from ROOT on run the program? */
static bool is_shown(const struct kymo_stackbook *book, int64_t i, int64_t root)
{
    return !book->scratch[i].managed ||
           (i < root &&
            kymo__book_kin(book, (uint32_t)book->scratch[i].address) != KYMO__BOOK_OURS);
}

/* Define STACK. 0, or negative errno when it must be tried again. */
static int define_stack(struct kymo_stackbook *book, kymo_stack stack, bool end)
{
    int64_t count = frames_of(book, stack);
    if (count < 0)
        return (int)count;
    /* All frames first: a frame without a name must not leave half of the nodes defined. */
    for (int64_t i = count; i-- > 0;) {
        int64_t frame = kymo__book_frame(book, &book->scratch[i], count - 1 - i, end);
        if (frame < 0)
            return (int)frame;
        book->scratch[i].address = (uint64_t)frame;
    }
    bool left;
    int64_t node = 0, root = root_of(book, count, &left);
    for (int64_t i = count; i-- > 0;) {
        if (left && !is_shown(book, i, root))
            continue; /* a stack that would be empty is shown as it is */
        node = node_of(book, (uint32_t)node, (uint32_t)book->scratch[i].address, count - 1 - i);
        if (node < 0)
            return (int)node;
    }
    int64_t rc = kymo__nodechain_flush(&book->chain, book->names);
    if (rc == 0)
        rc = define_numbers(book, &book->stacks, stack, DEFINED, KYMO__DEF_STACK,
                            (const uint64_t[]){stack, (uint64_t)node});
    return rc < 0 ? (int)rc : 0;
}

/* Let STACK wait. False when memory is short. */
static bool put_off(struct kymo_stackbook *book, kymo_stack stack)
{
    if (kymo__pairs_reserve(&book->stacks) < 0 ||
        kymo__array_grow(&book->waiting, &book->waiting_capacity, book->waiting_count,
                         sizeof(*book->waiting)) < 0)
        return false;
    book->waiting[book->waiting_count++] = stack;
    kymo__pairs_add(&book->stacks, stack, WAITING, stack);
    return true;
}

bool kymo__stackbook_add(struct kymo_stackbook *book, kymo_stack stack)
{
    if (kymo__pairs_find(&book->stacks, stack, DEFINED) ||
        kymo__pairs_find(&book->stacks, stack, WAITING)) {
        kymo_stack_release(stack); /* it is already held */
        return true;
    }
    if (define_stack(book, stack, false) == 0 || put_off(book, stack))
        return true;
    book->given_up++;
    kymo_stack_release(stack);
    return false;
}

void kymo__stackbook_retry(struct kymo_stackbook *book, bool end)
{
    size_t kept = 0;
    for (size_t i = 0; i < book->waiting_count; i++)
        if (define_stack(book, book->waiting[i], end) < 0)
            book->waiting[kept++] = book->waiting[i];
    book->waiting_count = kept;
}
