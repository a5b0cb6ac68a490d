/* reload LIBRARY FUNCTION TIMES...: loads a library, calls a function in it, unloads it, and goes on
 * with the next, which takes the place of the one before. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    void *before = NULL;
    for (int i = 1; i + 2 < argc; i += 3) {
        void *library = dlopen(argv[i], RTLD_NOW);
        int (*function)(void) = (int (*)(void))dlsym(library, argv[i + 1]);
        int sum = 0;
        for (int left = atoi(argv[i + 2]); left > 0; left--) sum += function();
        printf("%s: %d%s\n", argv[i + 1], sum, function == before ? ", at the same address" : "");
        before = function;
        dlclose(library);
    }
    return 0;
}
