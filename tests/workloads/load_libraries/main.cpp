// Loads libraries in every way in which it matters who asks. Linked with libcaller.so and
// libnext.so; the others are found by name or path.
//
//   libcaller.so   RUNPATH $ORIGIN/sub, loads sub/libhidden.so, which nobody else finds by name
//   libnext.so     replaces a64l and asks RTLD_NEXT for the real one
//   one/, two/     libwork.so each: same layout, different answers, loaded at one address
//   libthrower.so  its constructor throws
//   libplain.so    C only; asks for nothing
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <string>

extern "C" int load_by_name(void);
extern "C" int load_by_origin(void);
extern "C" int load_by_name_and_close(void);

static std::string here;

static void *open_here(const char *name, int mode) {
    return dlopen((here + name).c_str(), mode);
}

// The loader's complaint, without the folder, which differs from run to run.
static std::string complaint() {
    const char *text = dlerror();
    if (!text) return "no complaint";
    std::string line = text;
    size_t at;
    while ((at = line.find(here)) != std::string::npos) line.erase(at, here.size());
    return line;
}

static const char *found(const void *what) { return what ? "found" : "not found"; }

static int work(void *library) {
    auto *function = reinterpret_cast<int (*)(void)>(dlsym(library, "work"));
    return function ? function() : -1;
}

int main(int, char **argv) {
    here = argv[0];
    here.erase(here.rfind('/') + 1);

    void *library = dlopen("libhidden.so", RTLD_LAZY);
    std::printf("by the program: %s, %s\n", found(library), complaint().c_str());
    std::printf("by the caller's RUNPATH: %d\n", load_by_name());
    std::printf("by the caller's ORIGIN: %d\n", load_by_origin());
    std::printf("and closed: %d\n", load_by_name_and_close());
    std::printf("RTLD_NEXT: %ld\n", a64l("/"));

    library = open_here("libmissing.so", RTLD_NOW);
    std::printf("missing: %s, %s\n", found(library), complaint().c_str());
    library = dlopen(nullptr, RTLD_LAZY);
    std::printf("the program has load_by_name: %s\n", found(dlsym(library, "load_by_name")));
    void *symbol = dlsym(library, "no_such_symbol");
    std::printf("and no_such_symbol: %s, %s\n", found(symbol), complaint().c_str());
    std::printf("then: %s\n", complaint().c_str());
    dlclose(library);

    // Two libraries at one address, many times.
    int sum = 0, same = 0;
    void *last = nullptr;
    for (int i = 0; i < 40; i++) {
        library = open_here(i % 2 ? "one/libwork.so" : "two/libwork.so", RTLD_NOW);
        sum += work(library);
        void *base = reinterpret_cast<void *>(static_cast<link_map *>(library)->l_addr);
        same += base == last;
        last = base;
        dlclose(library);
    }
    std::printf("work: %d\n", sum);
    // Where the kernel puts them is its own affair: said, but not part of the answer.
    std::fprintf(stderr, "loaded %d times where the other one was\n", same);

    void *plain = open_here("libplain.so", RTLD_NOW);
    std::printf("plain: %d\n", work(plain));
    void *apart = dlmopen(LM_ID_NEWLM, (here + "libplain.so").c_str(), RTLD_NOW);
    std::printf("plain, in a namespace of its own: %d %s\n", work(apart),
                apart != plain ? "apart" : "the same");
    int closed = dlclose(apart) + dlclose(plain);
    std::printf("closed: %d, once more: %s\n", closed, dlclose(plain) ? "refused" : "taken");
    library = dlopen("libm.so.6", RTLD_NOW);
    std::printf("libm by name: %s\n", found(dlsym(library, "cos")));

    try {
        open_here("libthrower.so", RTLD_NOW);
        std::printf("nothing thrown\n");
    } catch (int value) {
        std::printf("a constructor threw %d\n", value);
    }
    return 0;
}
