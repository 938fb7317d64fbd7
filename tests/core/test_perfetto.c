/* A Perfetto trace holds every call of a capture as a begin and an end, in order, on the
   sequence of its thread; names come before they are used. What the events look like to
   Perfetto itself is tested from Python. */
#include <errno.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <stdbool.h>
#include <zlib.h>

#include "alloc.h"
#include "perfetto_parts.h"
#include "tape.h"
#include "varint.h"

enum { SEQUENCES = 64, NAMES = 4096, TRACKS = 64 };

/* What a trace was found to hold. */
static struct found {
    uint64_t packets, groups, begins, ends, instants, counters, early;
    size_t plain;     /* bytes of packets outside groups */
    char texts[4096]; /* of annotations, one behind the other */
    struct sequence {
        bool begun;
        bool known[NAMES];
        uint64_t time;
        struct track {
            uint64_t uuid;
            int depth, deepest;
            uint64_t begins;
        } tracks[TRACKS];
    } sequences[SEQUENCES];
    char names[NAMES][32];
} found;

struct field {
    unsigned number;
    uint64_t value;
    const uint8_t *bytes;
    size_t len;
};

/* The next field; false at the end. */
static bool next(const uint8_t **at, const uint8_t *end, struct field *field)
{
    uint64_t tag, len;
    if (*at == end)
        return false;
    *at = kymo__varint_get(*at, end, &tag);
    CHECK(*at != NULL);
    *field = (struct field){.number = (unsigned)(tag >> 3)};
    switch (tag & 7) {
    case 0:
        *at = kymo__varint_get(*at, end, &field->value);
        CHECK(*at != NULL);
        break;
    case 1:
        CHECK(end - *at >= 8);
        *at += 8;
        break;
    default:
        CHECK_EQ(tag & 7, 2);
        *at = kymo__varint_get(*at, end, &len);
        CHECK(*at != NULL);
        CHECK_LE(len, end - *at);
        field->bytes = *at;
        field->len = len;
        *at += len;
    }
    return true;
}

static void intern(struct sequence *s, const struct field *data)
{
    const uint8_t *at = data->bytes;
    struct field entry, part;
    while (next(&at, data->bytes + data->len, &entry)) {
        if (entry.number != INTERNED_NAME)
            continue;
        const uint8_t *in = entry.bytes;
        uint64_t id = 0;
        while (next(&in, entry.bytes + entry.len, &part)) {
            if (part.number == NAME_ID)
                id = part.value;
            if (part.number == NAME_TEXT && id < NAMES)
                snprintf(found.names[id], sizeof(found.names[id]), "%.*s", (int)part.len,
                         (const char *)part.bytes);
        }
        CHECK(id > 0 && id < NAMES);
        s->known[id] = true;
    }
}

static struct track *track_of(struct sequence *s, uint64_t uuid)
{
    for (int i = 0; i < TRACKS; i++)
        if (!s->tracks[i].uuid || s->tracks[i].uuid == uuid + 1) {
            s->tracks[i].uuid = uuid + 1;
            return &s->tracks[i];
        }
    CHECK_FAIL("more than %d tracks", (int)TRACKS);
    return NULL;
}

static void annotation(const struct field *note)
{
    const uint8_t *at = note->bytes;
    struct field field;
    size_t len = strlen(found.texts);
    while (next(&at, note->bytes + note->len, &field))
        if (field.number == ANNOTATION_TEXT)
            snprintf(found.texts + len, sizeof(found.texts) - len, "%.*s;", (int)field.len,
                     (const char *)field.bytes);
}

static void event(struct sequence *s, const struct field *event)
{
    const uint8_t *at = event->bytes;
    struct field field;
    uint64_t type = 0, name = 0, uuid = 0;
    while (next(&at, event->bytes + event->len, &field)) {
        type = field.number == EVENT_TYPE ? field.value : type;
        name = field.number == EVENT_NAME_ID ? field.value : name;
        uuid = field.number == EVENT_TRACK ? field.value : uuid;
        if (field.number == EVENT_ANNOTATION)
            annotation(&field);
    }
    struct track *track = track_of(s, uuid);
    if (name)
        CHECK(name < NAMES && s->known[name]);
    found.begins += type == TYPE_BEGIN;
    found.ends += type == TYPE_END;
    found.instants += type == TYPE_INSTANT;
    found.counters += type == TYPE_COUNTER;
    if (type == TYPE_BEGIN) {
        track->begins++;
        track->depth++;
        track->deepest = track->depth > track->deepest ? track->depth : track->deepest;
    }
    if (type == TYPE_END)
        CHECK_LE(1, track->depth--);
}

static void packets(const uint8_t *bytes, size_t len, bool inside);

static void unpack(const struct field *group)
{
    static uint8_t plain[4 << 20];
    uLongf len = sizeof(plain);
    CHECK_EQ(uncompress(plain, &len, group->bytes, group->len), Z_OK);
    found.groups++;
    packets(plain, len, true);
}

static void packet(const uint8_t *bytes, size_t len)
{
    const uint8_t *at = bytes;
    struct field field, what = {0}, names = {0};
    uint64_t number = 0, time = 0, flags = 0;
    bool absolute = false, timed = false;
    found.packets++;
    while (next(&at, bytes + len, &field)) {
        if (field.number == PACKET_COMPRESSED) {
            found.packets--;
            unpack(&field);
            return;
        }
        number = field.number == PACKET_SEQUENCE ? field.value : number;
        flags = field.number == PACKET_FLAGS ? field.value : flags;
        absolute |= field.number == PACKET_CLOCK;
        timed |= field.number == PACKET_TIMESTAMP;
        time = field.number == PACKET_TIMESTAMP ? field.value : time;
        what = field.number == PACKET_TRACK_EVENT ? field : what;
        names = field.number == PACKET_INTERNED ? field : names;
    }
    CHECK(number > 0 && number < SEQUENCES);
    struct sequence *s = &found.sequences[number];
    if (flags & STATE_CLEARED) {
        CHECK(!s->begun);
        s->begun = true;
    }
    CHECK(s->begun);
    if (names.bytes)
        intern(s, &names);
    s->time += timed && !absolute ? time : 0;
    found.early += absolute && number > 1;
    if (what.bytes)
        event(s, &what);
}

static void packets(const uint8_t *bytes, size_t len, bool inside)
{
    const uint8_t *at = bytes;
    struct field field;
    while (next(&at, bytes + len, &field)) {
        CHECK_EQ(field.number, TRACE_PACKET);
        found.plain += inside ? 0 : field.len;
        packet(field.bytes, field.len);
    }
}

/* Read the trace at PATH, compressed or not. */
static void load(const char *path)
{
    static uint8_t bytes[64 << 20];
    memset(&found, 0, sizeof(found));
    gzFile file = gzopen(path, "rb");
    CHECK(file != NULL);
    int len = gzread(file, bytes, sizeof(bytes));
    gzclose(file);
    CHECK(len > 0 && (size_t)len < sizeof(bytes));
    packets(bytes, (size_t)len, false);
    CHECK_EQ(found.begins, found.ends);
    for (int i = 0; i < SEQUENCES; i++)
        for (int j = 0; j < TRACKS; j++)
            CHECK_EQ(found.sequences[i].tracks[j].depth, 0);
}

/* Export what the tape has to NAME with EXTENSION and read it. */
static void export(const char *name, const char *extension)
{
    char path[512];
    struct kymo_capture *capture = tape_stop(name);
    snprintf(path, sizeof(path), "%s%s", check_path(name), extension);
    CHECK_OK(kymo_export(capture, path, NULL));
    kymo_close(capture);
    load(path);
}

static bool knows(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(found.names[i], name) == 0)
            return true;
    return false;
}

/* ---- cases ---- */

static void every_call_has_a_begin_and_an_end(void)
{
    tape_start("calls");
    uint32_t f = tape_function("f"), g = tape_function("g");
    for (uint64_t i = 0; i < 10; i++) {
        tape_enter(i * 100, f);
        tape_enter(i * 100 + 10, g);
        tape_leave(i * 100 + 20, g);
        tape_leave(i * 100 + 30, f);
    }
    export("calls", ".pftrace");
    CHECK_EQ(found.begins, 20);
    CHECK_EQ(found.sequences[2].tracks[0].deepest, 2);
    CHECK(knows("f") && knows("g"));
}

static void every_kind_of_event_has_its_form(void)
{
    tape_start("kinds");
    uint32_t key = tape_span("thing"), count = tape_span("count");
    tape_put(1, KYMO_INSTANT, 0, key);
    tape_put_value(2, KYMO_COUNTER, 0, count, 0x3ff0000000000000);
    tape_put_value(3, KYMO_FLOW_OUT, 0, key, 7);
    tape_put_value(4, KYMO_FLOW_IN, 0, key, 7);
    tape_put_value(5, KYMO_ASYNC_BEGIN, 0, key, UINT64_MAX);
    tape_put_value(6, KYMO_ASYNC_END, 0, key, UINT64_MAX);
    tape_put_value(7, KYMO_COMPLETE, 0, key, 1000);
    tape_put_value(8, KYMO_COMPLETE, 0, key, 1000);
    tape_put_value(9, KYMO_OFF, 0, key, 3);
    tape_gap(5);
    export("kinds", ".pftrace");
    CHECK_EQ(found.begins, 3);
    CHECK_EQ(found.counters, 1);
    /* One tells of the recording, one of the switch, one of the gap. */
    CHECK_EQ(found.instants, 1 + 2 + 3);
}

static void arguments_that_are_texts_are_annotations(void)
{
    tape_start("texts");
    uint32_t span = tape_span("span"), argument = tape_span("argument");
    tape_enter(1, span);
    tape_put_value(1, KYMO_ARG_TEXT, 0, argument, tape_span("größe \"名前\""));
    tape_leave(2, span);
    tape_put(3, KYMO_INSTANT, 0, span);
    tape_put_value(3, KYMO_ARG_TEXT, 0, argument, tape_span(""));
    tape_put_value(3, KYMO_ARG_TEXT, 0, argument, UINT64_MAX); /* as a damaged file says */
    export("texts", ".pftrace");
    CHECK(strstr(found.texts, "größe \"名前\";;(unknown);") != NULL);
}

static void a_hundred_overlapping_events_still_nest(void)
{
    tape_start("overlap");
    uint32_t key = tape_span("kernel");
    for (uint64_t i = 0; i < 100; i++)
        tape_put_value(i, KYMO_COMPLETE, 0, key, 100000 - i);
    export("overlap", ".pftrace");
    CHECK_EQ(found.begins, 100);
}

static void names_of_any_bytes_and_length_are_written(void)
{
    static char huge[2 << 20];
    memset(huge, 'n', sizeof(huge) - 1);
    tape_start("names");
    uint32_t keys[] = {tape_span("\xff\xfe"), tape_span(""), tape_span(huge),
                       tape_span("</script>\x01\"\\")};
    for (unsigned i = 0; i < 4; i++) {
        tape_enter(i * 10, keys[i]);
        tape_leave(i * 10 + 5, keys[i]);
    }
    export("names", ".pftrace");
    CHECK_EQ(found.begins, 4);
    CHECK(knows("\xef\xbf\xbd\xef\xbf\xbd"));
    CHECK(knows("</script>\x01\"\\"));
}

static void deep_recursion_is_spread_over_tracks(void)
{
    enum { DEPTH = 2600 };
    tape_start("deep");
    uint32_t f = tape_function("f");
    for (uint64_t i = 0; i < DEPTH; i++)
        tape_enter(i, f);
    for (uint64_t i = 0; i < DEPTH; i++)
        tape_leave(DEPTH + i, f);
    export("deep", ".pftrace");
    CHECK_EQ(found.begins, DEPTH);
    for (int i = 0; i < TRACKS; i++)
        CHECK_LE(found.sequences[2].tracks[i].deepest, KYMO__PERFETTO_DEEP);
    CHECK_EQ(found.sequences[2].tracks[5].begins, DEPTH % KYMO__PERFETTO_DEEP);
}

static void an_empty_capture_gives_a_valid_trace(void)
{
    tape_start("nothing");
    export("nothing", ".pftrace");
    CHECK_EQ(found.begins, 0);
    CHECK_LE(1, found.packets);
}

static void *many_calls(void *arg)
{
    const uint32_t *keys = arg;
    for (uint64_t i = 0; i < 30000; i++) {
        tape_enter(i * 10, keys[i % 50]);
        tape_leave(i * 10 + 5, keys[i % 50]);
    }
    return NULL;
}

static uint32_t many_keys[50];

/* THREADS threads of thirty thousand calls each. */
static void record_many(const char *name, int threads)
{
    pthread_t all[SEQUENCES];
    tape_start(name);
    for (int i = 0; i < 50; i++) {
        char text[16];
        snprintf(text, sizeof(text), "f%d", i);
        many_keys[i] = tape_function(text);
    }
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_create(&all[i], NULL, many_calls, many_keys), 0);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
}

static void threads_are_written_side_by_side(void)
{
    enum { THREADS = 20 };
    record_many("many", THREADS);
    export("many", ".pftrace");
    CHECK_EQ(found.begins, THREADS * 30000);
    CHECK_LE(THREADS, found.groups);
    for (int i = 2; i < 2 + THREADS; i++) {
        CHECK_EQ(found.sequences[i].tracks[0].begins, 30000);
        CHECK_EQ(found.sequences[i].tracks[0].deepest, 1);
    }
}

static void packets_are_compressed_in_groups_or_the_file_as_a_whole(void)
{
    record_many("groups", 1);
    export("groups", ".perfetto-trace");
    CHECK_EQ(found.begins, 30000);
    CHECK_LE(2, found.groups);
    CHECK_LE(found.plain, 400000);

    record_many("whole", 1);
    export("whole", ".pftrace.gz");
    CHECK_EQ(found.begins, 30000);
    CHECK_EQ(found.groups, 0);
}

static int refuse(void *arg, uint64_t done, uint64_t all)
{
    (void)arg, (void)done, (void)all;
    return -ECANCELED;
}

static void progress_can_stop_an_export(void)
{
    record_many("stop", 8);
    struct kymo_capture *capture = tape_stop("stop");
    const struct kymo_export_options options = {
        .size = sizeof(options), .to = INT64_MAX, .thread = -1, .progress = refuse};
    CHECK_EQ(kymo_export(capture, check_path("stop.pftrace"), &options), -ECANCELED);
    CHECK(access(check_path("stop.pftrace"), F_OK) < 0);
    kymo_close(capture);
}

static void memory_may_run_out_anywhere(void)
{
    tape_start("memory");
    uint32_t f = tape_function("f"), c = tape_span("c");
    for (uint64_t i = 0; i < 700; i++)
        tape_enter(i, f);
    tape_put(1000, KYMO_INSTANT, 0, c);
    struct kymo_capture *capture = tape_stop("memory");
    long n = 0;
    int rc;
    do {
        kymo__alloc_fail_after(n++);
        rc = kymo_export(capture, check_path("memory.pftrace"), NULL);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK_EQ(access(check_path("memory.pftrace"), F_OK) == 0, rc == 0);
        CHECK_LE(n, 200);
    } while (rc < 0);
    CHECK_LE(5, n);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(every_call_has_a_begin_and_an_end),
    CHECK_CASE(every_kind_of_event_has_its_form),
    CHECK_CASE(arguments_that_are_texts_are_annotations),
    CHECK_CASE(a_hundred_overlapping_events_still_nest),
    CHECK_CASE(names_of_any_bytes_and_length_are_written),
    CHECK_CASE(deep_recursion_is_spread_over_tracks),
    CHECK_CASE(an_empty_capture_gives_a_valid_trace),
    CHECK_CASE(threads_are_written_side_by_side),
    CHECK_CASE(packets_are_compressed_in_groups_or_the_file_as_a_whole),
    CHECK_CASE(progress_can_stop_an_export),
    CHECK_CASE(memory_may_run_out_anywhere),
};

CHECK_MAIN(cases)
