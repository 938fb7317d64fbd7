/* perfmap.c — /tmp/perf-PID.map: a line for each function, START SIZE NAME, the numbers in
   hexadecimal and the name to the end of the line. */
#include <errno.h>

#include "generated.h"

/* Parse the number at *AT and the blank after it. */
static bool number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    const uint8_t *p = *at;
    uint64_t v = 0;
    if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
        p += 2;
    const uint8_t *digits = p;
    for (; p < end; p++) {
        unsigned letter = *p | 0x20u;
        if (*p >= '0' && *p <= '9')
            v = v << 4 | (uint64_t)(*p - '0');
        else if (letter >= 'a' && letter <= 'f')
            v = v << 4 | (uint64_t)(letter - 'a' + 10);
        else
            break;
    }
    if (p == digits || p - digits > 16 || p == end || *p != ' ')
        return false;
    while (p < end && *p == ' ')
        p++;
    *at = p;
    *value = v;
    return true;
}

int kymo__perfmap_read(struct kymo_codes *codes, struct kymo_texts *texts, struct kymo_view file)
{
    const uint8_t *at = file.at, *file_end = file.at + file.len;
    while (at < file_end) {
        const uint8_t *end = memchr(at, '\n', (size_t)(file_end - at));
        end = end ? end : file_end;
        uint64_t begin, size;
        if (number(&at, end, &begin) && number(&at, end, &size) && at < end && size > 0 &&
            size <= UINT64_MAX - begin && !memchr(at, 0, (size_t)(end - at))) {
            struct kymo_code code = {
                .begin = begin,
                .end = begin + size,
                .name = kymo__texts_keep(texts, (const char *)at, (size_t)(end - at)),
            };
            if (!code.name || kymo__codes_add(codes, &code) < 0)
                return -ENOMEM;
        }
        at = end + (end < file_end);
    }
    return 0;
}
