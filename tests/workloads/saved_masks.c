/* Masks with SIGPROF that are kept and go on later: of jumps, contexts and attributes of threads. Says what
 * is blocked then, and whether the signal comes. One context has a mask that the program writes itself, and
 * one jmp_buf no more room than the kernel's mask takes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static volatile unsigned long sink;
static void burn(void) {
    for (unsigned long i = 0; i < 5000000; i++) sink += i * i;
}

static volatile sig_atomic_t came;
static void on_prof(int signal) { came = signal; }

static sigset_t prof;
static void set(int blocks) { pthread_sigmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &prof, NULL); }
static void say(const char *when) {
    sigset_t now;
    burn();
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    came = 0;
    raise(SIGPROF);
    printf("%s: %s, %s\n", when, sigismember(&now, SIGPROF) ? "blocked" : "open", came ? "came" : "waits");
    set(0);
    printf(" then %s\n", came ? "came" : "lost");
}

static sigjmp_buf back;
static ucontext_t there, here, other, written;
static char stack[1 << 16];

/* As long as what the C library writes, and something of the program's own behind it. */
static struct {
    _Alignas(8) char buffer[80];
    char behind[120];
} small;

static void elsewhere(void) {
    say("in another context");
    set(1);
    swapcontext(&other, &here);
    say("there again");
    swapcontext(&other, &here);
}

static void *in_thread(void *nothing) {
    say("in a thread");
    return nothing;
}

int main(void) {
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    signal(SIGPROF, on_prof);
    for (volatile int blocks = 0; blocks < 2; blocks++) {
        printf("%s\n", blocks ? "blocked before" : "open before");
        volatile int again = 0;
        set(blocks);
        if (sigsetjmp(back, 1) == 0) {
            set(!blocks);
            siglongjmp(back, 1);
        }
        say("after siglongjmp");
        set(blocks);
        if (sigsetjmp(back, 0) == 0) {
            set(!blocks);
            siglongjmp(back, 1);
        }
        say("after a jump that keeps the mask");
        memset(&small, 7, sizeof small);
        set(blocks);
        if (sigsetjmp((struct __jmp_buf_tag *)small.buffer, 1) == 0) {
            set(!blocks);
            siglongjmp((struct __jmp_buf_tag *)small.buffer, 1);
        }
        say("after a small jmp_buf");
        int changed = 0;
        for (size_t i = 0; i < sizeof small.behind; i++) changed += small.behind[i] != 7;
        printf("changed behind it: %d\n", changed);
        set(blocks);
        again = 0;
        getcontext(&there);
        if (!again++) {
            set(!blocks);
            setcontext(&there);
        }
        say("after setcontext");
        set(blocks);
        again = 0;
        getcontext(&written);
        if (!again++) {
            /* Alone, it is in there already where it was blocked. */
            sigaddset(&written.uc_sigmask, SIGPROF);
            set(!blocks);
            setcontext(&written);
        }
        say("after setcontext with another mask");
        set(blocks);
        getcontext(&other);
        other.uc_stack.ss_sp = stack;
        other.uc_stack.ss_size = sizeof stack;
        other.uc_link = NULL;
        makecontext(&other, elsewhere, 0);
        set(!blocks);
        swapcontext(&here, &other);
        say("back again");
        set(0);
        swapcontext(&here, &other);
        say("and again");

        pthread_t thread;
        pthread_attr_t attributes;
        /* sigemptyset writes the words that the kernel uses, and all are compared. */
        sigset_t mask, answer;
        memset(&mask, 0, sizeof mask);
        pthread_attr_init(&attributes);
        if (blocks) sigaddset(&mask, SIGPROF);
        pthread_attr_setsigmask_np(&attributes, &mask);
        int result = pthread_attr_getsigmask_np(&attributes, &answer);
        printf("attributes %d, same %d\n", result, memcmp(&mask, &answer, sizeof mask) == 0);
        set(!blocks);
        pthread_create(&thread, &attributes, in_thread, NULL);
        pthread_join(thread, NULL);
        say("meanwhile");
    }
    return 0;
}
