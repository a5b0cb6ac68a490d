# Chez Scheme: stacks are segments on its heap, and return addresses carry data before them.
# needs: chezscheme
# jit
prepare() {
    cat > work.ss <<'END'
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(printf "~s\n" (fib 30))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(printf "~s\n" (deep 1000000))
(define k #f) (define n 0)
(define (again v) (set! n (+ n 1)) (if (< n 5000) (k n) v))
(printf "~s\n" (again (+ 1 (deep 50) (call/cc (lambda (c) (set! k c) 0)))))
(printf "~s\n" (let loop ((i 0) (s 0)) (if (= i 50000) s (loop (+ i 1) (+ s (call/cc (lambda (out) (with-exception-handler (lambda (e) (out 1)) (lambda () (raise (quote x)))))))))))
(define h (make-hashtable string-hash string=?))
(do ((i 0 (+ i 1))) ((= i 200000)) (hashtable-set! h (number->string (modulo (* i 7919) 5003)) (list i (make-vector 3 i))))
(collect 3)
(printf "~s ~s\n" (hashtable-size h) (apply + (map car (vector->list (hashtable-values h)))))
(printf "~s\n" (let loop ((i 0) (s 0)) (if (= i 100) s (loop (+ i 1) (+ s ((compile (list (quote lambda) (list (quote x)) (list (quote +) (quote x) i))) 1))))))
END
}
run() { HOME=$PWD chezscheme --script work.ss; }
"$@"
