# GNU Prolog: native code without frames, stacks in mappings of its own, faults when they are full.
# needs: gplc gcc
# jit
prepare() {
    cat > work.pl <<'END'
fib(0, 0). fib(1, 1).
fib(N, F) :- N > 1, A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.
queens(N, Qs) :- numlist_(1, N, Ns), permute(Ns, Qs), safe(Qs), !.
numlist_(N, N, [N]) :- !.
numlist_(A, N, [A|T]) :- B is A + 1, numlist_(B, N, T).
permute([], []). permute(L, [H|T]) :- select(H, L, R), permute(R, T).
safe([]). safe([Q|Qs]) :- no_attack(Q, Qs, 1), safe(Qs).
no_attack(_, [], _).
no_attack(Q, [R|Rs], D) :- Q =\= R + D, Q =\= R - D, E is D + 1, no_attack(Q, Rs, E).
thrown(0, S, S) :- !.
thrown(N, A, S) :- catch(throw(x), x, true), B is A + 1, M is N - 1, thrown(M, B, S).
count(N, N) :- !.
count(I, N) :- J is I + 1, count(J, N).
len([], 0). len([_|T], N) :- len(T, M), N is M + 1.
:- initialization(main).
main :- fib(21, F), write(F), nl, queens(8, Q), write(Q), nl, thrown(20000, 0, S), write(S), nl,
    count(0, 1000000), numlist_(1, 100000, L), len(L, N), write(N), nl, halt(0).
END
    gplc --no-top-level -o work work.pl
}
run() { ./work; }
"$@"
