# Deno: V8 in a Rust program with tokio's threads.
# needs: deno
# jit
prepare() {
    echo 'const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
console.log(fib(30));
const m = new Map(); for (let i = 0; i < 300000; i++) m.set("k" + i % 5003, (m.get("k" + i % 5003) || 0) + i);
console.log(m.size, [...m.values()].reduce((a, b) => (a + b) % 1000003, 0));
let n = 0; for (let i = 0; i < 50000; i++) try { throw new Error("x"); } catch { n++; }
const deep = n => 1 + deep(n + 1); try { deep(0); } catch (e) { console.log(n, e instanceof RangeError); }
const text = `self.onmessage = e => { let s = 0; for (let i = 0; i < 2e6; i++) s = (s + i * e.data) % 1009; self.postMessage(s); self.close(); }`;
const ask = i => new Promise(done => { const w = new Worker("data:text/javascript," + encodeURIComponent(text), { type: "module" }); w.onmessage = e => done(e.data); w.postMessage(i); });
console.log(await Promise.all([1, 2, 3, 4].map(ask)));
const bytes = new Uint8Array(1 << 20).map((_, i) => i * 7); console.log(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).join(","));
await Deno.writeTextFile("text", "x".repeat(100000)); console.log((await Deno.readTextFile("text")).length);
const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
(async () => { for await (const c of listener) c.readable.pipeTo(c.writable).catch(() => {}); })();
let got = 0; const c = await Deno.connect(listener.addr); const b = new Uint8Array(1000);
for (let i = 0; i < 300; i++) { await c.write(b.fill(i)); let k = 0; while (k < 1000) k += await c.read(b.subarray(k)); got += b[i]; } console.log(got);
console.log(new TextDecoder().decode((await new Deno.Command("sh", { args: ["-c", "echo child"] }).output()).stdout)); Deno.exit(0);' > work.mjs
}
run() { HOME=$PWD DENO_DIR=$PWD/cache DENO_NO_UPDATE_CHECK=1 NO_COLOR=1 deno run -A --quiet work.mjs; }
"$@"
