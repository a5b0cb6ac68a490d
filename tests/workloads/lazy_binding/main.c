/* Calls through stubs that are bound when they are first used, each for the first time in a thread of
 * its own, with frames of the program above; some leave by a jump into the stub. */
#include <pthread.h>
#include <stdio.h>

#define ONE(n) int function_##n(int);
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) \
    ONE(n##8) ONE(n##9)
TEN(1) TEN(2) TEN(3) TEN(4)
int chosen_by_resolver(int), chosen_once_more(int);

#undef ONE
#define ONE(n)                                                                     \
    __attribute__((noinline)) static int call_##n(int x) { return function_##n(x) * 2; } \
    __attribute__((noinline)) static int jump_##n(int x) { return function_##n(x); }
TEN(1) TEN(2) TEN(3) TEN(4)

#undef ONE
#define ONE(n) sum += call_##n(1) + jump_##n(1);

__attribute__((noinline)) static int down(int frames) {
    int sum = 0;
    if (frames > 0) return down(frames - 1) + 1;
    TEN(1) TEN(2) TEN(3) TEN(4)
    return sum + chosen_by_resolver(1) * chosen_once_more(2);
}

static void *in_thread(void *sum) {
    for (int round = 0; round < 20; round++) *(int *)sum += down(20);
    return sum;
}

int main(void) {
    pthread_t threads[4];
    int sums[4] = {0};
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, in_thread, &sums[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%d %d %d %d\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
