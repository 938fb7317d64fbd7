/* crashprogram.h — how crash.c runs `kymograph stacks -`; prepared before any crash. */
#ifndef KYMO_CRASHPROGRAM_H
#define KYMO_CRASHPROGRAM_H

/* Lives in read-only memory and is never freed. */
struct kymo_crash_program {
    char *path, **arguments, **environment;
};

/* Find WANTED or, when it is NULL, the program beside this library or in PATH; *FOUND is NULL
   when there is none. Returns 0, -ENOMEM, or the negative errno that says why WANTED cannot be
   run. */
int kymo__crash_program_find(const char *wanted, const struct kymo_crash_program **found);

#endif
