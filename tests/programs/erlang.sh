# Erlang: its machine code keeps terms on stacks in its own heap, and a sigaction of its own.
# needs: erl erlc
# jit
prepare() {
    export HOME=$PWD
    echo '-module(work).
-export([main/0]).
fib(N) when N < 2 -> N; fib(N) -> fib(N - 1) + fib(N - 2).
ring(Next) -> receive {next, P} -> ring(P); {0, From} -> From ! done; {N, From} -> Next ! {N - 1, From}, ring(Next) end.
deep(0) -> 0; deep(N) -> 1 + deep(N - 1).
main() ->
    io:format("~p~n", [fib(25)]),
    Ps = [spawn(fun() -> ring(none) end) || _ <- lists:seq(1, 50)],
    lists:foreach(fun({P, Q}) -> P ! {next, Q} end, lists:zip(Ps, tl(Ps) ++ [hd(Ps)])),
    hd(Ps) ! {50000, self()}, receive done -> io:format("ring~n") end,
    M = lists:foldl(fun(I, A) -> maps:put(integer_to_binary(I rem 5003), {I, [I]}, A) end, #{}, lists:seq(1, 100000)),
    io:format("~p ~p~n", [maps:size(M), erlang:phash2(lists:sort(maps:to_list(M)))]),
    io:format("~p~n", [lists:sum([try error(x) catch error:x -> 1 end || _ <- lists:seq(1, 20000)])]),
    io:format("~p ~p~n", [deep(300000), length(lists:usort([erlang:phash2(I) || I <- lists:seq(1, 50000)]))]),
    Me = self(), [spawn_monitor(fun() -> Me ! {sum, lists:sum(lists:seq(1, 20000 + I))} end) || I <- lists:seq(1, 20)],
    io:format("~p~n", [lists:sum([receive {sum, S} -> S end || _ <- lists:seq(1, 20)])]),
    halt(0).' > work.erl
    erlc work.erl
}
run() { HOME=$PWD erl -noshell -pa . -s work main; }
"$@"
