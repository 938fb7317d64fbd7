/* Makes the golden file of the summaries that version 1.4 of the format has, with a listing:

       ninja -C build/main tests/core/make_summaries
       build/main/tests/core/make_summaries tests/golden

   make_golden.c tells about golden files. */
#include "listing.h"
#include "random.h"
#include "sampled.h"
#include "summarized.h"

enum { EVENTS = 75000 }; /* more than a block, so that the second summary begins inside calls */

static uint64_t seed = 4;

static void put(uint64_t time, unsigned kind, unsigned detail, uint32_t key, uint64_t value)
{
    kymo__writer_event(sampled, 0, SAMPLED_ZERO + time, kymo_word(kind, detail, key), value);
}

static void record(const char *path)
{
    uint32_t keys[5], open[12];
    unsigned depth = 0;
    uint64_t time = 0;
    sampled_begin(path, NULL);
    sampled_thread(0, 4321, "main");
    for (int i = 0; i < 5; i++) {
        const char name[] = {(char)('a' + i), 0};
        keys[i] = kymo__writer_key(sampled, kymo__writer_string(sampled, name), 0, 0,
                                   i < 4 ? KYMO_CLASS_FUNCTION : KYMO_CLASS_NAME);
    }
    for (int i = 0; i < EVENTS; i++) {
        time += random_next(&seed) % 64;
        if (depth < 12 && random_next(&seed) % 2) {
            uint32_t key = open[depth++] = keys[random_next(&seed) % 5];
            put(time, KYMO_ENTER, key == keys[1] ? 1 | KYMO_HAS_ID : 0, key, 7);
            if (key == keys[0])
                put(time, KYMO_ARG, 0, keys[4], (uint64_t)i);
        } else if (depth) {
            put(time, KYMO_LEAVE, 0, open[--depth], 0);
        }
    }
    sampled_end();
}

int main(int argc, char **argv)
{
    char path[512], text[512];
    struct kymo_capture *capture;
    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s/v1.4-summaries.kymo", argv[1]);
    snprintf(text, sizeof(text), "%s/v1.4-summaries.txt", argv[1]);
    record(path);
    FILE *out = fopen(text, "w");
    if (!out || kymo_open(path, &capture) < 0 || list_summaries(out, capture) < 0)
        return 1;
    kymo_close(capture);
    return fclose(out) == 0 ? 0 : 1;
}
