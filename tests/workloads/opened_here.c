/* Opens a library by a relative path, works in it, goes to another folder, opens and closes another
 * library, and works in the first one again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    char *here = getcwd(NULL, 0), *other;
    void *library = dlopen("./one.so", RTLD_NOW);
    int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : NULL;
    if (!work || asprintf(&other, "%s/two.so", here) < 0) return 2;
    int answers = 0;
    for (int i = 0; i < 40; i++) answers += work();
    if (chdir("/")) return 2;
    for (int i = 0; i < 3; i++) {
        library = dlopen(other, RTLD_NOW);
        if (library) dlclose(library);
    }
    for (int i = 0; i < 40; i++) answers += work();
    printf("%d\n", answers);
    return 0;
}
