/* Does nothing: what it was linked with has worked already. */
#include <stdio.h>

int main(void) { return puts("worked before main") < 0; }
