/* imitate PATH EVENTS: write a capture of a made-up program with about EVENTS events; for benchmarks
   that need a large capture. */
#include <kymo/kymo.h>

#include "imitated.h"

enum { SPREAD = 3, DEEPEST = 12 };

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    imitate(argv[1], strtol(argv[2], NULL, 10), SPREAD, DEEPEST);
    return 0;
}
