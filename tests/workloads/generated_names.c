/* generated_names LIBRARY HOW: generates code twice at one address, under two names, and says so as HOW
 * tells: in its perf map, or as `dump` in a jitdump file in this folder. Between the two it loads a
 * library, which with --epoch-per-load begins an epoch. The second code works three times as long. With
 * `child`, a forked child calls it; with `killed`, the program ends by SIGKILL. With `link`, the map is a
 * symbolic link at the end, and with `old` from 1970: neither is to be believed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Counts its argument down to 0: push rbp; mov rbp, rsp; dec rdi; jnz to the dec; pop rbp; ret. */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf,
                                     0x75, 0xfb, 0x5d, 0xc3};
#define ROUNDS 150000000UL

static unsigned char *place;
static FILE *map;
static int is_dump;
static uint64_t indexes;

static void put32(uint32_t value) { fwrite(&value, 4, 1, map); }
static void put64(uint64_t value) { fwrite(&value, 8, 1, map); }

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void open_map(void) {
    char path[64];
    snprintf(path, sizeof path, is_dump ? "jit-%d.dump" : "/tmp/perf-%d.map", getpid());
    map = fopen(path, "w+");
    if (!is_dump) return;
    put32(0x4A695444), put32(1), put32(40), put32(62), put32(0), put32(getpid());
    put64(now()), put64(0);
    fflush(map);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(map), 0);
}

static void tell(const char *name) {
    if (is_dump) {
        uint32_t name_size = strlen(name) + 1;
        /* Two stretches of lines: the entry, and from the fifth byte on the loop. */
        put32(2), put32(16 + 16 + 16 + 7 + 16 + 2), put64(now());
        put64((uint64_t)place), put64(2);
        put64((uint64_t)place), put32(10), put32(0), fwrite("made.x", 7, 1, map);
        put64((uint64_t)place + 4), put32(12), put32(0), fwrite("\xff", 2, 1, map);
        put32(0), put32(16 + 40 + name_size + sizeof CODE), put64(now());
        put32(getpid()), put32(getpid()), put64((uint64_t)place), put64((uint64_t)place);
        put64(sizeof CODE), put64(++indexes), fwrite(name, name_size, 1, map);
        fwrite(CODE, sizeof CODE, 1, map);
    } else {
        fprintf(map, "%lx %zx %s\n", (unsigned long)place, sizeof CODE, name);
    }
    fflush(map);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    is_dump = strcmp(argv[2], "dump") == 0;
    place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return 1;
    void (*code)(unsigned long) = (void (*)(unsigned long))place;
    open_map();
    memcpy(place, CODE, sizeof CODE);
    tell("made::first");
    code(ROUNDS);
    memset(place, 0xcc, sizeof CODE);
    if (!dlopen(argv[1], RTLD_NOW)) return 1;
    memcpy(place, CODE, sizeof CODE);
    tell("py::made.second:/made/second.py");
    if (strcmp(argv[2], "child") == 0) {
        pid_t child = fork();
        if (child == 0) {
            code(3 * ROUNDS);
            return 0;
        }
        tell("made::later");
        waitpid(child, NULL, 0);
    } else {
        code(3 * ROUNDS);
    }
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    if (strcmp(argv[2], "link") == 0 && (rename(path, "map") || symlink("map", path))) return 1;
    if (strcmp(argv[2], "old") == 0 && utimensat(AT_FDCWD, path, (struct timespec[2]){{0}}, 0)) return 1;
    puts("two pieces of code");
    fflush(stdout);
    if (strcmp(argv[2], "killed") == 0) raise(SIGKILL);
    return 0;
}
