/* Takes the kernel's code in the process (vdso(7)) away, or the data that it reads, while another
 * thread takes locks and writes; then does so itself:
 *
 *     program munmap|data|mremap|mmap|mprotect|syscall|none
 *
 * A kernel that seals this code (mseal(2)) refuses all of these.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 2000 };

static pthread_mutex_t mutex;
static atomic_int rounds, is_over;
static int file;

/* A robust mutex is not tried first, so each of these calls is timed. */
static int use(void) {
    if (pthread_mutex_lock(&mutex)) return 3;
    if (write(file, &file, sizeof file) != sizeof file) return 4;
    return pthread_mutex_unlock(&mutex) ? 5 : 0;
}

static void *use_all_the_time(void *unused) {
    (void)unused;
    while (!is_over) {
        if (use()) return &mutex;
        rounds++;
    }
    return NULL;
}

int main(int count, char **arguments) {
    char *code = (char *)getauxval(AT_SYSINFO_EHDR);
    const char *how = count > 1 ? arguments[1] : "";
    if (!code) return 0;
    const Elf64_Ehdr *header = (const void *)code;
    const Elf64_Phdr *segments = (const void *)(code + header->e_phoff);
    unsigned long size = 0;
    for (int i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD)
            size = segments[i].p_vaddr + segments[i].p_memsz;
    size = (size + PAGE - 1) & -PAGE;

    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &robust);
    file = open("/dev/null", O_WRONLY);
    pthread_t other;
    if (pthread_create(&other, NULL, use_all_the_time, NULL)) return 1;
    while (rounds < ROUNDS)
        if (use()) return 2;

    if (!strcmp(how, "munmap")) {
        munmap(code, size);
    } else if (!strcmp(how, "data")) {
        char line[512];
        char *from, *to;
        FILE *maps = fopen("/proc/self/maps", "r");
        while (maps && fgets(line, sizeof line, maps))
            if (strstr(line, "[vvar]") && sscanf(line, "%p-%p", (void **)&from, (void **)&to) == 2)
                munmap(from, (size_t)(to - from));
    } else if (!strcmp(how, "mremap")) {
        char *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mremap(code, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    } else if (!strcmp(how, "mmap")) {
        mmap(code, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    } else if (!strcmp(how, "mprotect")) {
        mprotect(code, size, PROT_NONE);
    } else if (!strcmp(how, "syscall")) {
        syscall(SYS_munmap, code, size);
    }
    for (int end = rounds + ROUNDS; rounds < end;)
        if (use()) return 2;
    is_over = 1;
    void *result;
    pthread_join(other, &result);
    puts(result ? "failed" : "worked");
    return 0;
}
