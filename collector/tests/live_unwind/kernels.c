/* Calls of OpenBLAS, so small that every instruction can be a sample, and of orders that no kernel's
   blocks divide. The functions are declared here, for its headers may not be installed. */

#include <stdlib.h>

enum { COLUMNS = 102, NO = 111, YES = 112, UPPER = 121, LOWER = 122, NON_UNIT = 131, LEFT = 141, RIGHT = 142 };

void openblas_set_num_threads(int);
#define LEVEL_3(t, type) \
    void cblas_##t##gemm(int, int, int, int, int, int, type, const type *, int, const type *, int, type, type *, int); \
    void cblas_##t##syrk(int, int, int, int, int, type, const type *, int, type, type *, int); \
    void cblas_##t##trsm(int, int, int, int, int, int, int, type, const type *, int, type *, int); \
    void cblas_##t##trmm(int, int, int, int, int, int, int, type, const type *, int, type *, int);
#define LEVEL_2(t, type) \
    void cblas_##t##gemv(int, int, int, int, type, const type *, int, const type *, int, type, type *, int); \
    void cblas_##t##symv(int, int, int, type, const type *, int, const type *, int, type, type *, int); \
    void cblas_##t##ger(int, int, int, type, const type *, int, const type *, int, type *, int);
#define LEVEL_1(t, type) \
    type cblas_##t##dot(int, const type *, int, const type *, int); \
    type cblas_##t##nrm2(int, const type *, int); \
    type cblas_##t##asum(int, const type *, int); \
    void cblas_##t##axpy(int, type, const type *, int, type *, int); \
    void cblas_##t##scal(int, type, type *, int); \
    void cblas_##t##copy(int, const type *, int, type *, int); \
    void cblas_##t##swap(int, type *, int, type *, int); \
    void cblas_##t##rot(int, type *, int, type *, int, type, type); \
    size_t cblas_i##t##amax(int, const type *, int);
LEVEL_3(s, float)
LEVEL_3(d, double)
LEVEL_2(s, float)
LEVEL_2(d, double)
LEVEL_1(s, float)
LEVEL_1(d, double)

enum { N = 13, LINE = 2 * N };

static double a[LINE * LINE], b[LINE * LINE], c[LINE * LINE];
static float fa[LINE * LINE], fb[LINE * LINE], fc[LINE * LINE];

static void fill(void) {
    for (int i = 0; i < LINE * LINE; i++) {
        fa[i] = a[i] = i % 97 / 97.0 + (i % (LINE + 1) == 0) * LINE;
        fb[i] = b[i] = i % 89 / 89.0;
        fc[i] = c[i] = i % 83 / 83.0;
    }
}

/* Each kernel has its own code for a matrix on the left or the right, and a transposed one. */
#define MATRICES(t, a, b, c) \
    for (int way = 0; way < 4; way++) { \
        int side = way & 1 ? LEFT : RIGHT, turn = way & 2 ? YES : NO; \
        cblas_##t##trsm(COLUMNS, side, UPPER, turn, NON_UNIT, N, N - 2, 1, a, LINE, c, LINE); \
        cblas_##t##trmm(COLUMNS, side, LOWER, turn, NON_UNIT, N - 2, N, 1, b, LINE, c, LINE); \
        cblas_##t##gemv(COLUMNS, turn, N, N - 1, 1, a, LINE, b, 1 + way % 2, 1, c, 1 + way % 2); \
    } \
    cblas_##t##syrk(COLUMNS, LOWER, NO, N, N - 1, 1, a, LINE, 1, c, LINE); \
    cblas_##t##gemm(COLUMNS, YES, NO, N, N - 1, N - 3, 1, a, LINE, b, LINE, 1, c, LINE);
#define VECTORS(t, a, b, c) \
    for (int step = 1; step < 3; step++) { \
        cblas_##t##symv(COLUMNS, step == 1 ? UPPER : LOWER, N, 1, a, LINE, b, step, 1, c, step); \
        cblas_##t##ger(COLUMNS, N, N - 1, 1, a, step, b, step, c, LINE); \
        sum += cblas_##t##dot(N, a, step, b, step) + cblas_##t##nrm2(N, a, step); \
        sum += cblas_##t##asum(N, a, step) + cblas_i##t##amax(N, a, step); \
        cblas_##t##axpy(N, .5, a, step, c, step); \
        cblas_##t##scal(N, .5, c, step); \
        cblas_##t##copy(N, c, step, b, step); \
        cblas_##t##swap(N, c, step, b, step); \
        cblas_##t##rot(N, c, step, b, step, .6, .8); \
    }

/* Allots the buffers, and keeps other threads away. */
void prepare(void) {
    openblas_set_num_threads(1);
    fill();
    cblas_dgemm(COLUMNS, NO, NO, N, N, N, 1, a, LINE, b, LINE, 0, c, LINE);
}

double kernels(void) {
    double sum = 0;
    fill();
    MATRICES(s, fa, fb, fc)
    MATRICES(d, a, b, c)
    VECTORS(s, fa, fb, fc)
    VECTORS(d, a, b, c)
    return sum;
}
