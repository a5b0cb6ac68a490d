// Writes and reads known numbers of bytes by streams of the C library, most of them not where the
// program calls it, but when a buffer is full or empty, and the last ones in exit(3).
//
// Prints 1111 lines of 10 bytes. A file gets 4000 numbers of 4 bytes, and is read by getc(3), by lines,
// and as a whole; 7 bytes stay in its buffer to the end.
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

enum { LINES = 1111, NUMBERS = 4000 };

static char all[4 * NUMBERS];

__attribute__((noinline)) static void print(void) {
    for (int line = 0; line < LINES; line++) printf("%5d %3.1f\n", line, 0.5);
}

__attribute__((noinline)) static void write_file(FILE *file) {
    for (int number = 0; number < NUMBERS; number++) fprintf(file, "%3d\n", number % 1000);
    if (fflush(file)) exit(1);
}

__attribute__((noinline)) static void read_by_letters(FILE *file) {
    rewind(file);
    int letters = 0;
    while (getc(file) != EOF) letters++;
    if (letters != sizeof all) exit(2);
}

__attribute__((noinline)) static void read_by_lines(FILE *file) {
    char line[16];
    int lines = 0;
    rewind(file);
    while (fgets(line, sizeof line, file)) lines++;
    if (lines != NUMBERS) exit(3);
}

__attribute__((noinline)) static void read_as_a_whole(FILE *file) {
    rewind(file);
    if (fread(all, 1, sizeof all, file) != sizeof all) exit(4);
    // That is the end, says the next one.
    if (fread(all, 1, 1, file)) exit(5);
}

int main(void) {
    FILE *file = tmpfile();
    FILE *wide = tmpfile();
    if (!file || !wide) return 6;
    write_file(file);
    read_by_letters(file);
    read_by_lines(file);
    read_as_a_whole(file);
    print();
    if (fwprintf(wide, L"%ls", L"wide\n") != 5) return 7;
    fseek(file, 0, SEEK_END);
    fputs("the end", file);
    return 3;
}
