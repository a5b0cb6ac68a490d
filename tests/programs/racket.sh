# Racket: Chez Scheme's machine code, with continuations and stacks of its own.
# needs: racket
# jit
prepare() {
    echo '#lang racket/base
(require racket/list racket/control racket/future)
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(fib 29)
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(deep 500000)
(for/sum ([i 20000]) (with-handlers ([symbol? (lambda (x) 1)]) (raise (quote x))))
(define k #f) (define n 0)
(define (again v) (set! n (+ n 1)) (if (< n 3000) (k n) v))
(again (let ([x (let/cc c (set! k c) 0)]) (+ x (deep 10))))
(define h (make-hash))
(for ([i 200000]) (hash-set! h (number->string (modulo (* i 7919) 5003)) (list i (make-vector 3 i))))
(collect-garbage)
(for/sum ([(k v) h]) (car v))
(define (gen n) (reset (let loop ([i 0]) (if (< i n) (+ (shift c (+ 1 (c 1))) (loop (+ i 1))) 0))))
(gen 3000)
(define ts (for/list ([i 20]) (let ([ch (make-channel)]) (thread (lambda () (channel-put ch (fib (+ 10 (modulo i 5)))))) ch)))
(for/sum ([c ts]) (channel-get c))
(apply + (map touch (for/list ([i 8]) (future (lambda () (fib 18))))))' > work.rkt
}
run() { HOME=$PWD racket work.rkt; }
"$@"
