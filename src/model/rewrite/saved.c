/* saved.c — kymo_capture_save: an opened capture as a file of its own.

   While a capture is being recorded, its newest records are only in the live file beside it, so that
   copying the file is not enough. */
#include <kymo/read.h>

#include "rewrite.h"
#include "sink.h"

int kymo_capture_save(struct kymo_capture *capture, const char *path)
{
    static const struct kymo_rewrite_options plain;
    const struct kymo_part whole = {.capture = capture, .from = INT64_MIN, .to = INT64_MAX};
    return kymo__rewrite(&whole, 1, path, &plain);
}

int kymo_capture_check(const char *path)
{
    return kymo__sink_check(path);
}
