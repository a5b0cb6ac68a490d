// Handlers of errors leave calls of MPI by an exception and by jumps. After each, the program waits in other calls,
// further in than the one that was left; after the last, which no function of the C library has made, further out.
#include <csetjmp>
#include <cstdio>

extern "C" {
int MPI_Init(int *, char ***);
int MPI_Barrier(void *);
int MPI_Wait(void *, void *);
extern void (*handler)();
}

static jmp_buf back;
static void *back_by_builtin[5];
static void by_exception() { throw 1; }
static void by_longjmp() { longjmp(back, 1); }
static void by_builtin() { __builtin_longjmp(back_by_builtin, 1); }

__attribute__((noinline)) static void waits() {
    for (int i = 0; i < 10; i++) MPI_Wait(nullptr, nullptr);
}
__attribute__((noinline)) static int further_in(void (*call)()) {
    volatile char room[8192];
    room[0] = 1;
    call();
    return room[0];
}
static void fail() { MPI_Barrier(nullptr); }

int main() {
    volatile int left = 0;
    MPI_Init(nullptr, nullptr);
    handler = by_exception;
    try {
        fail();
    } catch (int) {
        left++;
    }
    further_in(waits);
    handler = by_longjmp;
    if (setjmp(back) == 0)
        fail();
    else
        left++;
    further_in(waits);
    handler = by_builtin;
    if (__builtin_setjmp(back_by_builtin) == 0)
        further_in(fail);
    else
        left++;
    waits();
    printf("left %d\n", left);
    return 0;
}
