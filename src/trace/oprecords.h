/* oprecords.h — the values of an operator in a chunk, as numbers that are not varints: making varints
   takes a program longer than all else that it does to record an operator.

   The payload begins with a record of seven numbers (values.h) whose count of lists is
   KYMO__CHAIN_VALUES. Then come records of kind MORE, one or more for each value. The lowest 8 bits of
   the word of a value's first record are its kind (kymo/op.h).
   - A tensor: `ticks` is its address; bits 8 to 55 of `word` are the address of its storage. The next
     record has in `ticks`, from bit 0 on, the number of its elements (36 bits), the bytes of each (8),
     the number of its dimensions (8), and whether it has an offset (1); and in `word` the keys of its
     type and device, of 28 bits each. If it has an offset, that is `ticks` of the next record. Then
     come sizes and strides, of two dimensions in each record: 32 bits each in `ticks`, and 28 in
     `word`. It has no marks.
   - Any other: `ticks` is its integer, the bits of its double, or its count of elements.
   It stands for seven numbers and the fifteen lists of an operator's inputs. */
#ifndef KYMO_OPRECORDS_H
#define KYMO_OPRECORDS_H

#include <kymo/opquick.h>

#include "buffer.h"

/* PAYLOAD has HEAD bytes of varints, and then the records, 15 bytes of each: make varints of them. It
   becomes empty if they are damaged or memory is short. */
void kymo__oprecords_unpack(struct kymo_buffer *payload, size_t head);

#endif
