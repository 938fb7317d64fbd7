/* crashprogram.h — how crash.c runs `kymograph stacks -`, decided while all is well. */
#ifndef KYMO_CRASHPROGRAM_H
#define KYMO_CRASHPROGRAM_H

/* In memory that cannot be written, for good. */
struct kymo_crash_program {
    char *path, **arguments, **environment;
};

/* WANTED, or when it is NULL what is found beside this library or in PATH; *FOUND is NULL when
   there is none. 0, -ENOMEM, or when WANTED cannot be run the reason: a negative errno. */
int kymo__crash_program_find(const char *wanted, const struct kymo_crash_program **found);

#endif
