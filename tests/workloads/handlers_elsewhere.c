/* Tasks that are preempted: a timer's handler switches from the task to the worker whose turn it is, and another
 * worker, another thread of the kernel's, takes the task up, so that the handler returns there. With "profiling" it is
 * the handler of the profiling signal. The workers look whether they have an alternate stack, and what way back the
 * kernel was given. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { TASKS = 6, WORKERS = 3, STACK = 1 << 18, TURNS = 300 };

struct worker {
    ucontext_t context;
    struct task *task;
    volatile int in_task;
};

static struct task {
    ucontext_t context;
    struct worker *last;
    unsigned long sum;
    volatile int turns, done;
    char stack[STACK];
} tasks[TASKS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queue[TASKS], head, count;
static atomic_int left = TASKS, moved, with_stack;
static int preempting;
static __thread struct worker *own;

/* A context may go on in another thread: the address is not to be kept. */
__attribute__((noinline)) static struct worker *here(void) {
    __asm__ volatile("" ::: "memory");
    return own;
}

static void put(struct task *task) {
    pthread_mutex_lock(&lock);
    queue[(head + count++) % TASKS] = (int)(task - tasks);
    pthread_mutex_unlock(&lock);
}

static struct task *get(void) {
    struct task *task = NULL;
    pthread_mutex_lock(&lock);
    if (count) {
        task = &tasks[queue[head]];
        head = (head + 1) % TASKS;
        count--;
    }
    pthread_mutex_unlock(&lock);
    return task;
}

static void preempt(int signal) {
    (void)signal;
    struct worker *worker = here();
    if (!worker || !worker->in_task) return;
    worker->in_task = 0;
    worker->task->turns++;
    swapcontext(&worker->task->context, &worker->context);
    here()->in_task = 1;
}

__attribute__((noinline)) static unsigned long step(unsigned long x, int depth) {
    if (depth == 0) {
        for (int i = 0; i < 200; i++) x = x * 6364136223846793005ul + 1442695040888963407ul;
        return x;
    }
    return step(x + depth, depth - 1) ^ depth;
}

static void run(int number) {
    struct task *task = &tasks[number];
    sigset_t set;
    here()->in_task = 1;
    while (task->turns < TURNS) task->sum = step(task->sum, task->turns % 17);
    sigemptyset(&set);
    sigaddset(&set, preempting);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    here()->in_task = 0;
    task->done = 1;
    left--;
    setcontext(&here()->context);
}

static void *work(void *argument) {
    struct worker worker = {.task = NULL};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = preempting};
    struct itimerspec often = {{0, 300000}, {0, 300000}};
    timer_t timer;
    stack_t stack;
    sigset_t set;
    own = &worker;
    sigemptyset(&set);
    sigaddset(&set, preempting);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    event._sigev_un._tid = gettid();
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    while (left > 0) {
        struct task *task = get();
        if (!task) {
            usleep(100);
            continue;
        }
        moved += task->last && task->last != &worker;
        task->last = &worker;
        worker.task = task;
        swapcontext(&worker.context, &task->context);
        sigaltstack(NULL, &stack);
        with_stack += !(stack.ss_flags & SS_DISABLE);
        if (!task->done) put(task);
    }
    timer_delete(timer);
    return argument;
}

int main(int argc, char **argv) {
    struct {
        void *handler;
        unsigned long flags;
        void *way_back;
        unsigned long mask;
    } by_number = {0};
    struct sigaction action = {.sa_handler = preempt, .sa_flags = SA_RESTART}, told;
    pthread_t threads[WORKERS];
    preempting = argc > 1 && !strcmp(argv[1], "profiling") ? SIGPROF : SIGUSR1;
    sigaction(preempting, &action, NULL);
    /* The C library sets the action once more. */
    siginterrupt(preempting, 0);
    sigaction(preempting, NULL, &told);
    syscall(SYS_rt_sigaction, preempting, NULL, &by_number, 8);
    for (int i = 0; i < TASKS; i++) {
        ucontext_t *context = &tasks[i].context;
        getcontext(context);
        context->uc_stack.ss_sp = tasks[i].stack;
        context->uc_stack.ss_size = STACK;
        sigemptyset(&context->uc_sigmask);
        makecontext(context, (void (*)(void))run, 1, i);
        put(&tasks[i]);
    }
    for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    printf("told the same: %d, moved %s, with an alternate stack: %d\n",
           (void *)told.sa_handler == by_number.handler && (preempting == SIGPROF || (void *)told.sa_restorer == by_number.way_back),
           moved > TASKS ? "often" : "seldom", with_stack > 0);
    return 0;
}
