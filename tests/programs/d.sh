# D: exceptions of its own, fibers, and a collector that suspends threads by signals.
# needs: ldc2 gcc
# jit
prepare() {
    echo 'import std.stdio, std.algorithm, std.range, std.conv, core.thread, core.memory, std.parallelism;
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
class Node { Node l, r; this(int d) { if (d > 0) { l = new Node(d - 1); r = new Node(d - 1); } } int count() { return l is null ? 1 : l.count + r.count + 1; } }
int deep(int n) { if (n == 0) { Fiber.yield(); return 0; } return deep(n - 1) + 1; }
void main() {
    writeln(fib(32));
    int n = 0; foreach (i; 0 .. 20000) try { throw new Exception("x"); } catch (Exception e) n++;
    int[string] m; foreach (i; 0 .. 200000) m[to!string(i * 7919L % 5003)] = i;
    writeln(n, " ", m.length, " ", m.byValue.map!(v => cast(long) v).sum);
    auto out_ = new int[6]; Thread[] ts;
    foreach (i; 0 .. 6) { (int i) { ts ~= new Thread({ foreach (j; 0 .. 4) out_[i] += new Node(12 + i % 2).count; }).start(); }(i); }
    foreach (i; 0 .. 10) GC.collect(); foreach (t; ts) t.join(); writeln(out_);
    int s = 0; Fiber[] fs; foreach (i; 0 .. 500) { (int i) { fs ~= new Fiber({ foreach (j; 0 .. 20) s += deep(i % 30); }); }(i); }
    foreach (r; 0 .. 21) { foreach (f; fs) if (f.state == Fiber.State.HOLD) f.call(); if (r % 5 == 0) GC.collect(); }
    writeln(s, " ", taskPool.reduce!"a + b"(map!(i => fib(i % 12))(iota(2000))));
}' > work.d
    ldc2 -O2 -of=work work.d
}
run() { ./work; }
"$@"
