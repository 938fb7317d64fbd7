/* heap.h — what a capture says about memory: who held it at the peak, what is alive at the end, how
   it changed over time.

   One pass over the capture replays every allocation and free in order of time, on two cores;
   memory depends on the number of blocks alive at once and of distinct stacks, not on the length of
   the capture.

   Kinds of numbers. Bytes of blocks are "requested": what the program asked its allocator for.
   Bytes of mappings are "mapped": address space from mmap and the like. Neither is resident memory,
   which the recorder samples and kymo_heap_info gives separately.

   Threads: as in <kymo/read.h>. */
#ifndef KYMO_HEAP_H
#define KYMO_HEAP_H

#include <kymo/read.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What memory is for, as far as the function that allocated it tells. */
enum kymo_heap_category {
    KYMO_HEAP_OBJECTS = 0,  /* Python objects */
    KYMO_HEAP_PYTHON = 1,   /* other memory of the interpreter */
    KYMO_HEAP_TRACKED = 2,  /* reported by a library, such as numpy's arrays */
    KYMO_HEAP_NATIVE = 3,   /* malloc, operator new, … */
    KYMO_HEAP_MAPPINGS = 4, /* mmap, brk, … */
    KYMO_HEAP_ARENAS = 5,   /* mappings that Python objects lie in. Not part of any sum if the
                               objects were recorded */
    KYMO_HEAP_CATEGORIES = 6,
};

/* A word for it: "objects", "python", "tracked", "native", "mappings", "arenas". */
KYMO_API const char *kymo_heap_category_word(unsigned category);

/* How the capture was recorded. */
enum kymo_heap_mode {
    KYMO_HEAP_NONE = 0,    /* it has no memory events */
    KYMO_HEAP_EXACT = 1,   /* every allocation */
    KYMO_HEAP_SAMPLED = 2, /* some, chosen by size: sums are estimates */
    KYMO_HEAP_LIVE = 3,    /* only what was alive, as sums by stack */
};

/* Which memory a list of rows is about. */
enum kymo_heap_set {
    KYMO_HEAP_AT_PEAK = 0,   /* alive at the high-water mark */
    KYMO_HEAP_AT_END = 1,    /* alive at the end of the capture */
    KYMO_HEAP_AT_TIME = 2,   /* alive at options.at */
    KYMO_HEAP_OLD = 3,       /* alive at the end and at least options.older_than old */
    KYMO_HEAP_ALL = 4,       /* everything allocated, freed or not */
    KYMO_HEAP_TEMPORARY = 5, /* freed by the thread that allocated it before that thread made
                                options.temporary more allocations. Moves by realloc do not count.
                                Nothing unless the mode is exact */
    KYMO_HEAP_SETS = 6,
};

/* What to compute. */
struct kymo_heap_options {
    size_t size;
    kymo_ns at;         /* for KYMO_HEAP_AT_TIME; INT64_MAX: not needed */
    kymo_ns older_than; /* for KYMO_HEAP_OLD: an age in nanoseconds */
    uint32_t temporary; /* for KYMO_HEAP_TEMPORARY; 0 for the default, 10 */
    uint32_t points;    /* most points of the timeline; 0 for the default, 512 */
    /* As in struct kymo_figures_options. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

/* The memory of a capture. */
struct kymo_heap;

/* Replay CAPTURE. OPTIONS may be NULL; otherwise begin with at = INT64_MAX and the rest 0. On
   success *HEAP belongs to the caller, who frees it before closing the capture. A capture without
   memory events gives an empty one, of mode KYMO_HEAP_NONE. Returns 0 or a negative code. */
KYMO_API int kymo_heap_new(struct kymo_capture *capture, const struct kymo_heap_options *options,
                           struct kymo_heap **heap);

/* Free HEAP. NULL is fine. */
KYMO_API void kymo_heap_free(struct kymo_heap *heap);

/* A sum of memory. In a sampled capture both are estimates, and `error` is the standard error of
   `bytes`; otherwise it is 0. */
struct kymo_heap_sum {
    uint64_t bytes, count;
    double error;
};

/* Totals of a capture. */
struct kymo_heap_info {
    size_t size;
    int mode;        /* enum kymo_heap_mode */
    uint64_t rate;   /* sampled: mean bytes between samples */
    uint64_t events; /* memory events read */
    uint64_t allocations, frees, reallocations, mappings, unmappings;
    uint64_t unknown_frees; /* of blocks that were alive before the start */
    uint64_t unseen_frees;  /* of blocks that libraries allocated while they were loaded */
    uint64_t disorder;  /* allocations at an address that was still alive; 0 in a good capture */
    uint64_t lost;      /* events that were recorded and lost, of any kind */
    const char *missed; /* what the recorder says it could not see, "" for nothing */
    struct kymo_heap_sum set[KYMO_HEAP_SETS]; /* by enum kymo_heap_set */
    uint64_t peak_by[KYMO_HEAP_CATEGORIES];   /* bytes at the peak */
    uint64_t end_by[KYMO_HEAP_CATEGORIES];    /* bytes at the end */
    kymo_ns peak_time;                        /* 0: unknown, in a capture of the live set only */
    uint64_t
        in_arenas_at_peak; /* bytes of Python's small blocks at the peak that are in the arenas of
                                   peak_by: those mapped since the start */
    /* Resident memory of the process, in bytes; 0 if it was not recorded. */
    uint64_t resident_start, resident_most, resident_end;
    uint64_t resident_at_peak; /* the last one measured before peak_time */
    kymo_ns resident_most_time;
    /* The live set only, whose peak is that of blocks: the most bytes that were mapped at once, and
       when that was; 0 if nothing was. */
    uint64_t mapped_most;
    kymo_ns mapped_most_time;
};

/* Fill INFO, whose size the caller sets first. Its texts are lent until kymo_heap_free. Returns 0
   or -EINVAL. */
KYMO_API int kymo_heap_info(const struct kymo_heap *heap, struct kymo_heap_info *info);

/* Memory of one stack and one allocating function. */
struct kymo_heap_row {
    size_t size;
    uint32_t stack;       /* for kymo_capture_stack; 0: none was recorded */
    uint32_t category;    /* enum kymo_heap_category */
    const char *function; /* "malloc"; lent until kymo_close */
    struct kymo_heap_sum sum;
};

/* Fill ROW, whose size the caller sets first, with row INDEX of SET; the largest is row 0, and rows
   of no bytes and no blocks are left out. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_heap_row(const struct kymo_heap *heap, unsigned set, size_t index,
                           struct kymo_heap_row *row);

/* A point of the timeline: the moment of the most memory within its part of the capture, so that no
   peak is missed however few points there are. */
struct kymo_heap_point {
    size_t size;
    kymo_ns time;
    uint64_t bytes[KYMO_HEAP_CATEGORIES];
    uint64_t resident; /* the most in that part; 0 if none was measured */
};

/* Fill POINT, whose size the caller sets first, with point INDEX, in order of time. Returns 0, or
   -ENOENT past the last. */
KYMO_API int kymo_heap_point(const struct kymo_heap *heap, size_t index,
                             struct kymo_heap_point *point);

/* Blocks by size: those of at least `least` bytes and less than twice as many. Mappings are not
   blocks. */
struct kymo_heap_class {
    size_t size;
    uint64_t least;                      /* 0: blocks of no bytes */
    struct kymo_heap_sum all, peak, end; /* allocated, at the peak, at the end */
};

/* Fill CLASS, whose size the caller sets first, with size class INDEX, the smallest first. Returns
   0, or -ENOENT past the last. */
KYMO_API int kymo_heap_class(const struct kymo_heap *heap, size_t index,
                             struct kymo_heap_class *class_);

/* A live set written by the recorder as a whole, because the program or a user asked for it. */
struct kymo_heap_snapshot {
    size_t size;
    uint64_t number; /* 0: at the end, 1: at the peak, 2 and more: on request */
    kymo_ns time;
    const char *reason; /* lent until kymo_heap_free */
    size_t row, rows;   /* its rows, for kymo_heap_held */
    struct kymo_heap_sum sum;
};
KYMO_API int kymo_heap_snapshot(const struct kymo_heap *heap, size_t index,
                                struct kymo_heap_snapshot *snapshot);
KYMO_API int kymo_heap_held(const struct kymo_heap *heap, size_t index, struct kymo_heap_row *row);

/* Python objects that survived, by type and stack of birth. */
struct kymo_heap_object {
    size_t size;
    uint64_t snapshot, count, bytes;
    const char *type; /* lent until kymo_close */
    uint32_t stack;   /* where they were born; 0: unknown */
    const char
        *path;      /* the references that keep one of them alive, from a root; "" if unknown; lent
                         until kymo_heap_free */
    uint64_t owned; /* bytes that belong to them, such as the items of a list, beside `bytes` */
};
KYMO_API int kymo_heap_object(const struct kymo_heap *heap, size_t index,
                              struct kymo_heap_object *object);

#ifdef __cplusplus
}
#endif
#endif
