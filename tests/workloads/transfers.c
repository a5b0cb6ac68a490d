/* Moves many bytes by each call that may come back with a part of them when a signal comes: alone, each
 * moves all. The other end of pipes and sockets is slow. Says which came short. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <termios.h>
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
static void check_all(const char *call, long moved, long all) {
    if (moved == all) return;
    printf("%s: %ld of %ld, %s\n", call, moved, all, moved < 0 ? strerror(errno) : "short");
    short_ones++;
}
static void check(const char *call, long moved) { check_all(call, moved, BYTES); }

enum { FEW = 60 };

/* Writes a few bytes one by one, slowly. */
static void *one_by_one(void *end) {
    for (int i = 0; i < FEW; i++) write((int)(long)end, "x", 1), usleep(500);
    return NULL;
}

/* Reads them at once from a file that waits for all, or has a time limit for that. */
static void few(const char *call, int from, int to) {
    pthread_t writer;
    char byte[FEW];
    pthread_create(&writer, NULL, one_by_one, (void *)(long)to);
    check_all(call, read(from, byte, FEW), FEW);
    pthread_join(writer, NULL);
}

/* Terminals and sockets divide what others move as a whole. */
static void small_ones(void) {
    int master, slave, sockets[2], least = FEW;
    struct termios raw;
    pthread_t reader;
    openpty(&master, &slave, NULL, NULL, NULL);
    tcgetattr(slave, &raw);
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = FEW;
    tcsetattr(slave, TCSANOW, &raw);
    few("read of a terminal", slave, master);
    pthread_create(&reader, NULL, slowly, (void *)(long)master);
    for (int i = 0; i < 40; i++) check_all("write to a terminal", write(slave, bytes, 4096), 4096);
    close(slave);
    pthread_join(reader, NULL);
    close(master);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    few("read of a socket", sockets[0], sockets[1]);
    least = 1;
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){9, 0}, sizeof(struct timeval));
    char byte;
    if (fork() == 0) usleep(20000), write(sockets[1], "x", 1), _exit(0);
    check_all("read of a socket with a time limit", read(sockets[0], &byte, 1), 1);
    close(sockets[0]), close(sockets[1]);
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
        small_ones();
    }
    printf("short %d\n", short_ones);
    return 0;
}
