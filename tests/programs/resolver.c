/* Allocates through functions that it looks up itself, in ways that no relocation slot shows, and
   prints how its environment looks. Also a library: Python calls `resolver_allocate`. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 7, SIZE = 54321 };

typedef void *allocator(size_t);
typedef void releaser(void *);

void resolver_allocate(void);

/* Allocate seven times, keep two blocks. */
void resolver_allocate(void)
{
    allocator *volatile allocate = (allocator *)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc");
    releaser *volatile release = (releaser *)(uintptr_t)dlsym(RTLD_DEFAULT, "free");
    for (int i = 0; i < TIMES; i++) {
        void *block = allocate(SIZE);
        memset(block, 1, SIZE);
        if (i >= 2)
            release(block);
    }
}

int main(int argc, char **argv)
{
    resolver_allocate();
    const char *preload = getenv("LD_PRELOAD");
    printf("%d %s %s\n", argc, argv[argc - 1], preload ? preload : "-");
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "KYMO_PRELOAD", strlen("KYMO_PRELOAD")) == 0)
            printf("%s\n", *variable);
    return 3;
}
