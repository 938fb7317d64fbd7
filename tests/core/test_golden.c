/* The captures of every version of the format read as they did when they were made:
   tests/golden has each with a listing of all it says. */
#include <zstd.h>

#include "check.h"
#include "listing.h"
#include "summarized.h"

/* The content of golden file NAME, to be freed. */
static char *load(const char *name, size_t *len)
{
    const char *dir = getenv("KYMO_GOLDEN");
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir ? dir : "tests/golden", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        CHECK_FAIL("%s cannot be opened", path);
    char *bytes = malloc(4 << 20);
    *len = fread(bytes, 1, (4 << 20) - 1, f);
    bytes[*len] = '\0';
    fclose(f);
    return bytes;
}

static void save(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    CHECK_EQ(fwrite(bytes, 1, len, f), len);
    CHECK_EQ(fclose(f), 0);
}

/* Put golden capture NAME into the directory of this run. */
static const char *place(const char *name)
{
    size_t len;
    char *bytes = load(name, &len);
    const char *path = check_path(name);
    save(path, bytes, len);
    free(bytes);
    return path;
}

/* The live file of golden capture NAME is mostly zeros and kept compressed. */
static void place_live(const char *name)
{
    size_t len, most = 4 << 20;
    char packed[64], path[512];
    snprintf(packed, sizeof(packed), "%s.live.zst", name);
    char *bytes = load(packed, &len), *live = malloc(most);
    size_t live_len = ZSTD_decompress(live, most, bytes, len);
    CHECK(!ZSTD_isError(live_len));
    snprintf(path, sizeof(path), "%s.live", check_path(name));
    save(path, live, live_len);
    free(bytes);
    free(live);
}

/* The capture at PATH says what golden file NAME says, line by line. */
static void reads_as(const char *path, const char *name)
{
    size_t len, want_len;
    char *got = NULL, *want = load(name, &want_len);
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(path, &capture));
    FILE *out = open_memstream(&got, &len);
    int rc = list_capture(out, capture);
    fclose(out);
    kymo_close(capture);
    CHECK_OK(rc);
    int line = 1;
    for (char *a = got, *b = want; *a || *b; line++) {
        size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");
        if (a_len != b_len || memcmp(a, b, a_len) != 0)
            CHECK_FAIL("line %d of %s is \"%.*s\", was \"%.*s\"", line, name, (int)a_len, a,
                       (int)b_len, b);
        a += a_len + (a[a_len] == '\n');
        b += b_len + (b[b_len] == '\n');
    }
    free(got);
    free(want);
}

static void version_1_reads_as_it_did(void)
{
    reads_as(place("v1.kymo"), "v1.txt");
}

static void version_1_of_a_killed_process_reads_as_it_did(void)
{
    const char *path = place("v1-killed.kymo");
    place_live("v1-killed.kymo");
    reads_as(path, "v1-killed.txt");
}

static void version_1_1_of_merged_captures_reads_as_it_did(void)
{
    reads_as(place("v1.1-merged.kymo"), "v1.1-merged.txt");
}

static void version_1_2_with_samples_reads_as_it_did(void)
{
    reads_as(place("v1.2-sampled.kymo"), "v1.2-sampled.txt");
    reads_as(place("v1.2-sampled-calls.kymo"), "v1.2-sampled-calls.txt");
}

static void version_1_3_with_arguments_reads_as_it_did(void)
{
    reads_as(place("v1.3-args.kymo"), "v1.3-args.txt");
}

static void version_1_4_with_payloads_and_tracks_reads_as_it_did(void)
{
    reads_as(place("v1.4-payloads.kymo"), "v1.4-payloads.txt");
}

static void version_1_4_with_summaries_reads_as_it_did(void)
{
    size_t len, want_len;
    char *got = NULL, *want = load("v1.4-summaries.txt", &want_len);
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(place("v1.4-summaries.kymo"), &capture));
    CHECK_LE(1, capture->reader->summary_count);
    FILE *out = open_memstream(&got, &len);
    int rc = list_summaries(out, capture);
    fclose(out);
    kymo_close(capture);
    CHECK_OK(rc);
    CHECK_STR(got, want);
    free(got);
    free(want);
}

/* With the same story in the columns of any payloads. */
static void version_1_4_with_memory_reads_as_it_did(void)
{
    reads_as(place("v1.4-memory.kymo"), "v1.4-memory.txt");
}

static void version_1_5_with_memory_reads_as_it_did(void)
{
    reads_as(place("v1.5-memory.kymo"), "v1.5-memory.txt");
}

static void version_1_6_with_nodes_in_one_definition_reads_as_it_did(void)
{
    reads_as(place("v1.6-sampled.kymo"), "v1.6-sampled.txt");
}

static const struct check_case cases[] = {
    CHECK_CASE(version_1_reads_as_it_did),
    CHECK_CASE(version_1_of_a_killed_process_reads_as_it_did),
    CHECK_CASE(version_1_1_of_merged_captures_reads_as_it_did),
    CHECK_CASE(version_1_2_with_samples_reads_as_it_did),
    CHECK_CASE(version_1_3_with_arguments_reads_as_it_did),
    CHECK_CASE(version_1_4_with_payloads_and_tracks_reads_as_it_did),
    CHECK_CASE(version_1_4_with_summaries_reads_as_it_did),
    CHECK_CASE(version_1_4_with_memory_reads_as_it_did),
    CHECK_CASE(version_1_5_with_memory_reads_as_it_did),
    CHECK_CASE(version_1_6_with_nodes_in_one_definition_reads_as_it_did),
};
CHECK_MAIN(cases)
