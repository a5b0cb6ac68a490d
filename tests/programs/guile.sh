# Guile: machine code made at run time, continuations that copy stacks, a conservative collector.
# needs: guile
# jit
prepare() {
    echo '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 24)) (newline)
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(define count 0)
(do ((i 0 (+ i 1))) ((= i 5000)) (set! count (+ count (catch (quote x) (lambda () (throw (quote x))) (lambda _ 1)))))
(display (list count (deep 100000))) (newline)
(define k #f) (define n 0)
(define (again v) (set! n (+ n 1)) (if (< n 2000) (k n) v))
(display (again (+ 1 (deep 50) (call/cc (lambda (c) (set! k c) 0))))) (newline)
(define (each-of t) (define (gen r) (for-each (lambda (x) (set! r (call/cc (lambda (next) (set! resume next) (r x))))) t) (r #f))
  (define resume gen) (lambda () (call/cc (lambda (r) (resume r)))))
(define g (each-of (iota 3000)))
(display (let loop ((s 0) (x (g))) (if x (loop (+ s x) (g)) s))) (newline)
(define h (make-hash-table))
(do ((i 0 (+ i 1))) ((= i 60000)) (hash-set! h (number->string (modulo (* i 7919) 5003)) (list i (make-vector 3 i))))
(display (hash-fold (lambda (k v s) (+ s (car v))) 0 h)) (newline) (gc)
(use-modules (ice-9 threads) (ice-9 control))
(display (par-map (lambda (i) (fib (+ 15 i))) (iota 5))) (newline)
(define (yielder n) (call-with-prompt (quote p) (lambda () (let loop ((i 0)) (if (< i n) (begin (abort-to-prompt (quote p) i) (loop (+ i 1))) 0))) (lambda (k v) (+ v (resume-with k)))))
(define (resume-with k) (call-with-prompt (quote p) k (lambda (k v) (+ v (resume-with k)))))
(display (yielder 3000)) (newline)' > work.scm
}
run() { HOME=$PWD GUILE_AUTO_COMPILE=0 guile -q work.scm; }
"$@"
