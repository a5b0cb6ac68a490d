# OCaml's native code: its collector looks up every return address on the stack.
# needs: ocamlopt gcc
# jit
prepare() {
    cat > work.ml <<'END'
exception Found of int
type tree = Leaf | Node of tree * int * tree
let rec insert x = function Leaf -> Node (Leaf, x, Leaf)
  | Node (l, y, r) as t -> if x < y then Node (insert x l, y, r) else if x > y then Node (l, y, insert x r) else t
let rec size = function Leaf -> 0 | Node (l, _, r) -> size l + 1 + size r
let rec find x = function Leaf -> raise Not_found | Node (l, y, r) -> if x = y then raise (Found x) else find x (if x < y then l else r)
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let rec build n = if n = 0 then [] else n :: build (n - 1)
let () =
  let t = ref Leaf in
  for i = 1 to 60000 do t := insert (i * 7919 mod 65537) !t done;
  let hits = ref 0 in
  for i = 1 to 60000 do (try find i !t with Found _ -> incr hits | Not_found -> ()) done;
  Printf.printf "%d %d %d\n" (size !t) !hits (fib 30);
  let s = ref 0 in
  for i = 1 to 300 do s := !s + List.fold_left (+) 0 (List.map (fun x -> x * i land 7) (build 2000)); if i mod 50 = 0 then Gc.compact () done;
  Printf.printf "%d\n" !s;
  let h = Hashtbl.create 16 in
  for i = 1 to 200000 do Hashtbl.replace h (string_of_int (i mod 5003)) (i, [i]) done;
  Printf.printf "%d %d\n" (Hashtbl.length h) (Hashtbl.fold (fun _ (i, l) a -> a + i + List.length l) h 0);
  Gc.finalise (fun r -> incr r) (ref 0); Gc.full_major ();
  try ignore (let rec deep n = 1 + deep (n + 1) in deep 0) with Stack_overflow -> print_endline "deep"
END
    ocamlopt -g -w -a -o work work.ml
}
run() { ./work; }
"$@"
