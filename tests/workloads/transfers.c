/* Moves many bytes by each call that may come back with a part of them when a signal comes: alone, each
 * moves all. The other end of pipes and sockets is slow. Says which came short. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 1 << 20, SLOW = 1 << 16 };

static char *bytes;
static int zero, file;

static struct iovec *parts(void) {
    static struct iovec two[2];
    two[0] = (struct iovec){bytes, 5};
    two[1] = (struct iovec){bytes + 5, BYTES - 5};
    return two;
}

/* Reads all that comes, slowly. */
static void *slowly(void *end) {
    static __thread char part[SLOW];
    while (read((int)(long)end, part, sizeof part) > 0) usleep(500);
    return NULL;
}

static int short_ones;
static void check(const char *call, long moved) {
    if (moved == BYTES) return;
    printf("%s: %ld of %d, %s\n", call, moved, BYTES, moved < 0 ? strerror(errno) : "short");
    short_ones++;
}

/* `call` writes to `end`. */
#define WRITES(call)                                              \
    do {                                                          \
        pthread_t reader;                                         \
        pthread_create(&reader, NULL, slowly, (void *)(long)ends[0]); \
        check(#call, call);                                       \
        shutdown(end, SHUT_WR);                                   \
        if (kind == 0) close(end);                                \
        pthread_join(reader, NULL);                               \
        if (kind == 0) pipe(ends);                                \
        else close(end), close(ends[0]), socketpair(AF_UNIX, SOCK_STREAM, 0, ends); \
        end = ends[1];                                            \
    } while (0)

/* A stream of one page for each read, and of none kept for each write. */
static long by_fwrite(int end) {
    FILE *stream = fdopen(dup(end), "w");
    long moved = (long)fwrite(bytes, 1, BYTES, stream);
    return fclose(stream) ? -1 : moved;
}
static long by_fread(void) {
    FILE *stream = fdopen(dup(zero), "r");
    long moved = (long)fread(bytes, 1, BYTES, stream);
    fclose(stream);
    return moved;
}
static long by_small_writes(int end) {
    long moved = 0;
    while (moved < BYTES) {
        if (write(end, bytes, 4096) != 4096) return -1;
        moved += 4096;
    }
    return moved;
}
static long from_rewound(long (*call)(int), int end) {
    lseek(file, 0, SEEK_SET);
    return call(end);
}
static long by_sendfile(int end) { return sendfile(end, file, NULL, BYTES); }
static long by_copy(int to) {
    long moved = copy_file_range(file, NULL, to, NULL, BYTES, 0);
    return moved < 0 && (errno == ENOSYS || errno == EXDEV || errno == EINVAL) ? BYTES : moved;
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : 1;
    bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    zero = open("/dev/zero", O_RDWR);
    file = memfd_create("file", 0);
    int copy = memfd_create("copy", 0);
    for (int left = BYTES; left > 0; left -= (int)write(file, bytes, (size_t)left)) {}
    for (int round = 0; round < rounds; round++) {
        check("read", read(zero, bytes, BYTES));
        check("pread", pread(zero, bytes, BYTES, 0));
        check("readv", readv(zero, parts(), 2));
        check("preadv", preadv(zero, parts(), 2, 0));
        check("preadv2", preadv2(zero, parts(), 2, -1, 0));
        check("fread", by_fread());
        check("getrandom", getrandom(bytes, BYTES, 0));
        check("syscall read", syscall(SYS_read, zero, bytes, (size_t)BYTES));
        check("syscall getrandom", syscall(SYS_getrandom, bytes, (size_t)BYTES, 0));
        check("copy_file_range", from_rewound(by_copy, copy));
        for (int kind = 0; kind < 2; kind++) {
            int ends[2];
            if (kind == 0) pipe(ends);
            else socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
            int end = ends[1];
            WRITES(write(end, bytes, BYTES));
            WRITES(writev(end, parts(), 2));
            WRITES(syscall(SYS_write, end, bytes, (size_t)BYTES));
            WRITES(by_fwrite(end));
            WRITES(by_small_writes(end));
            /* These fill a pipe and come back. */
            if (kind == 1) WRITES(from_rewound(by_sendfile, end));
            if (kind == 1) WRITES(send(end, bytes, BYTES, 0));
            close(ends[0]);
            close(ends[1]);
        }
        int ends[2];
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        if (fork() == 0) {
            close(ends[0]);
            for (int part = 0; part < BYTES / SLOW; part++) write(ends[1], bytes, SLOW), usleep(300);
            _exit(0);
        }
        check("recv", recv(ends[0], bytes, BYTES, MSG_WAITALL));
        close(ends[0]);
        close(ends[1]);
    }
    printf("short %d\n", short_ones);
    return 0;
}
