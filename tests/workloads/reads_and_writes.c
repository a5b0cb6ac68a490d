// Reads and writes known numbers of bytes by each call that csprof counts, in a function of its own.
//
// Each call must return what it should, and leave errno alone; two fail, and say why.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SIZE = 3000, ERRNO = 77 };

static char bytes[4 * SIZE];
static int file, copy, ends[2], sockets[2];

static void check(const char *call, long result, long expected) {
    if (result != expected || errno != ERRNO) {
        printf("%s: %ld, errno %d\n", call, result, errno);
        exit(1);
    }
}
#define NAMED(name, what, expected)                                                           \
    __attribute__((noinline)) static void do_##name(void) {                                   \
        check(#name, what, expected);                                                         \
    }

static struct iovec *parts(void) {
    static struct iovec two[2];
    two[0] = (struct iovec){bytes, SIZE};
    two[1] = (struct iovec){bytes + SIZE, 7};
    return two;
}

static struct msghdr *message(void) {
    static struct msghdr one;
    one = (struct msghdr){.msg_iov = parts(), .msg_iovlen = 2};
    return &one;
}

static struct mmsghdr *messages(void) {
    static struct mmsghdr two[2];
    memset(two, 0, sizeof two);
    for (int i = 0; i < 2; i++) two[i].msg_hdr = *message();
    return two;
}

// From the beginning of the file.
static long at(off_t offset) {
    return lseek(file, offset, SEEK_SET);
}

NAMED(write, write(file, bytes, SIZE), SIZE)
NAMED(pwrite, pwrite(file, bytes, SIZE, 0), SIZE)
NAMED(pwrite64, pwrite64(file, bytes, SIZE, 0), SIZE)
NAMED(writev, writev(file, parts(), 2), SIZE + 7)
NAMED(pwritev, pwritev(file, parts(), 2, 0), SIZE + 7)
NAMED(pwritev64, pwritev64(file, parts(), 2, 0), SIZE + 7)
NAMED(pwritev2, pwritev2(file, parts(), 2, 0, 0), SIZE + 7)
NAMED(pwritev64v2, pwritev64v2(file, parts(), 2, 0, 0), SIZE + 7)
NAMED(fsync, fsync(file), 0)
NAMED(fdatasync, fdatasync(file), 0)
NAMED(read, at(0) + read(file, bytes, SIZE), SIZE)
NAMED(pread, pread(file, bytes, SIZE, 0), SIZE)
NAMED(pread64, pread64(file, bytes, SIZE, 0), SIZE)
NAMED(readv, at(0) + readv(file, parts(), 2), SIZE + 7)
NAMED(preadv, preadv(file, parts(), 2, 0), SIZE + 7)
NAMED(preadv64, preadv64(file, parts(), 2, 0), SIZE + 7)
NAMED(preadv2, preadv2(file, parts(), 2, 0, 0), SIZE + 7)
NAMED(preadv64v2, preadv64v2(file, parts(), 2, 0, 0), SIZE + 7)
NAMED(sendfile, at(0) + sendfile(copy, file, NULL, SIZE), SIZE)
NAMED(sendfile64, at(0) + sendfile64(copy, file, NULL, SIZE), SIZE)
NAMED(copy_file_range, at(0) + copy_file_range(file, NULL, copy, NULL, SIZE, 0), SIZE)
NAMED(splice, at(0) + splice(file, NULL, ends[1], NULL, SIZE, 0), SIZE)
NAMED(send, send(sockets[0], bytes, SIZE, 0), SIZE)
NAMED(recv, recv(sockets[1], bytes, sizeof bytes, 0), SIZE)
NAMED(sendto, sendto(sockets[0], bytes, SIZE, 0, NULL, 0), SIZE)
NAMED(recvfrom, recvfrom(sockets[1], bytes, sizeof bytes, 0, NULL, NULL), SIZE)
NAMED(sendmsg, sendmsg(sockets[0], message(), 0), SIZE + 7)
NAMED(recvmsg, recvmsg(sockets[1], message(), 0), SIZE + 7)
NAMED(sendmmsg, sendmmsg(sockets[0], messages(), 2, 0), 2)
NAMED(recvmmsg, recvmmsg(sockets[1], messages(), 2, 0, NULL), 2)

__attribute__((noinline)) static void do_failing(void) {
    if (read(-1, bytes, SIZE) != -1 || errno != EBADF) exit(2);
    if (recv(sockets[1], bytes, SIZE, MSG_DONTWAIT) != -1 || errno != EAGAIN) exit(3);
    errno = ERRNO;
}

int main(void) {
    file = memfd_create("file", 0);
    copy = memfd_create("copy", 0);
    if (file < 0 || copy < 0 || pipe(ends)) return 4;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets)) return 5;
    errno = ERRNO;
    do_write(), do_pwrite(), do_pwrite64(), do_writev(), do_pwritev(), do_pwritev64();
    do_pwritev2(), do_pwritev64v2(), do_fsync(), do_fdatasync();
    do_read(), do_pread(), do_pread64(), do_readv(), do_preadv(), do_preadv64();
    do_preadv2(), do_preadv64v2();
    do_sendfile(), do_sendfile64(), do_copy_file_range(), do_splice();
    do_send(), do_recv(), do_sendto(), do_recvfrom(), do_sendmsg(), do_recvmsg();
    do_sendmmsg(), do_recvmmsg();
    do_failing();
    return 3;
}
