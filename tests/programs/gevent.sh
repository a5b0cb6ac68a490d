# gevent: greenlets that wait for sockets, and a pool of threads beside them.
# needs: /usr/bin/python3
# jit
prepare() {
    cat > work.py <<'END'
from gevent import monkey; monkey.patch_all()
import gevent, gevent.pool, gevent.queue, gevent.threadpool, socket, threading, subprocess
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def serve(listener):
    def one(c):
        with c:
            while True:
                d = c.recv(64)
                if not d: return
                c.sendall(str(sum(i * i for i in range(int(d)))).encode() + b"\n")
    while True: gevent.spawn(one, listener.accept()[0])
listener = socket.create_server(("127.0.0.1", 0)); server = gevent.spawn(serve, listener)
def ask(n):
    with socket.create_connection(listener.getsockname()) as c:
        s = 0
        for i in range(5):
            c.sendall(str(n + i).encode()); d = b""
            while not d.endswith(b"\n"): d += c.recv(64)
            s += int(d)
        return s
print(sum(gevent.pool.Pool(20).map(ask, range(100, 200))))
q = gevent.queue.Queue(3)
def put(): [q.put(i) for i in range(5000)]
gevent.spawn(put); print(sum(q.get() for _ in range(5000)))
pool = gevent.threadpool.ThreadPool(4); print(sum(pool.map(fib, [14] * 30)))
ts = [threading.Thread(target=lambda: gevent.sleep(0.001)) for _ in range(100)]; [t.start() for t in ts]; [t.join() for t in ts]
print(subprocess.run(["sh", "-c", "echo child"], capture_output=True).stdout)
try:
    with gevent.Timeout(0.01):
        while True: gevent.sleep(0)
except gevent.Timeout: print("late")
server.kill()
END
    /usr/bin/python3 -c 'import gevent'
}
run() { /usr/bin/python3 work.py; }
"$@"
