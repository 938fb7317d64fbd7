/* torchextras.c — see torchextras.h. */
#include "torchextras.h"

#include "torchblocks.h"
#include "torchintegers.h"

uint32_t kymo__torch_extras;

void kymo__torch_extra_set(enum kymo__torch_extra extra, bool on)
{
    if (on)
        __atomic_or_fetch(&kymo__torch_extras, (uint32_t)extra, __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(&kymo__torch_extras, ~(uint32_t)extra, __ATOMIC_RELAXED);
}

void kymo__torch_note_extras(const struct kymo__torch_layout *l, const char *name,
                             struct kymo_op op, const struct kymo_op_value *inputs, size_t count,
                             size_t tensors)
{
    uint32_t extras = __atomic_load_n(&kymo__torch_extras, __ATOMIC_RELAXED);
    if (!op.key || l->data < 0)
        return;
    if (extras & KYMO__TORCH_BLOCKS)
        kymo__torch_note_blocks(l, op, inputs, count);
    if (extras & KYMO__TORCH_INTEGERS)
        kymo__torch_note_integers(l, name, op, inputs, count, tensors);
}

void kymo__torch_extras_forked(void)
{
    kymo__torch_extras = 0;
    kymo__torch_integers_forked();
    kymo__torch_blocks_forked();
}
