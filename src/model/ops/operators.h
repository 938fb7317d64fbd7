/* operators.h — the operators of a capture, those of a thread in the order in which they ended. An
   operator comes together with those in it, unless they are very many.

   Reads all threads together in order of time, because ids of tensors depend on it. Spans that the
   program marked are operators with scope 7, as annotations are in PyTorch. Memory is proportional
   to the operators open at once and to the addresses of tensors, not to the length of the capture.

   Ids start at 2 and are shared by threads, operators, tensors and storages; 1 is for the process.
   They do not depend on the part of the capture that is read. An operator's id is smaller than
   those of its children and of what it first takes. */
#ifndef KYMO_OPERATORS_H
#define KYMO_OPERATORS_H

#include "opdata.h"

#define KYMO__OP_PROCESS UINT64_C(1) /* the id of the process */
enum { KYMO__OP_USER_SCOPE = 7 };

struct kymo_opattribute {
    const char *name;
    const char *text; /* `length` bytes, not terminated */
    size_t length;
    uint8_t kind; /* enum kymo_op_attribute_kind */
};

/* A thread that has done nothing for this long is taken to have waited for what began last on
   another thread. Chakra's linker has the same rule. */
#define KYMO__OP_PAUSE ((kymo_ns)1000000)

struct kymo_opcall {
    const char *name;
    uint64_t id, parent; /* the operator around it, or its thread */
    uint64_t before;     /* what began before it on its thread: an operator, or the thread */
    uint64_t across;  /* what its thread waited for before: an operator of another thread, or 0 */
    uint64_t forward; /* operator of the forward pass that it belongs to, or 0 */
    uint32_t thread;  /* index in the capture */
    uint64_t number;  /* which enter of its thread it was */
    kymo_ns start, end;
    kymo_ns own;   /* without the operators in it */
    uint8_t flags; /* enum kymo_slice_flag */
    /* From its payload; see docs/internals/operators.md. */
    uint64_t rf_id;
    int64_t seq;        /* -1: none */
    uint32_t scope;     /* PyTorch's number */
    uint64_t tid;       /* the framework's number of its thread */
    uint64_t fw_tid;    /* that of the forward thread, or 0 */
    const char *schema; /* all of it if that was recorded, else the name of the overload */
    struct kymo_opdata inputs, outputs;
    struct kymo_opattribute *attributes;
    size_t attribute_count, attribute_capacity;
    struct kymo_buffer attribute_texts;
};

/* The forward operator of a backward operator that is reported, the first of those it has. */
struct kymo_op_link {
    uint32_t forward_thread, thread; /* indexes */
    uint64_t forward_number, number; /* which enters of their threads they were */
};

/* The operator that launched what a device did. */
struct kymo_op_launcher {
    uint64_t id, rf_id, tid; /* as in struct kymo_opcall */
    uint64_t bytes;          /* of the tensors that go into it */
    const char *name; /* or that of the operator around it, if its own is the same for everything
                         that processes send to each other */
};

/* What a device did: see oplaunch.h. */
struct kymo_op_device {
    const char *name;
    uint64_t id;
    kymo_ns start, end;
    int64_t device;
    uint64_t stream;
    struct kymo_op_launcher by;
};

/* A thread that has operators. */
struct kymo_op_thread {
    uint64_t id;
    uint32_t index;
    uint64_t tid; /* as in struct kymo_opcall */
};

/* A reader's callbacks; any may be NULL. A negative result stops the reading and is returned. What
   they get is lent for the call; `end` may keep OP's buffers if it leaves others in their place. */
struct kymo_ops_visitor {
    void *arg;
    int (*thread)(void *arg, const struct kymo_op_thread *thread); /* before its operators */
    int (*end)(void *arg, struct kymo_opcall *op);
    int (*device)(void *arg,
                  const struct kymo_op_device *device); /* of an operator that is reported */
    int (*link)(void *arg, const struct kymo_op_link *link);
    void (*last)(void *arg); /* always, at the end: texts of operators are freed after it */
};

/* Read the operators that OPTIONS select: those that began in its part, on its thread. One that is
   still open at the end is reported without outputs. Returns 0 or a negative code. */
struct kymo_export_options;
int kymo__operators_read(struct kymo_capture *capture, const struct kymo_export_options *options,
                         const struct kymo_ops_visitor *visitor);

void kymo__opcall_fini(struct kymo_opcall *op);

/* Is ATTRIBUTE an integer of 64 bits? Store it in *VALUE. */
bool kymo__op_attribute_integer(const struct kymo_opattribute *attribute, int64_t *value);

/* The id of an operator or span that has no record-function id of its own: enter NUMBER of thread
   INDEX of THREADS. Greater than any that PyTorch gives, exact in a double, and the same whatever
   part of the capture is read. */
static inline uint64_t kymo__op_own_rf_id(uint64_t number, uint64_t index, uint64_t threads)
{
    return (UINT64_C(1) << 52) + (number * threads + index) % (UINT64_C(1) << 52);
}

#endif
