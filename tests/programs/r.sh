# R: its interpreter, longjmp for errors, BLAS.
# needs: Rscript
# partial: no-cfi 5, unsupported-cfi 5
prepare() {
    echo 'f <- function(n) if (n < 2) n else f(n - 1) + f(n - 2); print(f(20))
set.seed(1); m <- matrix(runif(250000), 500); print(dim(solve(m))); print(round(sum(crossprod(m))))
n <- 0; for (i in 1:5000) n <- n + tryCatch(stop("x"), error = function(e) 1); print(n)
print(summary(lm(mpg ~ wt + hp, mtcars))$r.squared); x <- sort(runif(1e6)); print(length(x))' > work.R
}
run() { Rscript --vanilla work.R; }
"$@"
