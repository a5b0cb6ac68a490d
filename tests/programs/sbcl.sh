# SBCL: Lisp frames on the C stack, a collector that reads them, faults as its write barrier.
# needs: sbcl
# jit
prepare() {
    echo '(defun fib (n) (declare (fixnum n)) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(print (fib 30))
(defun deep (n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(defun tree (d) (if (= d 0) nil (cons (tree (- d 1)) (tree (- d 1)))))
(defun leaves (tree) (if tree (+ (leaves (car tree)) (leaves (cdr tree))) 1))
(print (list (deep 10000) (loop repeat 12 sum (leaves (tree 15)))))
(print (let ((n 0)) (dotimes (i 20000 n) (handler-case (error "x") (error () (incf n))))))
(print (let ((n 0)) (dotimes (i 50000 n) (catch (quote c) (unwind-protect (throw (quote c) 1) (incf n))))))
(let ((h (make-hash-table :test (quote equal))))
  (dotimes (i 200000) (setf (gethash (format nil "~d" (mod (* i 7919) 5003)) h) (list i (make-array 3))))
  (sb-ext:gc :full t)
  (print (list (hash-table-count h) (loop for v being the hash-values of h sum (car v)))))
(print (mapcar (function sb-thread:join-thread) (loop for i below 6 collect (let ((i i)) (sb-thread:make-thread (lambda () (+ (fib 20) (leaves (tree (+ 12 (mod i 3))))))))))) 
(print (loop for i below 50 sum (funcall (compile nil (list (quote lambda) (quote (x)) (list (quote +) (quote x) i))) 1)))
(terpri) (sb-ext:exit :code 0)' > work.lisp
}
run() { HOME=$PWD sbcl --script work.lisp; }
"$@"
