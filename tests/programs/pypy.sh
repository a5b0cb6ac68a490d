# PyPy: traces of machine code; its collector finds roots on a stack of its own.
# needs: pypy3
# jit
prepare() {
    echo 'import sys, threading, gc
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(25))
def work(n): return sum(i * i % 7 for i in range(n))
out = [0] * 4
def t(i): out[i] = work(200000 + i)
ts = [threading.Thread(target=t, args=(i,)) for i in range(4)]; [x.start() for x in ts]; [x.join() for x in ts]; print(out)
n = 0
for i in range(200000):
    try: raise ValueError
    except ValueError: n += 1
d = {}
for i in range(300000): d[str(i * 7919 % 5003)] = [i, (i,)]
gc.collect(); print(n, len(d), sum(v[0] for v in d.values()))
def over(n): return over(n + 1) + 1
try: over(0)
except RecursionError: print("deep")
from greenlet import greenlet, getcurrent
def count():
    for i in range(20000): getcurrent().parent.switch(i)
g = greenlet(count); s = 0
while not g.dead: s += g.switch() or 0
print(s)' > work.py
}
run() { pypy3 -S work.py; }
"$@"
