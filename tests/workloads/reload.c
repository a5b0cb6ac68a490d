/* reload LIBRARY FUNCTION MILLISECONDS...: loads a library, calls a function in it for so much CPU
 * time, unloads it, and goes on with the next, which takes the place of the one before. Prints what
 * the function returns, the last time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long used_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
    void *before = NULL;
    for (int i = 1; i + 2 < argc; i += 3) {
        void *library = dlopen(argv[i], RTLD_NOW);
        int (*function)(void) = (int (*)(void))dlsym(library, argv[i + 1]);
        int answer;
        long until = used_ms() + atol(argv[i + 2]);
        do answer = function();
        while (used_ms() < until);
        printf("%s: %d%s\n", argv[i + 1], answer, function == before ? ", at the same address" : "");
        before = function;
        dlclose(library);
    }
    return 0;
}
