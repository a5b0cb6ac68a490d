# greenlet copies parts of the machine stack away and back.
# needs: /usr/bin/python3
# jit
prepare() {
    echo 'import greenlet, gc, threading
def deep(n, f): return f() if n == 0 else 1 + deep(n - 1, f)
def worker(i):
    total = 0
    for j in range(60):
        total += deep(j % 17, lambda: greenlet.getcurrent().parent.switch(i * j))
    return total
def rounds(count):
    gs = [greenlet.greenlet(worker) for _ in range(count)]
    s = 0
    for i, g in enumerate(gs): s += g.switch(i)
    while gs:
        for g in list(gs):
            s += sorted([g.switch(1), 0])[-1]
            if g.dead: gs.remove(g)
    return s
print(rounds(200))
out = [0] * 4
def t(i): out[i] = rounds(40 + i)
ts = [threading.Thread(target=t, args=(i,)) for i in range(4)]
[x.start() for x in ts]; [x.join() for x in ts]; print(out)
n = 0
def thrower():
    while True:
        try: greenlet.getcurrent().parent.switch()
        except ValueError: pass
g = greenlet.greenlet(thrower); g.switch()
for i in range(20000):
    g.throw(ValueError); n += 1
gs = [greenlet.greenlet(thrower) for _ in range(500)]
for h in gs: h.switch()
del gs, h; gc.collect()
class Key:
    def __init__(self, k): self.k = k
    def __lt__(self, o): main.switch(); return self.k < o.k
main = greenlet.getcurrent()
def sorter(): return [k.k for k in sorted(Key(i * 7919 % 1009) for i in range(1009))]
g = greenlet.greenlet(sorter); r = None
while not g.dead: r = g.switch()
print(n, sum(i * k for i, k in enumerate(r)))' > work.py
    /usr/bin/python3 -c 'import greenlet'
}
run() { /usr/bin/python3 work.py; }
"$@"
