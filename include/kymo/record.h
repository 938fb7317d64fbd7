/* record.h — recording: start and stop the session of this process.

   A process has at most one session. Between kymo_start and kymo_stop everything that its threads
   mark (mark.h), and what sources see (source.h), goes to one capture file that opens even if the
   process is killed. */
#ifndef KYMO_RECORD_H
#define KYMO_RECORD_H

#include <kymo/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a recording thread does when the memory budget is used up. */
enum kymo_policy {
    KYMO_HELP = 0, /* it encodes and writes one chunk itself: nothing is lost */
    KYMO_DROP = 1, /* it drops records; each is counted and the gap is recorded */
};

/* Options for one source, in a form that only that source knows: a struct of its own, which begins
   with its size. Lent until kymo_start returns. */
struct kymo_source_options {
    size_t size;
    const struct kymo_source_options *next; /* for another source, or NULL */
    const char *source;                     /* the source's name */
    const void *options;
};

/* Everything about a session. Members that are zero have their defaults. */
struct kymo_options {
    size_t size;      /* sizeof(struct kymo_options): lets the struct grow */
    const char *path; /* the capture to write; copied */
    uint64_t budget;  /* bytes of records held in memory; 0 means 64 MiB, at least 1 MiB */
    int policy;       /* enum kymo_policy */
    int level;        /* zstd level, 1 to 19; 0 means 1 */
    int clock;        /* 0: the counter register where it is sound; 1: CLOCK_MONOTONIC */
    /* One or both not 0: a flight recorder. Records stay in memory, and the last of them are
       written when kymo_flight_write asks for them, and at the end; older ones expire. */
    uint64_t flight_bytes; /* memory for packed records; 0 means 64 MiB when flight_ns is given */
    kymo_ns flight_ns;     /* older records expire; 0: only flight_bytes counts */
    kymo_ns slow_ns;       /* not 0: also write when a call or span has taken this long, at most a
                              tenth of a second after its end */
    /* Not 0: sample the stack of every thread this many times a second, at most 10000, with a timer
       and a signal of its own (docs/sampling.md). */
    uint32_t sample_hz;
    int sample_clock;        /* enum kymo_sampled: sample CPU time or elapsed time */
    const char *sample_root; /* NULL, or a source file of the interpreter's program: its functions,
                                and their callers, are left out of samples. Copied */
    /* NULL, or which registered sources (source.h) take part: "NAME=on" and "NAME=off", separated
       by commas; "*" is all of them, and the last word on a source counts. Sources not listed keep
       the default they were registered with. */
    const char *sources;
    const struct kymo_source_options *source_options; /* NULL, or options for sources */
    int no_command; /* not 0: the command line of the process is left out of the capture */
    /* With slow_ns, NULL: the time that calls spend in functions that are known to wait, such as
       time.sleep or epoll.poll, does not count, for them and for their callers. Otherwise only calls
       and spans whose name fits this pattern, in which * and ? stand for others, and all of their
       time. Copied */
    const char *slow_calls;
    /* Not 0: the process may end soon, so the session begins with little memory and gets more as it
       records. In a child made by fork it always does. */
    int brief;
    /* NULL, or what kymo_clock_rate wrote in another process of this machine. Saves a millisecond
       where the processor does not state the rate of its counter. Ignored if it comes from another
       machine or boot. */
    const char *clock_rate;
};

/* Start recording as OPTIONS say; set their size and path, and leave the rest zero for the
   defaults. They are not used after the call, and apply to this session only. An older capture at
   the path is replaced; any other file there is left alone.

   Returns 0; KYMO_ERUNNING when a session runs; KYMO_EOCCUPIED when the file is not a capture;
   KYMO_EBUSYFILE when another process records into it; KYMO_ESIGNALS when no signal is free for
   samples; KYMO_ESOURCE for a wrong list of sources (kymo_sources_check says why); -EINVAL for an
   option out of range; or the negative errno of what failed. On failure nothing is left behind.

   A child made by fork does not record until it calls kymo_start itself. A flight recorder needs
   flight_bytes of memory on top of the budget; if its process is killed, what is in the budget's
   memory is recovered, and records that had moved on to flight_bytes are lost and counted.

   Any thread; not from a signal handler, nor from a function that a source registered. */
KYMO_API int kymo_start(const struct kymo_options *options);

/* Stop recording: wait for calls in progress on other threads, let the sources finish, write what
   is left and close the file. No thread of Kymograph's remains. Runs by itself when the process
   exits.

   Returns 0, KYMO_EIDLE when no session runs, or the negative errno of the first write that failed;
   the capture then still opens and reports what is missing. Any thread, not necessarily the one
   that started; not from a signal handler. */
KYMO_API int kymo_stop(void);

/* The same in a process that is about to end, by _exit for example: the session's memory is left to
   the system, which frees it in less time. */
KYMO_API int kymo_stop_before_exit(void);

/* The same, but they return -EBUSY where kymo_start and kymo_stop would wait for another thread
   that starts or stops a session. For callers with a lock that such a thread may want. Their
   sources may want it too: leave out those you do not know ("*=off"). */
KYMO_API int kymo_start_at_once(const struct kymo_options *options);
KYMO_API int kymo_stop_at_once(void);

/* Stop Kymograph's threads temporarily, for example around fork(), and start them again. What is
   recorded meanwhile stays in the budget's memory; when that is used up, the policy applies.
   kymo_stop works at any time. Sampling continues, except on threads that begin meanwhile.

   kymo_writer_rest does nothing when no session runs. kymo_writer_work returns 0, also when there
   was nothing to do, KYMO_EIDLE, or the negative errno of what failed; it may be tried again. Any
   thread. */
KYMO_API void kymo_writer_rest(void);
KYMO_API int kymo_writer_work(void);

/* The same as kymo_writer_work, but returns -EBUSY where it would wait for a session that starts or
   stops. */
KYMO_API int kymo_writer_work_at_once(void);

/* Write the rate of the counter that this process has measured into TEXT of SIZE bytes, for
   kymo_options.clock_rate of other processes; 64 bytes are enough. Returns its length; 0 if nothing
   was measured, or if SIZE is too small. Any thread. */
KYMO_API size_t kymo_clock_rate(char *text, size_t size);

/* Compare the clock of this host with those of other hosts that do the same in FOLDER, an existing
   directory that they share, until the session ends. FOLDER is copied. Kymograph's own thread
   exchanges small files with them, in a hidden directory there, and stores in the capture what that
   says about the clocks. If the directory cannot be used, nothing is stored.

   Returns 0, also when that is done already; KYMO_EIDLE; -EINVAL for no folder; or -ENOTSUP when
   this host cannot be told from others, or there is no memory. Any thread. */
KYMO_API int kymo_compare_clocks(const char *folder);

/* Write what a flight recorder has kept until now, mark this moment on the calling thread as
   "kymograph flight: WHY", and continue with nothing kept; nothing is written twice. WHY is UTF-8
   and copied; NULL means "". Kymograph's own thread does the work and the caller waits for it.

   Returns 0, KYMO_EIDLE, KYMO_ENOTFLIGHT, -ENOMEM, or the negative errno of the write that failed:
   what could not be written is still kept, and may be tried again. Any thread. */
KYMO_API int kymo_flight_write(const char *why);

/* Ask Kymograph's thread to do the same soon; WHY is then "signal" and the mark is on that thread.
   Several requests before it runs count as one. Does nothing when no flight recorder runs. Any
   thread; may be called from a signal handler. */
KYMO_API void kymo_flight_request(void);

/* Until kymo_stop, let signal NUMBER request a write. With END not 0 the process then ends by that
   signal, as it would without a handler; otherwise it continues. A handler that the program
   installs later replaces this one.

   Returns 0, KYMO_EIDLE, KYMO_ENOTFLIGHT, -EBUSY when the program handles or ignores that signal,
   or -EINVAL when it cannot be handled. Any thread. */
KYMO_API int kymo_flight_on_signal(int number, int end);

/* Until kymo_stop, complete the capture if signal NUMBER ends the process. The handler that is
   installed now, if there is one, is still called, and should stop the session and end the
   process. If the session still runs GRACE_MS milliseconds after the signal, for example because
   the handler belongs to an interpreter that is inside a long C call, Kymograph's thread completes
   the capture, writes MESSAGE to standard error and ends the process by that signal. MESSAGE is
   copied and may be NULL. A handler that the program installs later replaces this one.

   Returns 0, KYMO_EIDLE, -EBUSY when another signal is handled in this way, -ENOMEM, or -EINVAL
   when the signal cannot be handled or the session is a flight recorder. Any thread. */
KYMO_API int kymo_end_on_signal(int number, unsigned grace_ms, const char *message);

/* Until kymo_stop, write "kymograph: SIGSEGV ended the program; " and MESSAGE to standard error if
   SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends the process. The process still ends by that
   signal. Signals that the program handles or ignores are left alone, and a handler that it
   installs later replaces this one. With a flight recorder the line is also written for the
   signals that end the process after kymo_flight_on_signal. MESSAGE is copied.

   Returns 0, KYMO_EIDLE or -ENOMEM. Any thread; the calling one also gets an alternate signal
   stack, if it has none, so that the line is written after an overflow of its stack. */
KYMO_API int kymo_crash_message(const char *message);

/* What the running session has done so far. */
struct kymo_stats {
    size_t size;
    uint64_t written_bytes;   /* in the capture file */
    uint64_t written_records; /* encoded and in the file */
    uint64_t dropped_records; /* for want of memory or disk */
    uint64_t helped_chunks;   /* written by recording threads themselves */
    uint64_t threads;         /* that recorded anything */
    uint64_t budget_bytes;    /* of chunk memory at most */
    uint64_t pool_bytes;      /* of chunk memory in use so far */
    int error;                /* first failure of a write: negative errno, or 0 */
    uint64_t expired_records; /* that a flight recorder no longer keeps */
};

/* Fill STATS, whose size the caller sets first. Waits for a session that starts or stops, and for a
   write in progress. Returns 0 or KYMO_EIDLE. Any thread. */
KYMO_API int kymo_stats(struct kymo_stats *stats);

/* The same, but returns -EBUSY where kymo_stats would wait. */
KYMO_API int kymo_stats_at_once(struct kymo_stats *stats);

/* For the inline functions: points to the number of the running session, 0 when none runs. Its page
   is wiped in a forked child, so that no child records by accident. */
KYMO_API extern const uint32_t *kymo__switch;

/* Return true while a session runs in this process. Costs one load. Any thread, and signal
   handlers. */
static inline bool kymo_running(void)
{
    return __atomic_load_n(kymo__switch, __ATOMIC_RELAXED) != 0;
}

#ifdef __cplusplus
}
#endif
#endif
