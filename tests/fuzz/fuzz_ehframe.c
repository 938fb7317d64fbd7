/* Any bytes can be an .eh_frame_hdr with everything that belongs to it, at any address.

   The first two bytes of an input say where in the others the header is, the next four how far
   after it the address is that a rule is wanted for; the others are all the memory there is. */
#include <stdlib.h>
#include <string.h>

#include "ehframe.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint16_t header;
    uint32_t distance;
    if (size < sizeof(header) + sizeof(distance) + 1)
        return 0;
    memcpy(&header, bytes, sizeof(header));
    memcpy(&distance, bytes + sizeof(header), sizeof(distance));
    bytes += sizeof(header) + sizeof(distance);
    size -= sizeof(header) + sizeof(distance);

    uint8_t *memory = malloc(size); /* so that reads outside of it are noticed */
    memcpy(memory, bytes, size);
    const uint8_t *hdr = memory + header % size;
    uint64_t low = (uint64_t)(uintptr_t)memory, at = (uint64_t)(uintptr_t)hdr;
    struct kymo_rule rule = kymo__ehframe_rule(hdr, low, low + size, at + distance);
    struct kymo_rule again = kymo__ehframe_rule(hdr, low, low + size, at + distance);
    if (rule.kind > KYMO__RULE_END || memcmp(&rule, &again, sizeof(rule)) != 0)
        abort();
#if defined(__x86_64__) /* what the walker relies on */
    if (rule.kind == KYMO__RULE_SP && (rule.cfa < 8 || rule.fp > 0))
        abort();
#endif
    free(memory);
    return 0;
}
