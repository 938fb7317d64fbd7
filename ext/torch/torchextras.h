/* torchextras.h — what is noted about an operator besides itself, for those who ask for it. One test
   at its begin is all that it costs the others. */
#ifndef KYMO_EXT_TORCHEXTRAS_H
#define KYMO_EXT_TORCHEXTRAS_H

#include <stdbool.h>

#include "torchread.h"

enum kymo__torch_extra {
    KYMO__TORCH_INTEGERS = 1, /* torchintegers.h */
    KYMO__TORCH_BLOCKS = 2,   /* torchblocks.h */
};

/* Those that are on, a bit each. Read at the begin of every operator with inputs. */
extern uint32_t kymo__torch_extras;

void kymo__torch_extra_set(enum kymo__torch_extra extra, bool on);

/* Note what is on about OP, which is called NAME and has begun with COUNT inputs, after TENSORS tensors
   that were noted before. */
void kymo__torch_note_extras(const struct kymo__torch_layout *l, const char *name,
                             struct kymo_op op, const struct kymo_op_value *inputs, size_t count,
                             size_t tensors);

/* In a forked child: nothing is on. */
void kymo__torch_extras_forked(void);

#endif
