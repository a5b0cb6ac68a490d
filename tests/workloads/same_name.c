/* Functions of one name: three parts, each with a static function `work`, two of them in this file and one in another
 * (same_name_too.c). With -DMOVED those of this file stand elsewhere. */
#define WORK(times)                                                   \
    static __attribute__((noinline)) void work(void) {                \
        for (volatile long i = 0; i < (times) * 10000000L; i++) continue; \
    }
#ifdef MOVED
#line 500
#endif
#if PART == 1
WORK(3)
void one(void) { work(); }
#elif PART == 2
WORK(6)
void two(void) { work(); }
#else
#include "same_name_too.c"
void one(void);
void two(void);
int main(void) {
    one();
    two();
    three();
    return 0;
}
#endif
