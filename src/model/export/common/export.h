/* export.h — the table of export formats. */
#ifndef KYMO_EXPORT_H
#define KYMO_EXPORT_H

#include "capture.h"
#include "outfile.h"

struct kymo_export_format {
    const char *name;
    const char *extension; /* with its dot; .gz may follow. If it ends in .gz, the format is always
                              compressed */
    const char *purpose;   /* which program it is for, in a few words */
    /* NULL: the Python package writes it. */
    int (*write)(struct kymo_capture *capture, const struct kymo_export_options *options,
                 struct kymo_outfile *out);
};

/* Format INDEX, or NULL past the last. */
const struct kymo_export_format *kymo__export_format(size_t index);

/* The one called NAME, or NULL. */
const struct kymo_export_format *kymo__export_named(const char *name);

/* The one that PATH's extension selects, or NULL. */
const struct kymo_export_format *kymo__export_for(const char *path);

#endif
