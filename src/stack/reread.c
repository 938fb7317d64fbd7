/* reread.c — see reread.h. The words of all stacks are in a ring, where new ones overwrite the oldest;
   a stack knows how far the ring had come when its words were added. */
#include "reread.h"

#include <string.h>

void kymo__reread_keep(struct kymo_walker *own, const struct kymo_reread_key *key, kymo_stack stack)
{
    struct kymo_reread_word *const words = own->reread_fresh;
    size_t count = kymo__walk_words(own, key->frame, words, KYMO__REREAD_MOST);
    if (!count)
        return;
    for (; count % KYMO__REREAD_BLOCK; count++)
        words[count] = words[count - 1];
    uint64_t begin = own->reread_end, left = KYMO__REREAD_WORDS - begin % KYMO__REREAD_WORDS;
    if (count > left)
        begin += left; /* the words of one stack are in one piece */
    memcpy(&own->reread_words[begin % KYMO__REREAD_WORDS], words, count * sizeof *words);
    own->reread_end = begin + count;
    uint32_t place = kymo__reread_place(key);
    for (unsigned i = KYMO__REREAD_WAYS; --i;)
        own->rereads[place ^ i] = own->rereads[place ^ (i - 1)];
    own->rereads[place] = (struct kymo_reread){
        .frame = key->frame,
        .managed = key->managed,
        .version = key->version,
        .begin = begin,
        .session = key->session,
        .how = key->how,
        .stack = stack,
        .count = (uint32_t)count,
    };
}
