# OCaml's compilers, which are OCaml programs themselves, both native and interpreted.
# needs: ocamlopt.opt ocamlc.opt ocamlrun gcc
# jit
prepare() {
    i=0
    while [ $i -lt 90 ]; do
        echo "module M$i = struct type t = A of int | B of t list
  let rec f = function A n -> n + $i | B l -> List.fold_left (fun a x -> a + f x) 0 l
  let g x = match x with (0, _, Some y) -> y | (_, [a; b], None) -> a * b | (n, _, _) -> n + $i
  let h = List.map (fun x -> f (B [A x; A (x * 2)]) + g (x, [x; $i], None)) [1; 2; 3] end"
        i=$((i + 1))
    done > work.ml
    echo 'let () = List.iter (Printf.printf "%d ") M7.h; print_newline ()' >> work.ml
}
run() {
    ocamlopt.opt -w -a -c work.ml && cksum < work.cmx && cksum < work.cmi
    ocamlc.opt -w -a -o bytes work.ml && ocamlrun bytes
    rm -f work.o work.cm* bytes
}
"$@"
