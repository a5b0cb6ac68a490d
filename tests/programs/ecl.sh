# ECL: Lisp compiled to C, a conservative collector that stops threads by signals.
# needs: ecl
# jit
prepare() {
    echo '(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(print (fib 20))
(defun deep (n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(print (deep 1000))
(defun tree (d) (if (= d 0) nil (cons (tree (- d 1)) (tree (- d 1)))))
(defun leaves (tree) (if tree (+ (leaves (car tree)) (leaves (cdr tree))) 1))
(print (loop repeat 6 sum (leaves (tree 12))))
(print (let ((n 0)) (dotimes (i 3000 n) (handler-case (error "x") (error () (incf n))))))
(print (let ((n 0)) (dotimes (i 10000 n) (catch (quote c) (unwind-protect (throw (quote c) 1) (incf n))))))
(let ((h (make-hash-table :test (quote equal))))
  (dotimes (i 20000) (setf (gethash (format nil "~d" (mod (* i 7919) 5003)) h) (list i (make-array 3))))
  (print (list (hash-table-count h) (loop for v being the hash-values of h sum (car v)))))
#+threads (print (mapcar (function mp:process-join) (loop for i below 4 collect (mp:process-run-function "t" (lambda () (fib 15))))))
(terpri)' > work.lsp
}
run() { HOME=$PWD ecl --norc --shell work.lsp; }
"$@"
