/* sessionparts.c — makes a session out of its parts. */
#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "alloc.h"
#include "busfault.h"
#include "clockrate.h"
#include "file.h"
#include "local.h"
#include "procid.h"
#include "wallnote.h"

enum {
    FIRST_CHUNKS = 32, /* allocated by start: 2 MiB */
    BRIEF_CHUNKS = 2,  /* in a process that may live for a moment only: for one thread */
    LEAST_CHUNKS = 16, /* a smaller budget is raised to this */
    DEFAULT_BUDGET = 64 << 20,
};

static void describe_process(struct kymo_session *s, const struct kymo_options *o)
{
    char text[4096];
    ssize_t n = o->no_command ? 0 : kymo__file_text("/proc/self/cmdline", text, sizeof(text));
    for (ssize_t i = 0; i + 1 < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    if (n > 0)
        kymo__names_meta(&s->names, "command_line", text);
    char own[32];
    kymo__system_name((uint32_t)getpid(), own);
    if (*own)
        kymo__names_meta(&s->names, "process_name", own);
    struct utsname name;
    if (uname(&name) == 0) {
        kymo__names_meta(&s->names, "host", name.nodename);
        kymo__names_meta(&s->names, "kernel", name.release);
        kymo__names_meta(&s->names, "machine", name.machine);
    }
    kymo__names_meta(&s->names, "kymo_version", kymo_version());
    if (!s->pool.live.path)
        kymo__names_meta(&s->names, "live_file", kymo_strerror(s->pool.live.reason));
    kymo__wall_note(&s->names, "wall_clock.start", NULL);
}

static void fill_header(struct kymo_file_header *header, int clock, const char *rate,
                        struct kymo_snapshot now)
{
    uint8_t boot[sizeof(header->boot)];
    kymo__boot_id(boot);
    if (rate)
        kymo__clock_rate_read(rate, boot);
    *header = (struct kymo_file_header){
        .pid = (uint32_t)getpid(),
        .clock = (uint32_t)clock,
        .process_start = kymo__process_start_own(),
        .ticks_rate = kymo__clock_rate(&now),
        .ticks = now.ticks,
        .monotonic = now.monotonic,
        .wall = now.wall,
    };
    memcpy(header->boot, boot, sizeof(boot));
    if (getrandom(header->capture, sizeof(header->capture), GRND_NONBLOCK) !=
        (ssize_t)sizeof(header->capture)) {
        memcpy(header->capture, &now, sizeof(header->capture));
        header->capture[0] ^= (uint8_t)header->pid;
    }
}

/* Connect the parts; none of them works yet. */
static void connect_parts(struct kymo_session *s)
{
    kymo__pool_init(&s->pool);
    kymo__capfile_init(&s->file, &s->pool.live);
    kymo__schemas_init(&s->schemas);
    kymo__opnames_init(&s->ops);
    kymo__follow_init(&s->follow, &s->names, &s->file);
    s->lanes.pool = &s->pool;
    s->lanes.names = &s->names;
    kymo__pens_init(&s->tracks.pens, &s->pool, &s->file);
    s->tracks.lanes = &s->lanes;
    s->tracks.names = &s->names;
    s->tracks.schemas = &s->schemas;
    kymo__flight_init(&s->flight);
    s->flight.pool = &s->pool;
    s->flight.names = &s->names;
    s->flight.file = &s->file;
    s->flight.follow = &s->follow;
    s->flight.pens = &s->tracks.pens;
    s->drain.pool = &s->pool;
    s->drain.file = &s->file;
    s->drain.names = &s->names;
    s->drain.flight = &s->flight;
    s->drain.follow = &s->follow;
    s->drain.pens = &s->tracks.pens;
    s->drain.conclude = kymo__session_conclude;
    s->parts.lanes = &s->lanes;
    s->parts.names = &s->names;
    s->parts.schemas = &s->schemas;
    s->parts.ops = &s->ops;
    s->parts.tracks = &s->tracks;
    s->parts.flight = &s->flight;
    s->parts.drain = &s->drain;
}

/* Set up packers and the flight recorder as O asks for. */
static int prepare_writing(struct kymo_session *s, const struct kymo_options *o, int level)
{
    bool help = o->policy == KYMO_HELP;
    int rc = kymo__drain_init(&s->drain, level, help, o->brief, &s->schemas.plans);
    s->flight.packer = s->drain.packer;
    if (rc == 0 && o->slow_calls) {
        s->slow_calls = kymo__alloc_text(o->slow_calls, strlen(o->slow_calls));
        rc = s->slow_calls ? 0 : -ENOMEM;
    }
    if (rc == 0)
        rc = kymo__flight_begin(&s->flight, o->flight_bytes, o->flight_ns, o->slow_ns);
    s->follow.holes = kymo__flight_on(&s->flight);
    s->pool.help = help ? kymo__drain_help : NULL;
    s->pool.help_arg = &s->drain;
    s->pool.failing = kymo__flight_on(&s->flight) ? NULL : &s->file.failing;
    return rc;
}

/* Create the live file and its first chunks. */
static int prepare_chunks(struct kymo_session *s, const struct kymo_options *o,
                          const uint8_t *capture)
{
    struct kymo_live *live = &s->pool.live;
    uint64_t chunks = (o->budget ? o->budget : DEFAULT_BUDGET) / KYMO__CHUNK_BYTES;
    chunks = chunks < LEAST_CHUNKS ? LEAST_CHUNKS : chunks > 1u << 24 ? 1u << 24 : chunks;
    const bool flight = kymo__flight_on(&s->flight);
    int rc = kymo__live_create(live, s->file.sink.temporary, capture, (uint32_t)chunks,
                               o->brief && !flight);
    if (rc == 0)
        live->header->flight = flight;
    if (rc == 0 && !kymo__pool_grow(&s->pool, o->brief ? BRIEF_CHUNKS : FIRST_CHUNKS))
        rc = live->reason ? live->reason : -ENOMEM;
    return rc;
}

/* Begin the stream of definitions. */
static int prepare_names(struct kymo_session *s, const struct kymo_options *o, int level)
{
    int rc = kymo__names_init(&s->names, kymo__chunks_pop(&s->pool.free, s->pool.live.chunks),
                              level, kymo__capfile_append, &s->file, &s->file.failing);
    if (rc < 0)
        return rc;
    s->names.watched = s->slow_calls;
    s->flight.watch.names = &s->names;
    s->flight.watch.chosen = s->slow_calls != NULL;
    describe_process(s, o);
    kymo__names_snapshot(&s->names, &s->lanes.started);
    /* A process that may live for a moment only leaves them in the live file until there is more. */
    return o->brief && s->pool.live.path ? 0 : kymo__names_flush(&s->names);
}

int kymo__session_new(const struct kymo_options *o, struct kymo_session **out)
{
    struct kymo_session *s = *out = kymo__alloc_zeroed(sizeof(*s));
    if (!s)
        return -ENOMEM;
    connect_parts(s);
    const int level = o->level ? o->level : 1;
    const int clock = o->brief ? kymo__clock_keep(o->clock) : kymo__clock_choose(o->clock);
    s->lanes.started = s->flight.started = s->drain.started = kymo__clock_snapshot();
    struct kymo_file_header header;
    fill_header(&header, clock, o->clock_rate, s->lanes.started);
    int rc = prepare_writing(s, o, level);
    if (rc == 0)
        rc =
            (o->brief ? kymo__sink_create_new : kymo__sink_create)(&s->file.sink, o->path, &header);
    if (rc == 0)
        rc = prepare_chunks(s, o, header.capture);
    if (rc == 0)
        rc = kymo__busfault_begin(&s->pool.live);
    if (rc == 0)
        rc = prepare_names(s, o, level);
    if (rc == 0)
        rc = kymo__desk_new(&s->parts.desk, &s->names, o->sample_root);
    s->drain.desk = s->parts.desk;
    if (rc == 0)
        rc = kymo__sampler_new(&s->parts.sampler, o, &s->lanes, s->parts.desk, &s->drain.id);
    if (rc == 0)
        rc = kymo__drain_start(&s->drain);
    /* Nothing can fail from here on: an older capture may be replaced. */
    if (rc == 0)
        rc = kymo__sink_publish(&s->file.sink);
    if (rc == 0)
        s->pool.live.reason = kymo__live_rename(&s->pool.live, s->file.sink.path);
    kymo__store_release(&s->drain.published, rc == 0);
    return rc;
}

void kymo__session_free(struct kymo_session *s, bool keep_live)
{
    kymo__desk_free(s->parts.desk); /* its thread uses the sampler */
    kymo__sampler_free(s->parts.sampler);
    kymo__names_fini(&s->names);
    kymo__schemas_fini(&s->schemas);
    kymo__opnames_fini(&s->ops);
    kymo__pens_fini(&s->tracks.pens);
    kymo__drain_fini(&s->drain);
    /* The capture is locked until its live file is gone: whoever takes its place has one of that name. */
    kymo__pool_fini(&s->pool, keep_live);
    kymo__capfile_fini(&s->file);
    kymo__flight_fini(&s->flight);
    kymo__follow_fini(&s->follow);
    kymo__free(s->slow_calls);
    kymo__free(s);
}
