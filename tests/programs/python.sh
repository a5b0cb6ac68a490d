# Python with threads, processes of its own, and exceptions.
# needs: python3
prepare() {
    echo 'import threading, multiprocessing, subprocess, sys, collections, json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work(n): return sum(i * i % 7 for i in range(n))
if __name__ == "__main__":
    print(fib(24)); out = [0] * 4
    def t(i): out[i] = work(100000 + i)
    ts = [threading.Thread(target=t, args=(i,)) for i in range(4)]; [x.start() for x in ts]; [x.join() for x in ts]; print(out)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(3) as p: print(p.map(work, range(50000, 50012)))
    n = 0
    for i in range(50000):
        try: raise ValueError
        except ValueError: n += 1
    print(n, subprocess.run(["sh", "-c", "echo child"], capture_output=True).stdout)
    c = collections.Counter(re.findall(r"\d\d", json.dumps(list(range(50000))))); print(c.most_common(2))' > work.py
}
run() { python3 work.py; }
"$@"
