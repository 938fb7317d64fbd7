#include "flame.h"
int kymo__flame_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out)
{
    (void)capture, (void)options, (void)out;
    return -38;
}
