/* nodechain.c — see nodechain.h. */
#include "nodechain.h"

#include "varint.h"

int kymo__nodechain_flush(struct kymo_nodechain *chain, struct kymo_names *names)
{
    uint8_t further[KYMO__VARINT_MAX * KYMO__NODECHAIN_MOST], *end = further;
    if (!chain->count)
        return 0;
    for (uint32_t i = 1; i < chain->count; i++)
        end = kymo__varint_put(end, chain->frames[i]);
    const struct kymo_def def = {
        .type = KYMO__DEF_NODE,
        .number = {chain->first, chain->parent, chain->frames[0]},
        .text = further,
        .text_len = (size_t)(end - further),
    };
    int rc = kymo__names_put(names, &def);
    if (rc == 0)
        chain->count = 0;
    return rc;
}

int kymo__nodechain_add(struct kymo_nodechain *chain, struct kymo_names *names, uint32_t id,
                        uint32_t parent, uint32_t frame)
{
    bool follows = chain->count && chain->count < KYMO__NODECHAIN_MOST &&
                   id == chain->first + chain->count && parent == id - 1;
    if (!follows) {
        int rc = kymo__nodechain_flush(chain, names);
        if (rc < 0)
            return rc;
        chain->first = id;
        chain->parent = parent;
    }
    chain->frames[chain->count++] = frame;
    return 0;
}
