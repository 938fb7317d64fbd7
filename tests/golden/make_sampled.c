/* Makes the golden files of what version 1.2 of the format has more than 1.1, samples and their
   stacks, and of what 1.6 has more than 1.5, nodes of stacks in one definition, with a listing:

       ninja -C build/main tests/core/make_sampled
       build/main/tests/core/make_sampled tests/golden

   make_golden.c tells about golden files. Tests of the command read these captures too. */
#include "listing.h"
#include "sampled.h"

static void make(const char *folder, const char *name, bool calls)
{
    char path[512], text[512];
    struct kymo_capture *capture;
    snprintf(path, sizeof(path), "%s/%s.kymo", folder, name);
    snprintf(text, sizeof(text), "%s/%s.txt", folder, name);
    sampled_program(path, calls);
    FILE *out = fopen(text, "w");
    if (!out || kymo_open(path, &capture) < 0 || list_capture(out, capture) < 0)
        exit(1);
    kymo_close(capture);
    fclose(out);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    make(argv[1], "v1.2-sampled", false);
    make(argv[1], "v1.2-sampled-calls", true);
    sampled_chained = true;
    make(argv[1], "v1.6-sampled", false);
    return 0;
}
