/* A C program without an unwinder opens a library that brings one, has it walk the stack, and closes it;
 * and again, when something else is where the unwinder was. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>

static volatile unsigned long sink;
static void burn(void) {
    for (unsigned long i = 0; i < 20000000; i++) sink += i * i;
}

int main(void) {
    for (int time = 0; time < 4; time++) {
        Dl_info unwinder = {0};
        void *library = dlopen("./walks.so", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) return 1;
        int (*frames)(void) = (int (*)(void))dlsym(library, "frames");
        dladdr(dlsym(library, "_Unwind_Backtrace"), &unwinder);
        burn();
        printf("%s, ", frames() > 0 ? "walked" : "no frames");
        dlclose(library);
        library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD);
        printf("%s, ", library == NULL ? "gone" : "still there");
        void *taken = mmap(unwinder.dli_fbase, 1 << 20, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        for (size_t size = 1 << 19; taken == MAP_FAILED && size >= 4096; size /= 2)
            taken = mmap(unwinder.dli_fbase, size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        printf("%s\n", taken == unwinder.dli_fbase ? "taken" : "not taken");
    }
    return 0;
}
