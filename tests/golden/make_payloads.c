/* Makes the golden file of what version 1.4 of the format has more than 1.3 for sources, payloads
   and tracks, with a listing:

       ninja -C build/main tests/core/make_payloads
       build/main/tests/core/make_payloads tests/golden

   make_golden.c tells about golden files. */
#include <kymo/track.h>

#include "listing.h"

static void put_all(struct kymo_payload *p)
{
    kymo_payload_uint(p, 300);
    kymo_payload_int(p, -300);
    kymo_payload_float(p, 0.25);
    kymo_payload_text(p, "größe 名前");
    kymo_payload_bytes(p, "\0\1\xff", 3);
    kymo_payload_uint(p, UINT64_C(0x7fff00001230));
    kymo_payload_uint(p, 7);
    kymo_payload_uint(p, kymo_name_key("float32"));
    kymo_payload_count(p, 2);
    kymo_payload_count(p, 1);
    kymo_payload_int(p, -1);
    kymo_payload_count(p, 0);
}

static int record(const char *path)
{
    static const struct kymo_field all[] = {
        {"uint", KYMO_FIELD_UINT},
        {"int", KYMO_FIELD_INT},
        {"float", KYMO_FIELD_FLOAT},
        {"text", KYMO_FIELD_TEXT},
        {"bytes", KYMO_FIELD_BYTES},
        {"address", KYMO_FIELD_ADDRESS},
        {"id", KYMO_FIELD_ID},
        {"name", KYMO_FIELD_NAME},
        {"shapes", KYMO_FIELD_INT | KYMO_FIELD_LISTS},
    };
    struct kymo_options options = {.size = sizeof(options), .path = path, .clock = 1};
    struct kymo_schema schema;
    struct kymo_payload payload;
    unsigned char room[256];
    if (kymo_start(&options) < 0 || kymo_schema_define(&schema, "all", all, 9) < 0)
        return 1;
    struct kymo_span span = kymo_span_begin("span");
    kymo_payload_begin(&payload, room, sizeof(room));
    put_all(&payload);
    kymo_attach(&schema, &payload);
    kymo_attach(&schema, &payload);
    kymo_span_end(span);
    kymo_note(&schema, &payload);
    kymo_payload_begin(&payload, room, 3);
    put_all(&payload);
    kymo_note(&schema, &payload); /* does not fit */
    int clock = kymo_clock_open("device", 0);
    kymo_clock_snapshot(clock, 100, 1000000000);
    kymo_clock_snapshot(clock, 1000100, 2000000000);
    const int clocks[] = {KYMO_TRACK_NS, clock};
    for (int i = 0; i < 2; i++) {
        struct kymo_track *track;
        const struct kymo_track_options o = {
            .size = sizeof(o), .device = i, .stream = 5, .clock = clocks[i], .process = 77};
        if (kymo_track_open(&o, &track) < 0)
            return 1;
        for (uint64_t j = 0; j < 3; j++)
            kymo_track_write(track,
                             &(struct kymo_track_event){.size = sizeof(struct kymo_track_event),
                                                        .start = 200 + 100 * j,
                                                        .end = 210 + 100 * j,
                                                        .key = kymo_name_key("kernel"),
                                                        .correlation = 1000 + j});
        kymo_track_close(track);
    }
    return kymo_stop() < 0;
}

int main(int argc, char **argv)
{
    char path[512], text[512];
    struct kymo_capture *capture;
    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s/v1.4-payloads.kymo", argv[1]);
    snprintf(text, sizeof(text), "%s/v1.4-payloads.txt", argv[1]);
    if (record(path))
        return 1;
    FILE *out = fopen(text, "w");
    if (!out || kymo_open(path, &capture) < 0 || list_capture(out, capture) < 0)
        return 1;
    kymo_close(capture);
    return fclose(out) == 0 ? 0 : 1;
}
