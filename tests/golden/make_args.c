/* Makes the golden file of what version 1.3 of the format has more than 1.2, arguments that are
   texts, with a listing:

       ninja -C build/main tests/core/make_args
       build/main/tests/core/make_args tests/golden

   make_golden.c tells about golden files. */
#include "listing.h"
#include "sampled.h"

static uint32_t name(const char *text)
{
    return kymo__writer_key(sampled, kymo__writer_string(sampled, text), 0, 0, KYMO_CLASS_NAME);
}

static void put(uint64_t time, unsigned kind, uint32_t key, uint64_t value)
{
    kymo__writer_event(sampled, 0, SAMPLED_ZERO + time, kymo_word(kind, 0, key), value);
}

static void record(const char *path)
{
    sampled_begin(path, NULL);
    sampled_thread(0, 4321, "main");
    uint32_t step = name("step"), args = name("args"), size = name("size");
    put(0, KYMO_ENTER, step, 0);
    put(1, KYMO_ARG_TEXT, args, name("größe=\"3\"\\\t名前 ☃"));
    put(2, KYMO_ARG, size, 3);
    put(3, KYMO_INSTANT, step, 0);
    put(3, KYMO_ARG_TEXT, args, name(""));
    put(4, KYMO_ARG_TEXT, args, 1000); /* not defined */
    put(9, KYMO_LEAVE, step, 0);
    put(9, KYMO_ARG_TEXT, args, name("at the end"));
    sampled_end();
}

int main(int argc, char **argv)
{
    char path[512], text[512];
    struct kymo_capture *capture;
    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s/v1.3-args.kymo", argv[1]);
    snprintf(text, sizeof(text), "%s/v1.3-args.txt", argv[1]);
    record(path);
    FILE *out = fopen(text, "w");
    if (!out || kymo_open(path, &capture) < 0 || list_capture(out, capture) < 0)
        return 1;
    kymo_close(capture);
    return fclose(out) == 0 ? 0 : 1;
}
