/* What a Go program does to handlers: it runs on a stack of a few kilobytes with other memory right
 * below, and gives its thread an alternate stack, on which handlers are to run. Go's linker leaves
 * the note by which such a program is known. Prints what became of the memory below the stack. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

__asm__(".pushsection .note.go.buildid,\"a\",@note\n"
        ".balign 4\n"
        ".long 4, 4, 4\n"
        ".ascii \"Go\\0\\0test\"\n"
        ".popsection\n");

enum { BELOW = 65536, STACK = 4096, HANDLERS = 131072 };
static ucontext_t program, work;
static volatile unsigned long steps;

__attribute__((noinline)) static void step(void) { steps++; }

static void run(void) {
    for (long i = 0; i < 60000000; i++) step();
}

int main(void) {
    char *memory = malloc(BELOW + STACK);
    memset(memory, 0x5a, BELOW);
    stack_t handlers = {.ss_sp = malloc(HANDLERS), .ss_size = HANDLERS};
    sigaltstack(&handlers, NULL);
    getcontext(&work);
    work.uc_stack.ss_sp = memory + BELOW;
    work.uc_stack.ss_size = STACK;
    work.uc_link = &program;
    makecontext(&work, run, 0);
    swapcontext(&program, &work);
    int changed = 0;
    for (int i = 0; i < BELOW; i++) changed += memory[i] != 0x5a;
    printf("%lu steps, %s\n", steps, changed ? "memory overwritten" : "memory untouched");
    return 0;
}
