/* rows.c — the library's plain structs as struct sequences: tuples with named fields. Each row is
   filled in the order in which its fields are listed. */
#include "reading.h"

/* A row being filled. */
struct row {
    PyObject *object; /* owned; NULL when it could not be made */
    Py_ssize_t next;
    bool failed;
};

static struct row begin_row(PyTypeObject *type)
{
    PyObject *object = PyStructSequence_New(type);
    return (struct row){.object = object, .failed = !object};
}

/* Put VALUE, a new reference or NULL with an exception, into the next field. */
static void put_field(struct row *row, PyObject *value)
{
    if (row->failed || !value) {
        Py_XDECREF(value);
        row->failed = true;
        return;
    }
    PyStructSequence_SetItem(row->object, row->next++, value);
}

static void put_signed(struct row *row, int64_t value)
{
    put_field(row, PyLong_FromLongLong(value));
}

static void put_unsigned(struct row *row, uint64_t value)
{
    put_field(row, PyLong_FromUnsignedLongLong(value));
}

/* WORDS[VALUE], or "unknown" for a value from a newer kymograph. */
static void put_word(struct row *row, const char *const *words, size_t count, int value)
{
    bool known = value >= 0 && (size_t)value < count && words[value];
    put_field(row, PyUnicode_FromString(known ? words[value] : "unknown"));
}

static PyObject *finish_row(struct row *row)
{
    if (row->failed)
        Py_CLEAR(row->object);
    return row->object;
}

/* ---- Info */

static const char *const clocks[] = {
    [KYMO_CLOCK_TSC] = "tsc",
    [KYMO_CLOCK_CNTVCT] = "cntvct",
    [KYMO_CLOCK_MONOTONIC] = "monotonic",
};

static PyStructSequence_Field info_fields[] = {
    {"version_major", "of the file format"},
    {"version_minor", "of the file format"},
    {"ending", "\"clean\", \"running\", \"killed\" or \"failed\""},
    {"error", "errno of the recorder's first failed write, or 0"},
    {"clock", "\"tsc\", \"cntvct\" or \"monotonic\""},
    {"ticks_per_second", "of that clock"},
    {"snapshots", "clock readings in the capture"},
    {"pid", "of the recorded process"},
    {"start", "monotonic nanoseconds of the first record"},
    {"end", "monotonic nanoseconds of the last record"},
    {"wall_start", "nanoseconds since 1970 at start"},
    {"file_bytes", "of the capture file"},
    {"live_bytes", "of the live file beside it, 0 when there is none"},
    {"threads", "that recorded"},
    {"records", "in the file and the live file together"},
    {"recovered_records", "of those, only in the live file"},
    {"gaps", "times at which records were given up"},
    {"lost_records", "records given up in those gaps"},
    {"damaged_blocks", "that cannot be read"},
    {"damaged_bytes", "of the file that belong to no readable block"},
    {"indexed", "False when the index had to be rebuilt by scanning"},
    {"expired_records", "older than a flight recorder keeps"},
    {"unknown_parts", "that only a newer version can read"},
    {"samples", "of the records"},
    {"stacks", "different ones"},
    {0},
};

PyObject *kymo__row_info(struct core *core, const struct kymo_info *info)
{
    struct row row = begin_row(core->info_type);
    put_signed(&row, info->version_major);
    put_signed(&row, info->version_minor);
    put_field(&row, PyUnicode_FromString(kymo_ending_word((unsigned)info->ending)));
    put_signed(&row, -(int64_t)info->error);
    put_word(&row, clocks, COUNT_OF(clocks), info->clock);
    put_field(&row, PyFloat_FromDouble(info->ticks_per_second));
    put_unsigned(&row, info->snapshots);
    put_signed(&row, info->pid);
    put_signed(&row, info->start);
    put_signed(&row, info->end);
    put_signed(&row, info->wall_start);
    put_unsigned(&row, info->file_bytes);
    put_unsigned(&row, info->live_bytes);
    put_unsigned(&row, info->threads);
    put_unsigned(&row, info->records);
    put_unsigned(&row, info->recovered_records);
    put_unsigned(&row, info->gaps);
    put_unsigned(&row, info->lost_records);
    put_unsigned(&row, info->damaged_blocks);
    put_unsigned(&row, info->damaged_bytes);
    put_field(&row, PyBool_FromLong(info->indexed));
    put_unsigned(&row, info->expired_records);
    put_unsigned(&row, info->unknown_parts);
    put_unsigned(&row, info->samples);
    put_unsigned(&row, info->stacks);
    return finish_row(&row);
}

/* ---- Thread */

static PyStructSequence_Field thread_fields[] = {
    {"index", "in order of appearance; what events(thread=...) takes"},
    {"tid", "the system's"},
    {"name", "\"\" when it has none"},
    {"records", "read or readable"},
    {"lost", "given up"},
    {"first", "time of its first record, 0 when it has none"},
    {"last", "time of its last record, 0 when it has none"},
    {"pid", "of its process; captures that were merged have several"},
    {0},
};

PyObject *kymo__row_thread(struct core *core, const struct kymo_thread_info *thread)
{
    struct row row = begin_row(core->thread_type);
    put_unsigned(&row, thread->index);
    put_signed(&row, thread->tid);
    put_field(&row, kymo__text_from(thread->name));
    put_unsigned(&row, thread->records);
    put_unsigned(&row, thread->lost);
    put_signed(&row, thread->first);
    put_signed(&row, thread->last);
    put_signed(&row, thread->pid);
    return finish_row(&row);
}

/* ---- Snapshot */

static PyStructSequence_Field snapshot_fields[] = {
    {"ticks", "of the recording clock"},
    {"monotonic", "nanoseconds of CLOCK_MONOTONIC"},
    {"wall", "nanoseconds since 1970"},
    {0},
};

PyObject *kymo__row_snapshot(struct core *core, uint64_t ticks, int64_t monotonic, int64_t wall)
{
    struct row row = begin_row(core->snapshot_type);
    put_unsigned(&row, ticks);
    put_signed(&row, monotonic);
    put_signed(&row, wall);
    return finish_row(&row);
}

/* ---- Stats */

static PyStructSequence_Field stats_fields[] = {
    {"written_bytes", "in the capture file"},
    {"written_records", "encoded and in the file"},
    {"dropped_records", "given up for want of memory or disk"},
    {"helped_chunks", "written by recording threads themselves"},
    {"threads", "that recorded anything"},
    {"budget_bytes", "of record memory at most"},
    {"pool_bytes", "of record memory in use so far"},
    {"error", "errno of the first failed write, or 0"},
    {"expired_records", "older than a flight recorder keeps"},
    {0},
};

PyObject *kymo__row_stats(struct core *core, const struct kymo_stats *stats)
{
    struct row row = begin_row(core->stats_type);
    put_unsigned(&row, stats->written_bytes);
    put_unsigned(&row, stats->written_records);
    put_unsigned(&row, stats->dropped_records);
    put_unsigned(&row, stats->helped_chunks);
    put_unsigned(&row, stats->threads);
    put_unsigned(&row, stats->budget_bytes);
    put_unsigned(&row, stats->pool_bytes);
    put_signed(&row, -(int64_t)stats->error);
    put_unsigned(&row, stats->expired_records);
    return finish_row(&row);
}

/* ---- Function */

static PyStructSequence_Field function_fields[] = {
    {"name", "qualified, or that of a span, counter, …"},
    {"file", "of a function in C its module; \"\" when there is none"},
    {"line", "the first, 0 when there is none"},
    {"kind", "\"name\", \"function\", \"native\", \"method\", \"type\", \"callable\" or \"gc\""},
    {0},
};

PyObject *kymo__row_function(struct core *core, const char *name, const char *file, uint32_t line,
                             uint32_t class)
{
    struct row row = begin_row(core->function_type);
    put_field(&row, kymo__text_from(name));
    put_field(&row, kymo__text_from(file));
    put_unsigned(&row, line);
    put_field(&row, PyUnicode_InternFromString(kymo_class_word(class)));
    return finish_row(&row);
}

/* ---- Frame */

static const char *const frame_kinds[] = {[KYMO_FRAME_UNKNOWN] = "unknown",
                                          [KYMO_FRAME_NATIVE] = "native",
                                          [KYMO_FRAME_MANAGED] = "python"};

static PyStructSequence_Field frame_fields[] = {
    {"name", "of the function; \"[libm.so.6]\" when only the file is known"},
    {"file", "of the source, \"\" when it is not known"},
    {"line", "the one that ran, None when it is not known"},
    {"kind", "\"python\", \"native\" or \"unknown\""},
    {"first_line", "of a function of Python, otherwise 0"},
    {"inlined", "True: a native function, inlined into the next one"},
    {"module", "native: path of the file that its code is from, or \"\""},
    {"build_id", "native: of that file, in hex, or \"\""},
    {"address", "native: where it returns to, in that file's terms; otherwise 0"},
    {0},
};

PyObject *kymo__row_frame(struct core *core, const struct kymo_named_frame *frame)
{
    struct row row = begin_row(core->frame_type);
    put_field(&row, kymo__text_from(frame->name));
    put_field(&row, kymo__text_from(frame->file));
    if (frame->line)
        put_unsigned(&row, frame->line);
    else
        put_field(&row, Py_NewRef(Py_None));
    put_word(&row, frame_kinds, COUNT_OF(frame_kinds), (int)frame->kind);
    put_unsigned(&row, frame->first_line);
    put_field(&row, PyBool_FromLong(frame->inlined));
    put_field(&row, kymo__text_from(frame->module));
    put_field(&row, kymo__text_from(frame->build_id));
    put_unsigned(&row, frame->address);
    return finish_row(&row);
}

/* ---- the types */

static PyTypeObject *add_type(PyObject *module, const char *name, const char *doc,
                              PyStructSequence_Field *fields)
{
    int count = 0;
    while (fields[count].name)
        count++;
    PyStructSequence_Desc description = {name, doc, fields, count};
    PyTypeObject *type = PyStructSequence_NewType(&description);
    if (type && PyModule_AddType(module, type) < 0)
        Py_CLEAR(type);
    return type;
}

int kymo__rows_init(PyObject *module)
{
    struct core *core = kymo__core_of_module(module);
    core->info_type =
        add_type(module, "kymograph.Info", "What a capture says of itself.", info_fields);
    core->thread_type = add_type(module, "kymograph.Thread", "A recorded thread.", thread_fields);
    core->snapshot_type = add_type(module, "kymograph.Snapshot",
                                   "The clocks, read at the same moment.", snapshot_fields);
    core->stats_type = add_type(module, "kymograph.Stats",
                                "What a running session has done so far.", stats_fields);
    core->function_type = add_type(module, "kymograph.Function",
                                   "What the names of a capture stand for.", function_fields);
    core->frame_type = add_type(module, "kymograph.Frame",
                                "A function on a stack that was sampled.", frame_fields);
    bool made = core->frame_type && core->info_type && core->thread_type && core->snapshot_type &&
                core->stats_type && core->function_type;
    return made ? 0 : -1;
}
