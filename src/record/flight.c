/* flight.c — see flight.h.

   Blocks lie in the ring as they would in the file, the oldest first. A block is never
   divided: one that does not fit before the ring's end goes to its beginning.

   Being asked to write, the writer thread appends the ring and then, of every chunk that
   is not free, the records that are finished; nothing expires for their sake. The chunk
   stays what it is, and its `passed` remembers where the next part begins, so recording
   itself knows nothing of all this. While the lock is held no chunk is freed, and so none
   becomes another one while it is looked at; a helper that has packed one meanwhile packs
   it again.

   What expires is counted for each thread, in slots of the live file, and becomes a gap
   when something is written. */
#include "flight.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "local.h"
#include "session.h"

#define DEFAULT_BYTES ((uint64_t)64 << 20)
#define BLOCKS_AT_LEAST 16 /* that the ring should have room for */

/* Set by signal handlers: the number of the session that is to be written, or 0. */
static uint32_t requested;
uint32_t kymo__flight_answers;

void kymo__flight_init(struct kymo_flight *flight)
{
    pthread_mutex_init(&flight->lock, NULL);
    sem_init(&flight->done, 0, 0);
}

void kymo__flight_fini(struct kymo_flight *flight)
{
    kymo__free(flight->ring);
    kymo__watch_fini(&flight->watch);
    sem_destroy(&flight->done);
    pthread_mutex_destroy(&flight->lock);
}

int kymo__flight_begin(struct kymo_flight *flight, uint64_t bytes, kymo_ns span, kymo_ns slow)
{
    if (!bytes && !span)
        return 0;
    bytes = bytes ? bytes : DEFAULT_BYTES;
    if (bytes > SIZE_MAX - 8)
        return -ENOMEM;
    size_t size = ((size_t)bytes + 7) & ~(size_t)7;
    flight->ring = kymo__alloc(size); /* a page that is never reached costs nothing */
    if (!flight->ring)
        return -ENOMEM;
    size_t chunks = size / KYMO__CHUNK_BYTES / BLOCKS_AT_LEAST;
    flight->block_chunks = chunks < 1                    ? 1
                           : chunks > KYMO__BLOCK_CHUNKS ? KYMO__BLOCK_CHUNKS
                                                         : (uint32_t)chunks;
    flight->size = size;
    flight->span = span;
    flight->watch.slow = slow;
    flight->watch.ticks = UINT64_MAX; /* until it is known how many they are */
    return 0;
}

/* ---- what expires; all under the lock ---- */

/* Record what SLOT counts as a gap, and empty it. */
static int tell(struct kymo_session *s, struct kymo_gap_slot *slot)
{
    const uint64_t numbers[] = {slot->thread - 1, slot->reason, slot->count, slot->first_ticks,
                                slot->last_ticks};
    int rc = slot->count ? kymo__names_define(&s->names, KYMO__DEF_GAP, numbers) : 0;
    if (rc == 0)
        kymo__store_release(&slot->count, UINT64_C(0));
    return rc;
}

static void expire(struct kymo_session *s, uint32_t thread, uint64_t records, uint64_t first,
                   uint64_t last)
{
    struct kymo_gap_slot *slot = &s->live.expired[thread % KYMO__EXPIRED_SLOTS];
    /* Another thread's gap is told now. If that cannot be, both are counted as its: the sum
       at least is right. */
    if (slot->count && slot->thread != thread + 1)
        tell(s, slot);
    if (!slot->count)
        *slot = (struct kymo_gap_slot){.thread = thread + 1,
                                       .reason = KYMO_GAP_FLIGHT,
                                       .first_ticks = first,
                                       .last_ticks = last};
    slot->first_ticks = first < slot->first_ticks ? first : slot->first_ticks;
    slot->last_ticks = last > slot->last_ticks ? last : slot->last_ticks;
    kymo__store_release(&slot->count, slot->count + records);
    kymo__add_relaxed(&s->flight.expired_records, records);
}

/* Pass over what is too old of CHUNK's records before END. Returns how many it has passed
   in all. */
static size_t pass_over_old(struct kymo_session *s, struct kymo_chunk *chunk, size_t end)
{
    const uint64_t oldest = s->flight.oldest;
    size_t passed = kymo__load_relaxed(&chunk->passed), from = passed;
    uint64_t events = 0, first = UINT64_MAX, last = 0;
    for (; oldest && passed < end; passed++) {
        const struct kymo_record *record = &chunk->records[passed];
        if (kymo__word_kind(record->word) == KYMO__VALUE)
            continue;
        if (record->ticks >= oldest)
            break;
        first = record->ticks < first ? record->ticks : first;
        last = record->ticks > last ? record->ticks : last;
        events++;
    }
    if (events)
        expire(s, chunk->thread, events, first, last);
    if (passed != from)
        kymo__store_relaxed(&chunk->passed, (uint32_t)passed);
    return passed;
}

/* The tick before which everything is too old, 0 while nothing can be. */
static uint64_t oldest_tick(const struct kymo_session *s, const struct kymo_snapshot *now)
{
    kymo_ns lasted = now->monotonic - s->started.monotonic;
    if (!s->flight.span || lasted <= s->flight.span)
        return 0;
    double share = (double)s->flight.span / (double)lasted;
    return now->ticks - (uint64_t)((double)(now->ticks - s->started.ticks) * share);
}

/* ---- the ring; all under the lock ---- */

static const struct kymo_block_header *front(const struct kymo_flight *f)
{
    return (const void *)(f->ring + f->head);
}

static void pop(struct kymo_session *s)
{
    struct kymo_flight *f = &s->flight;
    f->records -= front(f)->records;
    f->head += (size_t)kymo__block_bytes(front(f));
    if (f->head == f->wrap)
        f->head = f->wrap = 0;
    if (!--f->blocks)
        f->head = f->tail = f->wrap = 0;
    kymo__store_relaxed(&s->live.header->ring_records, f->records);
}

static void expire_block(struct kymo_session *s, const struct kymo_block_header *header)
{
    expire(s, header->thread, header->records, header->first_ticks, header->last_ticks);
}

static void expire_front(struct kymo_session *s)
{
    expire_block(s, front(&s->flight));
    pop(s);
}

/* Find room for LEN bytes: `tail` is where they go. */
static bool has_room(struct kymo_flight *f, size_t len)
{
    if ((f->wrap ? f->head : f->size) - f->tail >= len)
        return true;
    if (f->wrap || f->head < len)
        return false;
    f->wrap = f->tail;
    f->tail = 0;
    return true;
}

static void push(struct kymo_session *s, const struct kymo_packed *packed)
{
    struct kymo_flight *f = &s->flight;
    if (packed->len > f->size) {
        /* Not even alone: and what is kept has to be the last there was. */
        while (f->blocks)
            expire_front(s);
        expire_block(s, packed->header);
        return;
    }
    while (!has_room(f, packed->len))
        expire_front(s);
    memcpy(f->ring + f->tail, packed->bytes, packed->len);
    f->tail += packed->len;
    f->blocks++;
    f->records += packed->header->records;
    kymo__store_relaxed(&s->live.header->ring_records, f->records);
}

/* Line up the chunks that became full meanwhile. They come the last one first. */
static void line_up(struct kymo_session *s)
{
    struct kymo_flight *f = &s->flight;
    for (uint32_t at = kymo__chunks_take(&s->full, s->live.chunks), next; at; at = next) {
        next = kymo__load_relaxed(&s->live.chunks[at - 1].next);
        kymo__store_relaxed(&s->live.chunks[at - 1].next, f->first);
        f->first = at;
    }
}

/* The next chunks to pack, which the caller then has in hand. */
static size_t take(struct kymo_session *s, struct kymo_chunk **chunks, size_t most)
{
    struct kymo_flight *f = &s->flight;
    size_t n = 0;
    if (!f->first)
        line_up(s);
    for (; n < most && f->first; n++) {
        struct kymo_chunk *chunk = &s->live.chunks[f->first - 1];
        if (n && (chunk->thread != chunks[0]->thread || chunk->number != chunks[0]->number + n ||
                  kymo__load_relaxed(&chunk->passed)))
            break;
        f->first = kymo__load_relaxed(&chunk->next);
        chunks[n] = chunk;
    }
    return n;
}

/* The first of CHUNKS that has anything young enough; the older ones have expired. */
static size_t first_young(struct kymo_session *s, struct kymo_chunk **chunks, size_t count)
{
    size_t i = 0;
    for (; i < count; i++) {
        size_t end = kymo__chunk_count(chunks[i]);
        if (pass_over_old(s, chunks[i], end) < end)
            break;
    }
    return i;
}

int kymo__flight_keep(struct kymo_session *s, struct kymo_packer *packer, size_t most)
{
    struct kymo_flight *f = &s->flight;
    struct kymo_chunk *chunks[KYMO__BLOCK_CHUNKS];
    struct kymo_packed packed;
    int rc = 0;
    pthread_mutex_lock(&f->lock);
    size_t count = take(s, chunks, most);
    for (size_t i = 0; f->watch.slow && i < count; i++)
        kymo__watch_chunk(&f->watch, chunks[i]);
    size_t first = first_young(s, chunks, count);
    while (first < count) {
        uint64_t round = f->round;
        pthread_mutex_unlock(&f->lock);
        rc = kymo__pack_chunks(packer, chunks + first, count - first, &packed);
        pthread_mutex_lock(&f->lock);
        if (rc < 0 || round == f->round)
            break;
        /* They were written meanwhile, and with them some of what was packed. */
        first = first_young(s, chunks, count);
    }
    if (first < count && rc == 0)
        push(s, &packed);
    if (rc == 0)
        kymo__pool_free(s, chunks, count);
    for (size_t i = 0; i < count && rc < 0; i++)
        kymo__chunks_push(&s->full, s->live.chunks, chunks[i]);
    pthread_mutex_unlock(&f->lock);
    return rc < 0 ? rc : (int)count;
}

int kymo__flight_drain(struct kymo_session *s)
{
    uint32_t done = 0;
    while (!kymo__load_acquire(&s->flight.held)) {
        int n = kymo__flight_keep(s, s->packer, s->flight.block_chunks);
        if (n <= 0)
            return n;
        done += (uint32_t)n;
        if (done >= s->live.limit) {
            /* Others fill chunks as fast as this empties them; there may be more to do. */
            kymo__pool_wake(s);
            return 0;
        }
    }
    return 0;
}

/* ---- writing it ---- */

static int append(struct kymo_session *s, const struct kymo_packed *packed)
{
    int rc = kymo__drain_append(s, packed);
    if (rc == 0)
        kymo__add_relaxed(&s->written_records, (uint64_t)packed->header->records);
    return rc;
}

static int write_ring(struct kymo_session *s)
{
    struct kymo_flight *f = &s->flight;
    while (f->blocks) {
        const struct kymo_block_header *header = front(f);
        const struct kymo_packed packed = {(const void *)header, (size_t)kymo__block_bytes(header),
                                           header};
        if (header->last_ticks < f->oldest) {
            expire_front(s);
            continue;
        }
        int rc = append(s, &packed);
        if (rc < 0)
            return rc;
        pop(s);
    }
    return 0;
}

/* False when a value that belongs to a record with WORD may still be on its way. */
static bool is_whole(uint64_t word)
{
    unsigned kind = kymo__word_kind(word);
    return kind == KYMO__VALUE || kind == KYMO_INSTANT ||
           ((kind == KYMO_ENTER || kind == KYMO_LEAVE) && !(kymo__word_detail(word) & KYMO_HAS_ID));
}

/* Write what is finished of CHUNK. */
static int write_part(struct kymo_session *s, struct kymo_chunk *chunk, bool open)
{
    size_t end = kymo__chunk_count(chunk);
    if (end && open && !is_whole(chunk->records[end - 1].word))
        end--;
    if (pass_over_old(s, chunk, end) >= end)
        return 0;
    struct kymo_packed packed;
    int rc = kymo__pack_part(s->packer, chunk, end, &packed);
    if (rc == 0)
        rc = append(s, &packed);
    if (rc == 0)
        kymo__store_relaxed(&chunk->passed, (uint32_t)end);
    return rc;
}

static int write_chunks(struct kymo_session *s)
{
    uint32_t count = kymo__load_acquire(&s->live.header->chunks);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        struct kymo_chunk *chunk = &s->live.chunks[i];
        uint32_t state = kymo__load_acquire(&chunk->state);
        if (state != KYMO__CHUNK_FREE && chunk->type == KYMO__BLOCK_RECORDS)
            rc = write_part(s, chunk, state == KYMO__CHUNK_OPEN);
    }
    return rc;
}

int kymo__flight_flush(struct kymo_session *s)
{
    struct kymo_flight *f = &s->flight;
    struct kymo_snapshot now = kymo__clock_snapshot();
    kymo__names_snapshot(&s->names, &now);
    pthread_mutex_lock(&f->lock);
    f->round++;
    f->oldest = oldest_tick(s, &now);
    int rc = kymo__names_flush(&s->names);
    if (rc == 0)
        rc = write_ring(s);
    if (rc == 0)
        rc = write_chunks(s);
    for (size_t i = 0; rc == 0 && i < KYMO__EXPIRED_SLOTS; i++)
        rc = tell(s, &s->live.expired[i]);
    if (rc == 0)
        rc = kymo__names_flush(&s->names);
    pthread_mutex_unlock(&f->lock);
    return rc;
}

static void expire_old(struct kymo_session *s)
{
    struct kymo_flight *f = &s->flight;
    if (!f->span)
        return;
    struct kymo_snapshot now = kymo__clock_snapshot();
    pthread_mutex_lock(&f->lock);
    f->oldest = oldest_tick(s, &now);
    while (f->blocks && front(f)->last_ticks < f->oldest)
        expire_front(s);
    pthread_mutex_unlock(&f->lock);
}

/* How many ticks the nanoseconds NS are, by the clock since the session began. */
static uint64_t ticks_in(const struct kymo_session *s, const struct kymo_snapshot *now, kymo_ns ns)
{
    kymo_ns lasted = now->monotonic - s->started.monotonic;
    if (lasted <= 0)
        return UINT64_MAX;
    return (uint64_t)((double)(now->ticks - s->started.ticks) / (double)lasted * (double)ns);
}

/* The clock's rate is known better and better. */
static void measure_slow(struct kymo_session *s)
{
    struct kymo_snapshot now = kymo__clock_snapshot();
    pthread_mutex_lock(&s->flight.lock);
    s->flight.watch.ticks = ticks_in(s, &now, s->flight.watch.slow);
    pthread_mutex_unlock(&s->flight.lock);
}

void kymo__flight_serve(struct kymo_session *s)
{
    struct kymo_flight *f = &s->flight;
    if (f->watch.slow)
        measure_slow(s);
    bool asked = kymo__exchange(&f->asked, 0u);
    uint32_t number = kymo__exchange(&requested, 0u);
    bool signalled = number && number == kymo__switch_now();
    if (signalled)
        kymo_instant("kymograph flight: signal");
    if (!asked && !signalled) {
        expire_old(s);
        return;
    }
    int rc = kymo__flight_flush(s);
    if (signalled)
        kymo__add_release(&kymo__flight_answers, 1u);
    if (asked) {
        f->result = rc;
        sem_post(&f->done);
    }
}

void kymo__flight_watch(struct kymo_session *s)
{
    struct kymo_flight *f = &s->flight;
    if (!f->watch.slow)
        return;
    pthread_mutex_lock(&f->lock);
    uint32_t count = kymo__load_acquire(&s->live.header->chunks);
    for (uint32_t i = 0; i < count; i++) {
        const struct kymo_chunk *chunk = &s->live.chunks[i];
        if (kymo__load_acquire(&chunk->state) == KYMO__CHUNK_OPEN &&
            chunk->type == KYMO__BLOCK_RECORDS)
            kymo__watch_chunk(&f->watch, chunk);
    }
    bool found = f->watch.found != 0;
    f->watch.found = 0;
    pthread_mutex_unlock(&f->lock);
    if (found) {
        kymo_instant("kymograph flight: slow call");
        kymo__flight_flush(s);
    }
}

/* ---- asking for it ---- */

static int mark(const char *why)
{
    static const char before[] = "kymograph flight: ";
    size_t len = strlen(why);
    char *name = kymo__alloc(sizeof(before) + len);
    if (!name)
        return -ENOMEM;
    memcpy(name, before, sizeof(before) - 1);
    memcpy(name + sizeof(before) - 1, why, len + 1);
    const char *kept = kymo_intern(name);
    if (kept != name)
        kymo_instant(kept);
    kymo__free(name);
    return 0;
}

/* Let the writer thread write, and wait for it. Under the life lock. */
static int ask(struct kymo_session *s)
{
    if (!s->writing)
        return kymo__flight_flush(s); /* it rests, and nobody wakes it meanwhile */
    kymo__store_release(&s->flight.asked, 1u);
    sem_post(&kymo__wake);
    while (sem_wait(&s->flight.done) < 0)
        continue; /* a signal */
    return s->flight.result;
}

void kymo__flight_hold(struct kymo_session *s)
{
    kymo__store_release(&s->flight.held, 1u);
}

void kymo__flight_release(struct kymo_session *s)
{
    if (kymo__flight_on(&s->flight))
        ask(s); /* should it fail, it is tried again at the end */
    kymo__store_release(&s->flight.held, 0u);
}

static int mark_and_ask(const char *why)
{
    struct kymo_session *s = kymo__session;
    if (!s)
        return -KYMO_EIDLE;
    if (!kymo__flight_on(&s->flight))
        return -KYMO_ENOTFLIGHT;
    int rc = mark(why ? why : "");
    return rc < 0 ? rc : ask(s);
}

int kymo_flight_write(const char *why)
{
    if (kymo__switch_forked())
        return -KYMO_EIDLE;
    kymo__life_lock();
    int rc = mark_and_ask(why);
    kymo__life_unlock();
    return rc;
}

void kymo_flight_request(void)
{
    uint32_t number = kymo__switch_now();
    int before = errno;
    if (number && kymo__exchange(&requested, number) != number)
        sem_post(&kymo__wake);
    errno = before;
}
