// What a generated program loads and unloads while it runs.

static volatile unsigned long loaded;

__attribute__((constructor)) static void begin() {
    for (int i = 0; i < 20000; i++) loaded = loaded * 3 + 1;
}

extern "C" __attribute__((noinline)) unsigned long library_work(int depth, unsigned long (*back)(int)) {
    if (depth == 0) return back(3);
    unsigned long below = library_work(depth - 1, back);
    asm volatile("" : "+r"(below));
    return below * 3 + depth;
}
