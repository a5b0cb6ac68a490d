/* Functions of the program's own under names that the C library has, too: legal, for the names are
 * not ISO C's. All of them fail, say so, and are called by nobody here. */
extern int printf(const char *, ...);
extern int pthread_create(unsigned long *, void *, void *(*)(void *), void *);
extern int pthread_join(unsigned long, void **);

static volatile int foreign;

static long called(const char *name) {
    long length = 0, result;
    while (name[length])
        length++;
    foreign++;
    __asm__ volatile("syscall" : "=a"(result) : "a"(1L), "D"(2L), "S"(name), "d"(length)
                     : "rcx", "r11", "memory");
    return -1;
}

#define OWN(name) long name(void) { return called(#name " was called\n"); }

OWN(read) OWN(write) OWN(open) OWN(open64) OWN(openat) OWN(openat64) OWN(stat) OWN(stat64)
OWN(fstat) OWN(fstat64) OWN(lstat) OWN(statx) OWN(access) OWN(readlink) OWN(readlinkat)
OWN(realpath) OWN(getcwd) OWN(lseek) OWN(lseek64) OWN(writev) OWN(unlink) OWN(ftruncate)
OWN(fallocate) OWN(fcntl) OWN(ioctl) OWN(mmap) OWN(mmap64) OWN(munmap) OWN(mremap) OWN(madvise)
OWN(getpid) OWN(gettid) OWN(kill) OWN(tgkill) OWN(sched_yield) OWN(clock_gettime)
OWN(timer_create) OWN(timer_settime) OWN(timer_delete) OWN(getrlimit) OWN(setrlimit) OWN(prlimit)
OWN(getenv) OWN(secure_getenv) OWN(getauxval) OWN(sysconf) OWN(dladdr) OWN(dladdr1) OWN(dlerror)
OWN(strlen) OWN(bcmp) OWN(poll) OWN(select) OWN(dlopen) OWN(dlclose) OWN(sigaction)
OWN(sigprocmask) OWN(execve) OWN(vfork) OWN(syscall) OWN(prctl) OWN(close) OWN(close_range)
OWN(dl_iterate_phdr) OWN(_dl_find_object) OWN(pthread_atfork) OWN(pthread_key_create)
OWN(pthread_key_delete) OWN(pthread_setspecific) OWN(pthread_getspecific) OWN(pthread_attr_init)
OWN(pthread_attr_destroy) OWN(pthread_attr_getstack) OWN(pthread_attr_getstacksize)
OWN(pthread_attr_getguardsize) OWN(pthread_mutex_lock) OWN(pthread_sigmask) OWN(longjmp)
OWN(_Unwind_Resume) OWN(_Unwind_Backtrace) OWN(_Unwind_SetIP) OWN(backtrace)

/* Not the C library's variable, and of no meaning to it. */
char **environ = (char **)8;

static void *burn(void *argument) {
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 60000000; i++)
        sum += i;
    return argument;
}

int main(void) {
    unsigned long thread;
    if (pthread_create(&thread, 0, burn, 0) != 0)
        return 1;
    burn(0);
    pthread_join(thread, 0);
    printf("foreign calls: %d\n", foreign);
    return 0;
}
