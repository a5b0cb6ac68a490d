# Chicken's C never returns: it fills the stack with young data, and jumps when that is full.
# needs: csi csc
# jit
prepare() {
    echo '(import (chicken condition))
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(print (fib 27))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(print (deep 200000))
(define k #f) (define n 0)
(define (again v) (set! n (+ n 1)) (if (< n 5000) (k n) v))
(print (again (+ 1 (deep 50) (call/cc (lambda (c) (set! k c) 0)))))
(print (let loop ((i 0) (s 0)) (if (= i 5000) s (loop (+ i 1) (+ s (handle-exceptions e 1 (error "x")))))))
(define v (make-vector 5003 (quote ())))
(do ((i 0 (+ i 1))) ((= i 100000)) (let ((j (modulo (* i 7919) 5003))) (vector-set! v j (cons (number->string i) (if (> (length (vector-ref v j)) 5) (quote ()) (vector-ref v j))))))
(print (apply + (map length (vector->list v))))' > work.scm
    # Mono's compiler of C# has the same name.
    csc -version 2>/dev/null | grep -q CHICKEN && csc -O2 -o work work.scm; csi -version >/dev/null
}
run() { if [ -e work ]; then ./work; else csi -q -s work.scm; fi; }
"$@"
