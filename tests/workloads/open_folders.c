/* A program that looks for open directories, as Chromium's sandbox does before it takes its root
   away: through one it could be left again. And one that may have few files open, and counts on
   their numbers behind a change of the root, whether it has the right to that or not. It closes
   numbers that it does not know by system calls of its own, and takes them for files of its own. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_folders(void)
{
    DIR *numbers = opendir("/proc/self/fd");
    int folders = 0;
    for (struct dirent *entry; (entry = readdir(numbers));) {
        struct stat status;
        int number = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && number != dirfd(numbers) && fstat(number, &status) == 0)
            folders += S_ISDIR(status.st_mode);
    }
    closedir(numbers);
    return folders;
}

int main(void)
{
    int before = open_folders();
    unshare(CLONE_FILES);
    pid_t child = fork();
    if (child == 0)
        _exit(open_folders());
    int status;
    waitpid(child, &status, 0);
    printf("folders: %d, %d in a child\n", before, WEXITSTATUS(status));
    int refused = chroot("/");
    syscall(SYS_close_range, 3, ~0U, 0);
    printf("closed: %d\n", close(fcntl(0, F_DUPFD, 900)));
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &files);
    close(0);
    refused |= chroot("/");
    (void)refused;
    printf("input: %d\n", open("/dev/null", O_RDONLY));
    return 0;
}
