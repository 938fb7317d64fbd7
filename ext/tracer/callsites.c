/* callsites.c — see callsites.h. */
#include "callsites.h"

#include <kymo/mark.h>
#include <kymo/payload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "keys.h"
#include "linetable.h"
#include "tracer.h"

#include KYMO_STACK_HEADER

static uint32_t from_key, line_key;

void kymo__callsites_begin(void)
{
    from_key = kymo__name_key("called from", KYMO_CLASS_NAME);
    line_key = kymo__name_key("line", KYMO_CLASS_NAME);
}

/* ---- entries: `key` is that of the text, or KYMO_LEFT_OUT if there is no line; `slices` is the
   line. */

enum { UNIT_BITS = 19, ALIGNED_BITS = 4 };

/* What stands for instruction UNIT of CODE in the table of addresses; NULL if nothing can. The top
   bit is set, so that it is no address of an object. */
static const void *entry_address(const PyCodeObject *code, int64_t unit)
{
    uint64_t address = (uint64_t)(uintptr_t)code;
    if (unit < 0 || unit >> UNIT_BITS || address & ((1u << ALIGNED_BITS) - 1) ||
        address >> (63 - UNIT_BITS + ALIGNED_BITS))
        return NULL;
    uint64_t word = address << (UNIT_BITS - ALIGNED_BITS) | (uint64_t)unit | UINT64_C(1) << 63;
    return (const void *)(uintptr_t)word;
}

static uint32_t line_at(const PyCodeObject *code, int64_t unit)
{
    const PyObject *table = code->co_linetable;
    uint64_t cursor = 0;
    return kymo__line_of((const uint8_t *)PyBytes_AS_STRING(table), (size_t)PyBytes_GET_SIZE(table),
                         (uint32_t)code->co_firstlineno, (uint32_t)unit, &cursor);
}

/* The key of "file:line"; 0 if there is no room. */
static uint32_t text_key(const PyCodeObject *code, uint32_t line)
{
    PyObject *type, *value, *trace, *owner = NULL;
    PyErr_Fetch(&type, &value, &trace);
    const char *file = kymo__text_utf8(code->co_filename, &owner);
    size_t room = file ? strlen(file) + 16 : 0;
    char *text = file ? malloc(room) : NULL;
    uint32_t key = 0;
    if (text) {
        snprintf(text, room, "%s:%u", file, line);
        const char *kept = kymo_intern(text);
        key = kept != text ? kymo_name_key(kept) : 0;
    }
    free(text);
    PyErr_Clear();
    Py_XDECREF(owner);
    PyErr_Restore(type, value, trace);
    return key;
}

/* The entry of the instruction AT, which exists. */
static struct function find_entry(struct code_place at)
{
    const PyCodeObject *code = (const PyCodeObject *)at.code;
    const void *address = entry_address(code, at.unit);
    const struct function *known = address ? kymo__function_find(address) : NULL;
    if (__builtin_expect(known != NULL, 1))
        return *known;
    uint32_t line = line_at(code, at.unit);
    struct function made = {.key = line ? text_key(code, line) : KYMO_LEFT_OUT, .slices = line};
    if (address && made.key)
        (void)kymo__function_insert(address, made.key, made.slices);
    return made;
}

void kymo__callsites_forget(const PyCodeObject *code)
{
    for (int64_t unit = 0; unit < KYMO_CODE_UNITS(code); unit++) {
        const void *address = entry_address(code, unit);
        if (address && kymo__function_find(address))
            kymo__function_forget(address);
    }
}

/* ---- lines of calls */

static uint32_t from_line(struct code_place caller)
{
    uint32_t key = find_entry(caller).key;
    return key == KYMO_LEFT_OUT ? 0 : key;
}

struct call_lines kymo__lines_of_c_call(struct code_place caller)
{
    return (struct call_lines){.from = from_line(caller), .line = -1};
}

struct call_lines kymo__lines_of_frame(struct code_place own, bool first, struct code_place caller)
{
    const PyCodeObject *code = (const PyCodeObject *)own.code;
    const uint32_t first_line = (uint32_t)code->co_firstlineno;
    struct call_lines lines = {.line = -1};
    if (!first) {
        struct function entry = find_entry(own);
        lines.line = entry.slices == first_line ? -1 : (int64_t)entry.slices;
    }
    if (caller.code)
        lines.from = from_line(caller);
    else
        lines.from = first ? text_key(code, first_line) : from_line(own);
    return lines;
}

/* The instruction that FRAME, or the first further out that runs a function, is at. */
static struct code_place place_of(const kymo_py_frame *frame)
{
    for (; frame; frame = kymo__frame_caller(frame)) {
        struct kymo_managed_frame here = {.code = kymo__frame_code(frame),
                                          .place = kymo__frame_place(frame)};
        if (!here.code)
            continue;
        const PyCodeObject *code = kymo__stack_code(&here);
        int64_t unit = kymo__stack_unit(&here, code);
        if (unit >= 0)
            return (struct code_place){(PyObject *)(uintptr_t)code, unit};
    }
    return (struct code_place){0};
}

struct call_lines kymo__lines_of_call(struct code_place own, bool first, const void *caller)
{
    return kymo__lines_of_frame(own, first, place_of(caller));
}

/* ---- records */

struct kymo_record *kymo__lines_store(struct kymo_record *at, uint64_t ticks,
                                      const struct call_lines *lines)
{
    if (lines->from) {
        kymo_lane_store(at, ticks, kymo_word(KYMO_ARG_TEXT, 0, from_key));
        kymo_lane_store(at + 1, lines->from, KYMO_VALUE_WORD);
        at += 2;
    }
    if (lines->line >= 0) {
        kymo_lane_store(at, ticks, kymo_word(KYMO_ARG, 0, line_key));
        kymo_lane_store(at + 1, (uint64_t)lines->line, KYMO_VALUE_WORD);
        at += 2;
    }
    return at;
}

__thread uint64_t kymo__lines_entered;

void kymo__trace_enter_lines(unsigned detail, uint32_t key, uint64_t id,
                             const struct call_lines *lines, uint64_t ticks)
{
    if (__builtin_expect(kymo__open_calls != NULL, 0))
        kymo__open_calls_push(kymo__open_calls, key, id);
    kymo__lines_entered++;
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2 + KYMO_LINES_MOST);
    if (!at)
        return;
    ticks = ticks ? ticks : kymo_ticks();
    if (id) {
        kymo__store_slice(at, ticks, detail, key, id);
        at++;
    } else {
        kymo_lane_store(at, ticks, kymo_word(KYMO_ENTER, detail, key));
    }
    kymo_lane_commit(lane, kymo__lines_store(at + 1, ticks, lines));
}
