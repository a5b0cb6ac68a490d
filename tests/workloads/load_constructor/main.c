/* Loads two libraries one after the other. Nearly all CPU time goes into their constructors, which
   run before dlopen returns. They have the same layout, so the second takes the place of the first;
   nobody looks up a symbol. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void load_and_unload(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW);
    printf("%s: %s\n", name, library ? "loaded" : dlerror());
    if (library) dlclose(library);
}

int main(int argc, char **argv) {
    (void)argc;
    char *folder = argv[0];
    *strrchr(folder, '/') = 0;
    load_and_unload(folder, "libfirst.so");
    load_and_unload(folder, "libsecond.so");
    return 0;
}
