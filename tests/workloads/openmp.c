/* Loops and tasks of OpenMP whose sum is known. */
#include <stdio.h>
int main(void) { long s = 0; static int a[1000000];
for (int k = 0; k < 100; k++) {
#pragma omp parallel for schedule(dynamic, 20000) reduction(+:s)
for (int i = 0; i < 1000000; i++) { a[i] += i % 7; s += a[i]; } }
#pragma omp parallel
#pragma omp single
for (int i = 0; i < 500; i++) {
#pragma omp task
{ long x = 0; for (int j = 0; j < 20000; j++) x += j % 3;
#pragma omp atomic
s += x; } }
printf("%ld\n", s); return 0; }
