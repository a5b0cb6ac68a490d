/* gone WHAT [FILE OTHER]: works in code whose file is gone. WHAT is one or more letters:
 *   n  gives up all rights first, if it has any
 *   s  unlinks its own program and works
 *   u  loads FILE and unlinks it; r puts OTHER in its place instead, d puts it where the old one is
 *   m  loads a copy of FILE in memory
 *   k  kills itself after that; c unloads what was loaded
 *   t  makes FILE empty and unlinks it, opens and closes OTHER, and ends; e executes true(1), f filters system calls before
 * What was loaded works, and then whatever is at FILE does the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void own_work(void) {
    for (unsigned long i = 0; i < 200000000; i++) sink += i * i;
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) puts(dlerror()), exit(2);
    return library;
}

static void work(void *library) {
    int (*first)(void) = (int (*)(void))dlsym(library, "first");
    int (*other)(void) = (int (*)(void))dlsym(library, "other");
    int sum = 0;
    for (int i = 0; i < 60; i++) sum += first ? first() : other();
    printf("%s: %d\n", first ? "first" : "other", sum);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *what = argv[1], *file = argc > 2 ? argv[2] : NULL;
    if (strchr(what, 'n') && geteuid() == 0 && (setgid(65534) || setuid(65534))) return 1;
    if (strchr(what, 's')) {
        char program[4096] = "";
        if (readlink("/proc/self/exe", program, sizeof program - 1) < 0 || unlink(program)) return 3;
        own_work();
    }
    if (!file) return 0;
    void *library;
    if (strchr(what, 'm')) {
        int from = open(file, O_RDONLY), memory = memfd_create("library", 0);
        char path[64];
        sprintf(path, "/proc/self/fd/%d", memory);
        while (sendfile(memory, from, NULL, 1 << 20) > 0) continue;
        library = load(path);
        /* Another file has the number from here on. */
        dup2(from, memory);
    } else {
        library = load(file);
        char aside[4096];
        snprintf(aside, sizeof aside, "%s.aside", file);
        if (strchr(what, 'u') && unlink(file)) return 4;
        if (strchr(what, 'd') && rename(file, aside)) return 5;
        if (strpbrk(what, "rd") && rename(argv[3], file)) return 6;
    }
    work(library);
    if (strchr(what, 'k')) kill(getpid(), SIGKILL);
    if (strchr(what, 'c')) dlclose(library);
    if (strchr(what, 't')) {
        if (truncate(file, 0) || unlink(file)) return 7;
        if (argc > 3) dlclose(load(argv[3]));
        if (strchr(what, 'e')) return execl("/bin/true", "true", (char *)NULL);
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        struct sock_fprog filter = {1, &allow};
        if (strchr(what, 'f') && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
                                  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))) return 8;
    }
    /* By another name: the loader takes the same one for the same file. */
    char again[4096];
    snprintf(again, sizeof again, "./%s", file);
    if (access(file, R_OK) == 0) work(load(again));
    return 0;
}
