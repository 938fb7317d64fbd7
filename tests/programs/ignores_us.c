/* A program that is linked statically: nothing can be loaded into it. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char *volatile block = malloc(54321);
    printf("%d %s\n", argc, argv[argc - 1]);
    free(block);
    return 4;
}
