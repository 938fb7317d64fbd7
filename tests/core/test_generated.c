/* Code that a process made at run time has the names and lines that the process left for perf. */
#include "symbolized.h"

static void write_map(const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    write_bytes(path, text, strlen(text));
}

static void remove_maps(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    unlink(path);
    snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
    unlink(path);
}

static void a_perf_map_names_generated_code(void)
{
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol symbol;
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x1010, &symbol), 0);
    write_map("1000 20 py::f:/a b/c.py\nnonsense\n0x2000 10 g\n2008 4 g again\n3000 0 empty\n\n40");

    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x101f, &symbol), 1);
    CHECK_STR(symbol.name, "py::f:/a b/c.py");
    CHECK_STR(symbol.file, "");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x1020, &symbol), 0);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x2009, &symbol), 1);
    CHECK_STR(symbol.name, "g again");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x200c, &symbol), 1);
    CHECK_STR(symbol.name, "g");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x3000, &symbol), 0);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid() + 1, 0x1000, &symbol), 0);

    /* The process has gone on. */
    write_map("1000 20 py::f:/a b/c.py\n5000 10 later\n");
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x5000, &symbol), 1);
    CHECK_STR(symbol.name, "later");
    remove_maps();
    kymo_symbolizer_free(symbolizer);
}

/* Numbers little-endian, as all machines we run on have them. */
static void put(FILE *f, uint64_t value, unsigned size)
{
    fwrite(&value, 1, size, f);
}

static void record_head(FILE *f, uint32_t kind, size_t body)
{
    put(f, kind, 4);
    put(f, 16 + body, 4);
    put(f, 99, 8);
}

static void a_jitdump_names_generated_code_and_its_lines(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
    FILE *f = fopen(path, "wb");
    put(f, 0x4A695444, 4);
    put(f, 1, 4);
    put(f, 40, 4);
    put(f, 62, 4);
    put(f, 0, 4);
    put(f, (uint64_t)getpid(), 4);
    put(f, 0, 8);
    put(f, 0, 8);
    record_head(f, 2, 16 + 16 + 5 + 16 + 2);
    put(f, 0x7000, 8);
    put(f, 2, 8);
    put(f, 0x7000, 8);
    put(f, 11, 4);
    put(f, 0, 4);
    fwrite("x.js", 1, 5, f);
    put(f, 0x7008, 8);
    put(f, 12, 4);
    put(f, 0, 4);
    fwrite("\xff", 1, 2, f);
    record_head(f, 0, 40 + 6 + 16);
    put(f, 1, 4);
    put(f, 1, 4);
    put(f, 0x7000, 8);
    put(f, 0x7000, 8);
    put(f, 16, 8);
    put(f, 1, 8);
    fwrite("loops\0................", 1, 6 + 16, f);
    record_head(f, 1, 48);
    put(f, 1, 4);
    put(f, 1, 4);
    put(f, 0, 8);
    put(f, 0x7000, 8);
    put(f, 0x9000, 8);
    put(f, 16, 8);
    put(f, 1, 8);
    put(f, 0, 4); /* cut short */
    fclose(f);
    struct kymo_symbolizer *symbolizer = new_symbolizer(KYMO_SYMBOL_FULL);
    struct kymo_symbol symbol;

    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x700f, &symbol), 1);
    CHECK_STR(symbol.name, "loops");
    CHECK_STR(symbol.file, "x.js");
    CHECK_EQ(symbol.line, 12);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x7007, &symbol), 1);
    CHECK_EQ(symbol.line, 11);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x9000, &symbol), 1);
    CHECK_STR(symbol.name, "loops");
    CHECK_EQ(symbol.line, 0);
    CHECK_EQ(kymo_symbolize_generated(symbolizer, getpid(), 0x7010, &symbol), 0);
    remove_maps();
    kymo_symbolizer_free(symbolizer);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_perf_map_names_generated_code),
    CHECK_CASE(a_jitdump_names_generated_code_and_its_lines),
};

CHECK_MAIN(cases)
