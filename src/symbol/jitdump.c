/* jitdump.c — /tmp/jit-PID.dump, the format of the kernel's
   tools/perf/Documentation/jitdump-specification.txt.

   A header of 40 bytes or more, whose length is its third number; then records, each with its
   kind, its length and a time before its body. Lines of a function come before the function. */
#include <errno.h>

#include "alloc.h"
#include "generated.h"

#define MAGIC 0x4A695444u

enum record { CODE_LOAD = 0, CODE_MOVE = 1, CODE_LINES = 2 };

/* The lines read last; they belong to the next function. */
struct pending {
    size_t first, count;
    uint64_t address;
};

static int read_lines(struct kymo_codes *codes, struct kymo_texts *texts, struct kymo_bytes body,
                      struct pending *pending)
{
    *pending = (struct pending){.first = codes->line_count};
    pending->address = kymo__bytes_u64(&body);
    uint64_t count = kymo__bytes_u64(&body);
    const char *file = NULL;
    for (uint64_t i = 0; i < count && !body.bad; i++) {
        uint64_t address = kymo__bytes_u64(&body);
        uint32_t line = kymo__bytes_u32(&body);
        kymo__bytes_u32(&body);
        const char *name = kymo__bytes_text(&body);
        if (body.bad)
            break;
        /* A byte 255 means the same file as before. */
        if (strcmp(name, "\xff") != 0)
            file = kymo__texts_keep(texts, name, strlen(name));
        else if (!file)
            break;
        if (!file || kymo__array_grow(&codes->lines, &codes->line_capacity, codes->line_count,
                                      sizeof(*codes->lines)) < 0)
            return -ENOMEM;
        codes->lines[codes->line_count++] =
            (struct kymo_code_line){.address = address, .file = file, .line = line};
        pending->count++;
    }
    return 0;
}

static int read_load(struct kymo_codes *codes, struct kymo_texts *texts, struct kymo_bytes body,
                     const struct pending *pending)
{
    kymo__bytes_skip(&body, 16); /* process, thread, and an address that is not the code's */
    uint64_t begin = kymo__bytes_u64(&body), size = kymo__bytes_u64(&body);
    kymo__bytes_u64(&body);
    const char *name = kymo__bytes_text(&body);
    if (body.bad || size == 0 || size > UINT64_MAX - begin)
        return 0;
    struct kymo_code code = {.begin = begin, .end = begin + size};
    code.name = kymo__texts_name(texts, name);
    if (pending->count && pending->address == begin) {
        code.first_line = pending->first;
        code.line_count = pending->count;
    }
    return code.name ? kymo__codes_add(codes, &code) : -ENOMEM;
}

/* The code was moved: its name moves with it. Lines do not, because their addresses are the old
   ones. */
static int read_move(struct kymo_codes *codes, struct kymo_bytes body)
{
    kymo__bytes_skip(&body, 16);
    uint64_t from = kymo__bytes_u64(&body), to = kymo__bytes_u64(&body);
    uint64_t size = kymo__bytes_u64(&body);
    if (body.bad || size == 0 || size > UINT64_MAX - to)
        return 0;
    /* Moves are rare, and usually of recently generated code. */
    size_t looked_at = 0;
    for (size_t i = codes->count; i-- > 0 && looked_at++ < 65536;)
        if (codes->list[i].begin == from) {
            struct kymo_code code = {.begin = to, .end = to + size, .name = codes->list[i].name};
            return kymo__codes_add(codes, &code);
        }
    return 0;
}

int kymo__jitdump_read(struct kymo_codes *codes, struct kymo_texts *texts, struct kymo_view file)
{
    struct kymo_bytes bytes = kymo__bytes(file, 0);
    struct pending pending = {0};
    uint32_t magic = kymo__bytes_u32(&bytes), version = kymo__bytes_u32(&bytes);
    uint32_t header = kymo__bytes_u32(&bytes);
    if (bytes.bad || magic != MAGIC || version != 1 || header < 40)
        return 0;
    bytes = kymo__bytes(file, header);
    while (kymo__bytes_left(&bytes) >= 16) {
        struct kymo_bytes body = bytes;
        uint32_t kind = kymo__bytes_u32(&body), size = kymo__bytes_u32(&body);
        kymo__bytes_u64(&body);
        if (size < 16 || size > kymo__bytes_left(&bytes))
            return 0; /* the last record is incomplete */
        body.end = bytes.at + size;
        kymo__bytes_skip(&bytes, size);
        int rc = 0;
        if (kind == CODE_LINES)
            rc = read_lines(codes, texts, body, &pending);
        else if (kind == CODE_MOVE)
            rc = read_move(codes, body);
        else if (kind == CODE_LOAD)
            rc = read_load(codes, texts, body, &pending);
        if (kind == CODE_LOAD)
            pending = (struct pending){0};
        if (rc < 0)
            return rc;
    }
    return 0;
}
