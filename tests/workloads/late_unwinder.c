/* A C program without an unwinder opens a C++ library for itself alone, which throws and catches. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    int (*work)(int);
    void *library = dlopen("./throws.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !(work = (int (*)(int))dlsym(library, "work")))
        return 1;
    printf("caught: %d\n", work(30000));
    return 0;
}
