/* capture.h — what the reading API stands on: a reader and its clock. */
#ifndef KYMO_CAPTURE_H
#define KYMO_CAPTURE_H

#include "reader.h"
#include "timebase.h"

struct kymo_capture {
    struct kymo_reader *reader;
    struct kymo_timebase base;
};

#endif
