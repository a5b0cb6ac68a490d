/* Burns CPU when loaded, unless PLAIN, and when asked. ANSWER tells the copies apart. */
static volatile unsigned long sink;

__attribute__((noinline)) static void burn(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink += i * i;
}

#ifndef PLAIN
__attribute__((constructor)) static void loaded(void) { burn(1000000); }
__attribute__((destructor)) static void unloaded(void) { burn(100000); }
#endif

int work(void) {
    burn(5000000);
    return ANSWER;
}
