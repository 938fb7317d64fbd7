/* sampled.h — captures with samples, made by hand through the writer: definitions and records
   are what the test says, right or wrong. Times are nanoseconds since the capture's start. */
#ifndef KYMO_SAMPLED_H
#define KYMO_SAMPLED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "defs.h"
#include "varint.h"
#include "writer.h"

#define SAMPLED_ZERO UINT64_C(1000000000)         /* tick of time 0 */
#define SAMPLED_WALL INT64_C(1700000000000000000) /* of tick 0 */

static struct kymo_writer *sampled;
static uint32_t sampled_frames, sampled_nodes, sampled_modules;
static bool sampled_chained; /* the nodes of a stack are in one definition, as since 1.6 */

static inline void sampled_ok(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "# a capture could not be made: %s\n", kymo_strerror(rc));
        abort();
    }
}

static inline void sampled_define(int type, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                  uint64_t e, uint64_t f)
{
    kymo__writer_define(sampled, &(struct kymo_def){.type = type, .number = {a, b, c, d, e, f}});
}

static inline void sampled_meta(const char *key, const char *value)
{
    uint64_t name = kymo__writer_string(sampled, key), text = kymo__writer_string(sampled, value);
    sampled_define(KYMO__DEF_META, name, text, 0, 0, 0, 0);
}

static inline void sampled_begin(const char *path, const char *period)
{
    struct kymo_file_header header = {.pid = 4321,
                                      .clock = KYMO_CLOCK_MONOTONIC,
                                      .ticks_rate = 1000000000,
                                      .ticks = SAMPLED_ZERO,
                                      .monotonic = (int64_t)SAMPLED_ZERO,
                                      .wall = SAMPLED_WALL + (int64_t)SAMPLED_ZERO};
    sampled_frames = sampled_nodes = sampled_modules = 0;
    sampled_ok(kymo__writer_new(path, &header, &sampled));
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t tick = SAMPLED_ZERO + i * 1000000000;
        sampled_define(KYMO__DEF_CLOCK, tick, tick, kymo__zigzag(SAMPLED_WALL + (int64_t)tick), 0,
                       0, 0);
    }
    if (period) {
        sampled_meta("sample.period_ns", period);
        sampled_meta("sample.clock", "cpu");
        sampled_meta("interpreter.files", "python libpython");
        sampled_meta("interpreter.evaluator", "_PyEval_EvalFrameDefault");
        sampled_meta("interpreter.machinery", "_PyEval_ PyObject_Vectorcall");
        sampled_meta("interpreter.collector", "gc_collect_main");
    }
}

static inline void sampled_end(void)
{
    sampled_ok(kymo__writer_finish(sampled, true));
}

static inline void sampled_thread(uint32_t index, uint32_t tid, const char *name)
{
    sampled_define(KYMO__DEF_THREAD, index, tid, SAMPLED_ZERO, kymo__writer_string(sampled, name),
                   0, 0);
}

static inline uint32_t sampled_module(const char *path, const char *build_id, uint64_t base)
{
    uint64_t name = kymo__writer_string(sampled, path),
             id = *build_id ? kymo__writer_string(sampled, build_id) : 0;
    sampled_define(KYMO__DEF_MODULE, ++sampled_modules, base, base + 0x1000, base + 0x9000, name,
                   id);
    return sampled_modules;
}

static inline uint32_t sampled_native(uint32_t module, uint64_t address)
{
    sampled_define(KYMO__DEF_FRAME, ++sampled_frames, 0, module, address, 0, 0);
    return sampled_frames;
}

static inline uint32_t sampled_key(const char *name, const char *file, uint32_t first_line)
{
    return kymo__writer_key(sampled, kymo__writer_string(sampled, name),
                            kymo__writer_string(sampled, file), first_line, KYMO_CLASS_FUNCTION);
}

static inline uint32_t sampled_python(uint32_t key, uint32_t line)
{
    sampled_define(KYMO__DEF_FRAME, ++sampled_frames, 1, key, line, 0, 0);
    return sampled_frames;
}

/* FRAMES, the outermost first and a 0 behind the last, as stack ID. */
static inline void sampled_stack(uint32_t id, const uint32_t *frames)
{
    uint32_t parent = 0;
    if (sampled_chained && *frames) {
        uint8_t further[1024], *end = further;
        struct kymo_def chain = {
            .type = KYMO__DEF_NODE, .number = {++sampled_nodes, 0, *frames}, .text = further};
        while (*++frames) {
            end = kymo__varint_put(end, *frames);
            sampled_nodes++;
        }
        chain.text_len = (size_t)(end - further);
        kymo__writer_define(sampled, &chain);
        parent = sampled_nodes;
    }
    for (; *frames; frames++) {
        sampled_define(KYMO__DEF_NODE, ++sampled_nodes, parent, *frames, 0, 0, 0);
        parent = sampled_nodes;
    }
    sampled_define(KYMO__DEF_STACK, id, parent, 0, 0, 0, 0);
}

static inline void sampled_put(uint32_t thread, uint64_t time, uint32_t stack, uint32_t periods,
                               unsigned clock)
{
    kymo__writer_event(sampled, thread, SAMPLED_ZERO + time, kymo_word(KYMO_SAMPLE, clock, 0),
                       (uint64_t)periods << 32 | stack);
}

static inline void sampled_event(uint32_t thread, uint64_t time, unsigned kind, uint32_t key)
{
    kymo__writer_event(sampled, thread, SAMPLED_ZERO + time, kymo_word(kind, 0, key), 0);
}

/* ---- one that golden files and tests share ---- */

/* Milliseconds of CPU time on two threads: of Python that calls C, of Python that calls itself,
   of C alone. With CALLS the calls are there too. */
static inline void sampled_program(const char *path, bool calls)
{
    enum { MS = 1000000 };
    sampled_begin(path, "1000000");
    sampled_meta("process_name", "sampled ☃");
    sampled_thread(0, 4321, "main");
    sampled_thread(1, 4322, "worker");
    uint32_t python = sampled_module("/opt/golden/bin/python3.13",
                                     "00112233445566778899aabbccddeeff00112233", 0x400000),
             work =
                 sampled_module("/opt/golden/lib/libwork.so.1", "fedcba9876543210", 0x7f0000000000),
             libc = sampled_module("/opt/golden/lib/libc.so.6", "", 0x7f1000000000);
    uint32_t module_key = sampled_key("<module>", "/srv/app/été.py", 1),
             work_key = sampled_key("work", "/srv/app/été.py", 10),
             fib_key = sampled_key("fib", "/srv/app/fib.py", 3);
    uint32_t start = sampled_native(python, 0x1001), loop = sampled_native(python, 0x2001),
             deeper = sampled_native(python, 0x2051), compute = sampled_native(work, 0x1501),
             clone = sampled_native(libc, 0x1011), pool = sampled_native(work, 0x1701),
             made = sampled_native(0, 0x7fabcdef0001);
    uint32_t module = sampled_python(module_key, 40), in_work = sampled_python(work_key, 12),
             fib = sampled_python(fib_key, 5), fib_end = sampled_python(fib_key, 4);
    sampled_stack(11, (uint32_t[]){start, loop, module, loop, in_work, deeper, compute, 0});
    sampled_stack(12, (uint32_t[]){start, loop, module, loop, in_work, deeper, 0});
    sampled_stack(13, (uint32_t[]){start, loop, module, 0});
    sampled_stack(14, (uint32_t[]){start, loop, module, fib, fib, fib_end, 0});
    sampled_stack(70000, (uint32_t[]){clone, pool, 0});
    sampled_stack(70001, (uint32_t[]){clone, pool, made, 0});
    if (calls)
        sampled_event(0, 0, KYMO_ENTER, work_key);
    for (uint32_t i = 0; i < 5; i++)
        sampled_put(0, (i + 1) * MS, 11, 1, KYMO_SAMPLED_CPU);
    sampled_put(0, 8 * MS, 11, 3, KYMO_SAMPLED_CPU);
    for (uint32_t i = 0; i < 3; i++)
        sampled_put(0, (i + 9) * MS, 12, 1, KYMO_SAMPLED_CPU);
    if (calls)
        sampled_event(0, 12 * MS - 1000, KYMO_LEAVE, work_key);
    sampled_put(0, 12 * MS, 13, 1, KYMO_SAMPLED_CPU);
    sampled_put(0, 13 * MS, 14, 1, KYMO_SAMPLED_CPU);
    sampled_put(0, 14 * MS, 14, 1, KYMO_SAMPLED_CPU);
    sampled_put(0, 15 * MS, 999, 1, KYMO_SAMPLED_CPU); /* a stack that nothing defines */
    for (uint32_t i = 0; i < 4; i++)
        sampled_put(1, (2 * i + 1) * MS, i == 3 ? 70001 : 70000, 1, KYMO_SAMPLED_CPU);
    sampled_end();
}

#endif
