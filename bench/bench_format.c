/* How fast records are encoded, compressed and read back, and how small they become;
   and that memory stays flat however many there are.

   The mix imitates a traced program: two thousand functions, some far more frequent
   than others, nested to a depth of some tens, times of twenty ticks to milliseconds. */
#include <sys/stat.h>
#include <unistd.h>

#include "alternate.h"
#include "block.h"
#include "decode.h"
#include "reader.h"

enum { CHUNKS = 256, RECORDS = CHUNKS * KYMO__CHUNK_RECORDS, FUNCTIONS = 2000, ROUNDS = 20 };

static struct kymo_chunk *chunks[CHUNKS];
static struct kymo_packer *packer;
static struct kymo_encoder encoder;
static uint8_t *tokens, *times;

static uint32_t random_bits(void)
{
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static void make_mix(void)
{
    uint32_t stack[64];
    int depth = 0;
    uint64_t ticks = UINT64_C(1) << 50;
    for (int c = 0; c < CHUNKS; c++) {
        chunks[c] = calloc(1, sizeof(*chunks[c]));
        chunks[c]->number = (uint64_t)c;
        for (unsigned i = 0; i < KYMO__CHUNK_RECORDS; i++) {
            ticks += 60 + random_bits() % 200;
            if (random_bits() % 100 == 0)
                ticks += random_bits() % 100000;
            int enter = depth == 0 || (depth < 60 && random_bits() % 2);
            double u = random_bits() / 4294967296.0;
            if (enter)
                stack[depth++] = 1 + (uint32_t)(FUNCTIONS * u * u * u);
            uint32_t key = stack[enter ? depth - 1 : --depth];
            chunks[c]->records[i] =
                (struct kymo_record){ticks, kymo_word(enter ? KYMO_ENTER : KYMO_LEAVE, 0, key)};
        }
    }
}

static void encode_only(long count)
{
    for (long done = 0; done < count;) {
        kymo__encode_begin(&encoder, tokens, times, NULL, NULL);
        for (int i = 0; i < (int)KYMO__BLOCK_CHUNKS && done < count; i++) {
            kymo__encode(&encoder, chunks[i]->records, KYMO__CHUNK_RECORDS);
            done += KYMO__CHUNK_RECORDS;
        }
    }
}

static uint64_t packed_bytes, packed_records;

static void encode_and_compress(long count)
{
    struct kymo_packed packed;
    for (long done = 0, at = 0; done < count; at = (at + KYMO__BLOCK_CHUNKS) % CHUNKS) {
        kymo__pack_chunks(packer, chunks + at, KYMO__BLOCK_CHUNKS, &packed);
        packed_bytes += packed.len;
        packed_records += packed.header->records;
        done += packed.header->records;
    }
}

static uint8_t *file; /* all blocks of the mix, one after the other */
static size_t file_len;

static void make_file(void)
{
    struct kymo_packed packed;
    for (int at = 0; at < CHUNKS; at += KYMO__BLOCK_CHUNKS) {
        kymo__pack_chunks(packer, chunks + at, KYMO__BLOCK_CHUNKS, &packed);
        file = realloc(file, file_len + packed.len);
        memcpy(file + file_len, packed.bytes, packed.len);
        file_len += packed.len;
    }
}

static uint64_t checksum;

static void scan(long count)
{
    struct kymo_unpacker *unpacker = kymo__unpacker_new();
    static struct kymo_decoder decoder;
    static struct kymo_buffer encoded;
    struct kymo_record records[512];
    for (long done = 0; done < count;) {
        for (size_t at = 0; at < file_len && done < count;) {
            const struct kymo_block_header *header = (const void *)(file + at);
            kymo__unpack(unpacker, header, header + 1, &encoded);
            kymo__decode_block(&decoder, header, encoded.bytes, encoded.len);
            for (int n; (n = kymo__decode(&decoder, records, 512)) > 0; done += n)
                checksum += records[n - 1].ticks;
            at += (size_t)kymo__block_bytes(header);
        }
    }
    kymo__unpacker_free(unpacker);
}

static void copy(long count)
{
    static struct kymo_record out[KYMO__CHUNK_RECORDS];
    for (long done = 0, at = 0; done < count; done += KYMO__CHUNK_RECORDS, at = (at + 1) % CHUNKS) {
        memcpy(out, chunks[at]->records, sizeof(out));
        __asm__ volatile("" : : "r"(out) : "memory");
    }
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void endurance(long records)
{
    char path[] = "/tmp/kymograph-bench-XXXXXX";
    close(mkstemp(path));
    struct kymo_options options = {.size = sizeof(options), .path = path, .budget = 32 << 20};
    if (kymo_start(&options) < 0)
        return;
    printf("\n%ld records with a budget of 32 MiB: resident memory\n", records);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long done = 0, step = records / 8; done < records;) {
        for (long i = 0; i < step; i += 4) {
            struct kymo_span outer = kymo_span_begin("outer");
            struct kymo_span inner = kymo_span_begin("inner");
            kymo_span_end(inner);
            kymo_span_end(outer);
        }
        done += step;
        printf("  after %11ld  %7ld KiB\n", done, resident_kib());
    }
    struct kymo_stats stats = {.size = sizeof(stats)};
    kymo_stats(&stats);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    int rc = kymo_stop();
    struct stat st;
    stat(path, &st);
    printf("  %.1f M records/s, %.2f bytes a record, %lu chunks written by the recording thread, "
           "%lu lost, stop: %s\n",
           (double)records / seconds / 1e6, (double)st.st_size / (double)records,
           (unsigned long)stats.helped_chunks, (unsigned long)stats.dropped_records,
           rc ? kymo_strerror(rc) : "clean");
    unlink(path);
}

int main(int argc, char **argv)
{
    long records = argc > 1 ? atol(argv[1]) : 1000000000;
    make_mix();
    packer = kymo__packer_new(1);
    tokens = malloc((size_t)KYMO__BLOCK_RECORDS_MAX * KYMO__TOKEN_MAX);
    times = malloc((size_t)KYMO__BLOCK_RECORDS_MAX * KYMO__TIME_MAX);
    make_file();
    struct contestant all[] = {
        {.name = "copying the records", .run = copy},
        {.name = "encoding", .run = encode_only},
        {.name = "encoding and compressing", .run = encode_and_compress},
        {.name = "decompressing and decoding", .run = scan},
    };
    bench_alternate(all, 4, ROUNDS, NULL);
    printf("A record of a realistic mix\n");
    bench_table(all, 4, ROUNDS);
    for (int i = 1; i < 4; i++)
        printf("  %-34s %9.0f M records/s\n", all[i].name,
               1e3 / bench_quantile(all[i].ns, ROUNDS, 0));
    printf("  %.2f bytes a record in the file\n", (double)packed_bytes / (double)packed_records);
    endurance(records);
    return 0;
}
