/* Maps memory by hand, 50 times each; says "done".
 *
 * mapped: 64 KiB, with mmap. in_part: 5000 bytes, which are two pages. grown: 64 KiB, by mremap, of
 * which mmap has 64 more. And what does not count: set_aside (no access), of_file, refused, shrunk
 * (mremap), asked (malloc, of 1 MiB). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define SIZE (64 << 10)

static int access_all = PROT_READ | PROT_WRITE;
static int private = MAP_PRIVATE | MAP_ANONYMOUS;

static void *checked(void *pages)
{
    if (pages == MAP_FAILED)
        exit(1);
    return pages;
}

static NOINLINE void mapped(void)
{
    munmap(checked(mmap(NULL, SIZE, access_all, private, -1, 0)), SIZE);
}

static NOINLINE void in_part(void)
{
    munmap(checked(mmap(NULL, 5000, access_all, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), 5000);
}

static NOINLINE void grown(void)
{
    void *pages = checked(mmap(NULL, SIZE, access_all, private, -1, 0));
    munmap(checked(mremap(pages, SIZE, 2 * SIZE, MREMAP_MAYMOVE)), 2 * SIZE);
}

static NOINLINE void set_aside(void)
{
    munmap(checked(mmap(NULL, SIZE, PROT_NONE, private, -1, 0)), SIZE);
}

static NOINLINE void of_file(int file)
{
    munmap(checked(mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, file, 0)), SIZE);
}

static NOINLINE void refused(void)
{
    if (mmap(NULL, 0, access_all, private, -1, 0) != MAP_FAILED ||
        mmap(NULL, 1L << 60, access_all, private, -1, 0) != MAP_FAILED)
        exit(2);
}

static NOINLINE void shrunk(void *pages, int round)
{
    checked(mremap(pages, (51L - round) * SIZE, (50L - round) * SIZE, 0));
}

static NOINLINE void asked(void)
{
    volatile char *block = malloc(1 << 20);
    if (!block)
        exit(3);
    block[0] = 1;
    free((void *)block);
}

int main(int argc, char **argv)
{
    int file = open(argv[0], O_RDONLY);
    void *pages = checked(mmap(NULL, 51L * SIZE, PROT_READ, private, -1, 0));
    (void)argc;
    for (int round = 0; round < 50; round++) {
        mapped();
        in_part();
        grown();
        set_aside();
        of_file(file);
        refused();
        shrunk(pages, round);
        asked();
    }
    puts("done");
    return 0;
}
