#define _GNU_SOURCE
#include <dlfcn.h>

/* a64l(3) plus 1000. */
long a64l(const char *text) {
    long (*real)(const char *) = (long (*)(const char *))dlsym(RTLD_NEXT, "a64l");
    return 1000 + (real == a64l ? -1 : real(text));
}
