/* Programs that do what few do; the argument names one. Each says what it has seen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;
static volatile unsigned long sink;
__attribute__((noinline)) static void work(long n) {
    for (long i = 0; i < n; i++) sink += i ^ sink >> 3;
}

static char *self;
static int executed(void) {
    sigset_t now;
    int blocked = 0;
    sigprocmask(SIG_BLOCK, NULL, &now);
    for (int i = 1; i < 65; i++) blocked += sigismember(&now, i) == 1;
    work(2000000);
    printf("executed: %d blocked, file %d\n", blocked, open("/dev/null", O_RDONLY));
    return 0;
}

/* A handler executes the program. */
static void executes(int signal) {
    (void)signal;
    execl(self, self, "executed", NULL);
}
static int exec_in_handler(void) {
    signal(SIGALRM, executes);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 20000}}, NULL);
    for (int i = 0; i < 100000; i++) work(100000);
    return 1;
}

/* The program is executed from memory. */
static int from_memory(void) {
    int copy = memfd_create("copy", MFD_CLOEXEC), own = open(self, O_RDONLY);
    char bytes[65536];
    long count;
    while ((count = read(own, bytes, sizeof bytes)) > 0)
        if (write(copy, bytes, count) != count) return 1;
    close(own);
    return fexecve(copy, (char *[]){self, "executed", NULL}, environ);
}

/* It is spawned with other actions, another mask and no files. */
static int spawned(void) {
    posix_spawnattr_t how;
    posix_spawn_file_actions_t files;
    sigset_t all, none;
    pid_t child;
    int status;
    sigfillset(&all), sigemptyset(&none);
    posix_spawnattr_init(&how), posix_spawn_file_actions_init(&files);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    if (posix_spawn(&child, self, &files, &how, (char *[]){self, "executed", NULL}, environ)) return 1;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

/* All files but three are closed, also in a table of its own. */
static int closed(void) {
    for (int i = 0; i < 3; i++) {
        close_range(3, ~0U, i == 1 ? CLOSE_RANGE_UNSHARE : 0);
        work(1000000);
    }
    printf("closed: file %d\n", open("/dev/null", O_RDONLY));
    return 0;
}

/* Signals of real time come in their order. */
static char order[200];
static void queued(int signal, siginfo_t *info, void *context) {
    (void)context;
    sprintf(order + strlen(order), " %d:%d", signal - SIGRTMIN, info->si_value.sival_int);
}
static int in_order(void) {
    struct sigaction action = {.sa_sigaction = queued, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < 4; i++) sigaddset(&action.sa_mask, SIGRTMIN + i);
    for (int i = 0; i < 4; i++) sigaction(SIGRTMIN + i, &action, NULL);
    sigprocmask(SIG_BLOCK, &action.sa_mask, NULL);
    for (int i = 0; i < 8; i++) sigqueue(getpid(), SIGRTMIN + i % 4, (union sigval){i}), work(100000);
    sigprocmask(SIG_UNBLOCK, &action.sa_mask, NULL);
    printf("in order:%s\n", order);
    return 0;
}

/* Threads are canceled in waits; in a shell only when that has begun: what ends before it has begun leaves csprof no
 * samples. */
static int cleaned, begun[2];
static void clean(void *nothing) {
    (void)nothing;
    cleaned++;
}
static void *wait_in(void *kind) {
    int ends[2], status;
    char command[64];
    sigset_t none;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_cleanup_push(clean, NULL);
    sigemptyset(&none);
    switch ((intptr_t)kind) {
    case 0: usleep(3600000000u); break;
    case 1: poll(NULL, 0, 3600000); break;
    case 2: pause(); break;
    case 3:
        status = pipe(ends);
        sprintf(command, "echo >&%d; read never <&%d", begun[1], ends[0]);
        status = system(command);
        break;
    case 4: status = pipe(ends) + (int)read(ends[0], &status, 1); break;
    case 5: sigsuspend(&none); break;
    default: pthread_mutex_lock(&mutex), pthread_cond_wait(&condition, &mutex);
    }
    pthread_cleanup_pop(0);
    return NULL;
}
static int canceled(void) {
    int gone = 0;
    if (pipe(begun)) return 1;
    for (intptr_t kind = 0; kind < 7; kind++) {
        pthread_t thread;
        void *answer;
        pthread_create(&thread, NULL, wait_in, (void *)kind);
        char byte;
        if (kind != 3) usleep(10000);
        else if (read(begun[0], &byte, 1) != 1) return 1;
        pthread_cancel(thread);
        pthread_join(thread, &answer);
        gone += answer == PTHREAD_CANCELED;
    }
    printf("canceled: gone %d, cleaned %d\n", gone, cleaned);
    return 0;
}

/* A stack grows. */
static ucontext_t here, there;
static int sum;
static int deep(int depth) {
    volatile char room[2000];
    room[0] = 1;
    work(10000);
    return depth ? deep(depth - 1) + room[0] : 0;
}
static void grow(void) { sum = deep(150); }
static int growing(void) {
    enum { FIRST = 65536 };
    there.uc_stack.ss_sp = mmap((void *)0x500000000000, FIRST, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN, -1, 0);
    void *place = there.uc_stack.ss_sp;
    getcontext(&there);
    there.uc_stack.ss_sp = place;
    there.uc_stack.ss_size = FIRST;
    there.uc_link = &here;
    makecontext(&there, grow, 0);
    swapcontext(&here, &there);
    printf("growing: %d deep\n", sum);
    return 0;
}

/* A handler maps what is touched. */
static volatile sig_atomic_t mapped;
static void map(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    mapped++;
    mmap((void *)((uintptr_t)info->si_addr & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
static int touched(void) {
    enum { PAGES = 300 };
    char *heap = mmap(NULL, 4096 * (PAGES + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_sigaction = map, .sa_flags = SA_SIGINFO};
    int zeros = open("/dev/zero", O_RDONLY);
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < PAGES; i++) heap[i * 4096] = 1, work(10000);
    long count = read(zeros, heap + 4096 * PAGES, 10);
    printf("touched: %d, %d\n", (int)mapped, count == -1 && errno == EFAULT);
    return 0;
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        int (*run)(void);
    } all[] = {
        {"executed", executed}, {"exec_in_handler", exec_in_handler}, {"from_memory", from_memory},
        {"spawned", spawned},   {"closed", closed},                   {"in_order", in_order},
        {"canceled", canceled}, {"growing", growing},                 {"touched", touched},
    };
    self = words[0];
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (count > 1 && strcmp(all[i].name, words[1]) == 0) return all[i].run();
    return 2;
}
