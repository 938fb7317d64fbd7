/* torchblocks.h — where the memory of tensors is, so that the blocks that torchmemory.h records can be
   followed through operators: export_memory_timeline divides memory into categories by that.

   Notes "operator.memory" have the addresses for the tensors that go into an operator, notes
   "operator.holder" the tensors of a module or an optimizer, and notes "operator.freed" the address
   of a block whose bytes are not known. */
#ifndef KYMO_EXT_TORCHBLOCKS_H
#define KYMO_EXT_TORCHBLOCKS_H

#include "compat.h"
#include "torchread.h"

/* Note the addresses for the tensors among COUNT inputs of OP, at most KYMO_OP_PART_VALUES, after
   those that were noted before. OP has begun. No lock, no
   allocation, no system call. */
void kymo__torch_note_blocks(const struct kymo__torch_layout *l, struct kymo_op op,
                             const struct kymo_op_value *inputs, size_t count);

/* Note that the block at ADDRESS, which was allocated before memory was recorded, is freed. Does
   nothing while blocks are not noted. */
void kymo__torch_note_freed(const void *address);

/* torch_blocks(on): begin or end; calls nest. Returns whether blocks are noted now, which takes a
   session, and a torch whose layout is known. */
PyObject *kymo__torch_blocks(PyObject *module, PyObject *flag);

/* torch_hold(held): a module or an optimizer has HELD, a list of (role, tensor), where a role is a
   small number that the reader knows. Does nothing while blocks are not noted. */
PyObject *kymo__torch_hold(PyObject *module, PyObject *held);

/* In a forked child. */
void kymo__torch_blocks_forked(void);

#endif
