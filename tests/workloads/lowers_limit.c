/* Lowers a limit of memory around one shell, and starts two programs afterwards. */
#include <stdlib.h>
#include <sys/resource.h>

int main(void) {
    struct rlimit before, low;
    int status = 0;
    getrlimit(RLIMIT_DATA, &before);
    low = before;
    low.rlim_cur = 8 << 20;
    setrlimit(RLIMIT_DATA, &low);
    status |= system(":");
    setrlimit(RLIMIT_DATA, &before);
    status |= system("true");
    status |= system("true");
    return status != 0;
}
