# Maxima in GCL: a Lisp whose allocator may not be asked for anything before main, and which executes itself with
# another personality.
# needs: maxima
# jit
prepare() { echo "factor(2^101-1); integrate(sin(x)^4*cos(x)^3,x); length(expand((x+y)^150)); bessel_j(2,3.5);" > work; }
run() { maxima --very-quiet < work; }
"$@"
