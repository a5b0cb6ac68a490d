# node: machine code generated at run time, worker threads, children.
# needs: node
# jit
prepare() {
    echo 'const { Worker, isMainThread, parentPort } = require("worker_threads");
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
if (!isMainThread) { parentPort.postMessage(fib(29)); }
else {
  const words = {}; for (let i = 0; i < 300000; i++) { const k = "w" + (i * 7919 % 5003); words[k] = (words[k] || 0) + 1; }
  const sorted = Object.keys(words).sort().map(k => [k, words[k]]);
  console.log(fib(30), sorted.length, JSON.stringify(sorted).length);
  const w = new Worker(__filename); w.on("message", m => { console.log(m); console.log(require("child_process").execSync("echo child").toString()); });
}' > work.js
}
run() { node work.js; }
"$@"
