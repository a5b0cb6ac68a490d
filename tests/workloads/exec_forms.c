/* Replaces itself by itself through every form of exec, one after the other, burning some CPU in
 * between so that a profiling signal is likely to be on its way. Arguments: what is left to do. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const forms[] = {
    "start", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat", "execl1", "execl4",
    "execl5", "execl6", "execl20", "execlp", "execle1", "execle4", "execle5", "execle20",
    "thread", "fail", "end"};

static volatile unsigned long sink;
static void burn(void) {
    for (unsigned long i = 0; i < 3000000; i++) sink += i * i;
}

static char *me;
static char *next_form;

static void *exec_from_thread(void *unused) {
    (void)unused;
    char *argv[] = {me, next_form, "by thread", NULL};
    burn();
    execv(me, argv);
    return NULL;
}

int main(int argc, char **argv) {
    me = "/proc/self/exe";
    const char *form = argc > 1 ? argv[1] : "start";
    unsigned long hash = 5381;
    for (int i = 2; i < argc; i++)
        for (const char *c = argv[i]; *c; c++) hash = hash * 33 + (unsigned char)*c;
    const char *variable = getenv("EXEC_FORMS");
    printf("%s: %d arguments, hash %lx, variable %s\n", form, argc, hash,
           variable ? variable : "not set");
    fflush(stdout);
    unsetenv("EXEC_FORMS");
    burn();

    size_t at = 0;
    while (strcmp(forms[at], form) != 0) at++;
    if (strcmp(form, "end") == 0) return 42;
    char *next = next_form = (char *)forms[at + 1];

    /* The environment for the forms that take one: ours and one variable more. */
    size_t count = 0;
    while (environ[count]) count++;
    char **env = calloc(count + 2, sizeof *env);
    memcpy(env, environ, count * sizeof *env);
    env[count] = "EXEC_FORMS=given";
    char *args[] = {me, next, "a", "b", NULL};

    if (!strcmp(next, "execv")) execv(me, args);
    if (!strcmp(next, "execve")) execve(me, args, env);
    if (!strcmp(next, "execvp")) execvp(me, args);
    if (!strcmp(next, "execvpe")) execvpe(me, args, env);
    if (!strcmp(next, "fexecve")) fexecve(open(me, O_RDONLY | O_CLOEXEC), args, env);
    if (!strcmp(next, "execveat")) execveat(AT_FDCWD, me, args, env, 0);
    if (!strcmp(next, "execl1")) execl(me, me, next, NULL);
    if (!strcmp(next, "execl4")) execl(me, me, next, "2", "3", NULL);
    if (!strcmp(next, "execl5")) execl(me, me, next, "2", "3", "4", NULL);
    if (!strcmp(next, "execl6")) execl(me, me, next, "2", "3", "4", "5", NULL);
    if (!strcmp(next, "execl20"))
        execl(me, me, next, "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14",
              "15", "16", "17", "18", "19", NULL);
    if (!strcmp(next, "execlp")) execlp(me, me, next, "2", "3", "4", "5", "6", "7", NULL);
    if (!strcmp(next, "execle1")) execle(me, me, next, NULL, env);
    if (!strcmp(next, "execle4")) execle(me, me, next, "2", "3", NULL, env);
    if (!strcmp(next, "execle5")) execle(me, me, next, "2", "3", "4", NULL, env);
    if (!strcmp(next, "execle20"))
        execle(me, me, next, "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14",
               "15", "16", "17", "18", "19", NULL, env);
    if (!strcmp(next, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, exec_from_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(next, "fail") || !strcmp(next, "end")) {
        int status = execl("/no/such/program", "x", "1", "2", "3", "4", "5", "6", NULL);
        printf("execl %d %s\n", status, strerror(errno));
        status = execle("/dev/null", "x", "1", NULL, env);
        printf("execle %d %s\n", status, strerror(errno));
        status = execvp("no-such-program", args);
        printf("execvp %d %s\n", status, strerror(errno));
        fflush(stdout);
        burn();
        execv(me, args);
    }
    perror(next);
    return 1;
}
