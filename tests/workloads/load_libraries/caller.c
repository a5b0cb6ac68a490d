#define _GNU_SOURCE
#include <dlfcn.h>

static int hidden(void *library) {
    if (!library) return -1;
    int (*work)(void) = (int (*)(void))dlsym(library, "work");
    return work ? work() : -2;
}

int load_by_name(void) {
    return hidden(dlopen("libhidden.so", RTLD_LAZY | RTLD_LOCAL));
}

int load_by_origin(void) {
    return hidden(dlopen("$ORIGIN/sub/libhidden.so", RTLD_LAZY | RTLD_LOCAL));
}

int load_by_name_and_close(void) {
    void *library = dlopen("libhidden.so", RTLD_LAZY | RTLD_LOCAL);
    return hidden(library) + (library ? dlclose(library) : 1000);
}
