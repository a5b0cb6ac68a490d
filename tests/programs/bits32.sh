# A 32-bit program, and what it starts.
# needs: gcc
# jit
prepare() {
    printf '#include <stdio.h>\n#include <unistd.h>\n#include <sys/wait.h>\nint main(void) { double s = 0; for (int i = 1; i < 20000000; i++) s += 1.0 / i; printf("%%.6f %%d\\n", s, (int)sizeof(void *)); fflush(stdout); if (!fork()) { execl("./wide", "wide", (char *)0); _exit(1); } int status; wait(&status); return 3 + WEXITSTATUS(status); }\n' > n.c
    printf '#include <stdio.h>\nint main(void) { double s = 0; for (int i = 1; i < 20000000; i++) s += 1.0 / i; printf("%%.6f %%d\\n", s, (int)sizeof(void *)); return 4; }\n' > wide.c
    gcc -m32 -O2 -msse2 -mfpmath=sse -o narrow n.c && gcc -O2 -o wide wide.c
}
run() { ./narrow; echo $?; sh -c './narrow & wait; exec ./narrow'; echo $?; }
"$@"
