/* line_program.c — run a line program; see lines.h.

   A program produces rows, each an address and a line, in sequences of increasing addresses; a row
   is valid up to the next one of its sequence. The requested addresses are sorted too, so both are
   scanned in parallel and only the start of a sequence is searched for. */
#include "dwarf_codes.h"
#include "lines.h"

struct row {
    uint64_t address;
    uint64_t file, line;
};

struct machine {
    struct row now;     /* its registers */
    uint64_t operation; /* within a VLIW instruction */
    struct row last;    /* the last row of this sequence */
    bool running;       /* there is one */
    bool left_out;      /* for code that the linker dropped */
    size_t next;        /* next requested address */
};

static void reset_machine(struct machine *m)
{
    *m = (struct machine){.now = {.file = 1, .line = 1}};
}

static size_t first_from(const struct kymo_ask *asks, size_t count, uint64_t address)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (asks[middle].address < address)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* A row: the previous one is valid up to here. */
static void row(struct machine *m, struct kymo_ask *asks, size_t count)
{
    if (!m->running || m->now.address < m->last.address) {
        m->running = true;
        m->left_out = m->now.address == 0;
        m->next = first_from(asks, count, m->now.address);
    } else {
        for (; m->next < count && asks[m->next].address < m->now.address; m->next++) {
            struct kymo_ask *ask = &asks[m->next];
            if (ask->has_line || m->left_out)
                continue;
            ask->has_line = true;
            ask->file = m->last.file > UINT32_MAX ? UINT32_MAX : (uint32_t)m->last.file;
            ask->line = m->last.line > UINT32_MAX ? 0 : (uint32_t)m->last.line;
        }
    }
    m->last = m->now;
}

static void advance_machine(const struct kymo_lines *lines, struct machine *m, uint64_t operations)
{
    if (lines->most <= 1) {
        m->now.address += operations * lines->least;
        return;
    }
    uint64_t sum = m->operation + operations;
    m->now.address += sum / lines->most * lines->least;
    m->operation = sum % lines->most;
}

static void extended(const struct kymo_lines *lines, struct machine *m, struct kymo_bytes *bytes,
                     struct kymo_ask *asks, size_t count)
{
    uint64_t len = kymo__bytes_uleb(bytes);
    struct kymo_bytes body = *bytes;
    kymo__bytes_skip(bytes, len);
    if (bytes->bad || len == 0)
        return;
    body.end = bytes->at;
    unsigned code = kymo__bytes_u8(&body);
    size_t left = kymo__bytes_left(&body);
    if (code == DW_LNE_end_sequence) {
        row(m, asks, count);
        reset_machine(m);
    } else if (code == DW_LNE_set_address && left <= 8) {
        m->now.address = kymo__bytes_number(&body, (unsigned)left);
        m->operation = 0;
    }
    (void)lines;
}

static void standard(const struct kymo_lines *lines, struct machine *m, struct kymo_bytes *bytes,
                     unsigned code, struct kymo_ask *asks, size_t count)
{
    switch (code) {
    case DW_LNS_copy:
        row(m, asks, count);
        break;
    case DW_LNS_advance_pc:
        advance_machine(lines, m, kymo__bytes_uleb(bytes));
        break;
    case DW_LNS_advance_line:
        m->now.line += (uint64_t)kymo__bytes_sleb(bytes);
        break;
    case DW_LNS_set_file:
        m->now.file = kymo__bytes_uleb(bytes);
        break;
    case DW_LNS_const_add_pc:
        advance_machine(lines, m, (255u - lines->opcode_base) / lines->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->now.address += kymo__bytes_u16(bytes);
        m->operation = 0;
        break;
    default: /* says nothing of lines, or is not known: its operands are */
        for (unsigned i = lines->lengths[code - 1]; i > 0; i--)
            kymo__bytes_uleb(bytes);
    }
}

void kymo__lines_run(const struct kymo_lines *lines, struct kymo_ask *asks, size_t count)
{
    struct kymo_bytes bytes = lines->program;
    struct machine m;
    reset_machine(&m);
    while (bytes.at < bytes.end && !bytes.bad) {
        unsigned code = *bytes.at++;
        if (code >= lines->opcode_base) {
            unsigned special = code - lines->opcode_base;
            advance_machine(lines, &m, special / lines->line_range);
            m.now.line += (uint64_t)(lines->line_base + (int)(special % lines->line_range));
            row(&m, asks, count);
        } else if (code == 0) {
            extended(lines, &m, &bytes, asks, count);
        } else {
            standard(lines, &m, &bytes, code, asks, count);
        }
    }
}
