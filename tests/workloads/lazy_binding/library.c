/* Forty functions, each of which the program calls through a stub of its own, and two that are chosen
 * at run time by a resolver that burns CPU while the loader waits for it. */
static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

#define ONE(n)                                                                     \
    int function_##n(int x) {                                                      \
        burn(20000);                                                               \
        return x + n;                                                              \
    }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) \
    ONE(n##8) ONE(n##9)
TEN(1) TEN(2) TEN(3) TEN(4)

static int chosen(int x) {
    burn(20000);
    return x + 1000;
}

typedef int (*function)(int);
static function choose(void) {
    burn(20000000);
    return chosen;
}

int chosen_by_resolver(int x) __attribute__((ifunc("choose")));
int chosen_once_more(int x) __attribute__((ifunc("choose")));
