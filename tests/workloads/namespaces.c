/* namespaces ROUNDS: libraries in namespaces of their own, each with a C library of its own: several at a
 * time, and one after the other at the same addresses. They work in their constructors and when called.
 * The C library has room for a dozen in all. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_A_TIME = 4 };

__attribute__((noinline)) static int call(void *library) {
    int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : NULL;
    return work ? work() : -1000000;
}

int main(int count, char **arguments) {
    const char *paths[] = {"./one.so", "./two.so"};
    int rounds = count > 1 ? atoi(arguments[1]) : 2;
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        void *libraries[AT_A_TIME];
        for (int j = 0; j < AT_A_TIME; j++)
            libraries[j] = dlmopen(LM_ID_NEWLM, paths[(i + j) % 2], RTLD_NOW);
        for (int j = 0; j < AT_A_TIME * 4; j++) sum += call(libraries[j % AT_A_TIME]);
        for (int j = 0; j < AT_A_TIME; j++)
            if (libraries[j]) dlclose(libraries[j]);
    }
    printf("sum %ld\n", sum);
    return 0;
}
