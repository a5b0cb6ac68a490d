# A static Go binary cannot be preloaded; one with cgo can, and has stacks of its own.
# needs: go gcc
# jit
prepare() {
    export GOCACHE=$PWD/cache GO111MODULE=off HOME=$PWD
    echo 'package main
/*
static double work(int n) { double s = 0; for (int i = 1; i < n; i++) s += 1.0 / i; return s; }
*/
import "C"
import ("fmt"; "os"; "runtime/pprof"; "strings"; "sync")
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func main() {
	f, _ := os.Create("cpu.pprof"); pprof.StartCPUProfile(f)
	var wg sync.WaitGroup; out := make([]int, 8)
	for i := range out { wg.Add(1); go func(i int) { defer wg.Done(); out[i] = fib(30 + i%3) }(i) }
	wg.Wait()
	s := 0.0; for i := 0; i < 200; i++ { s += float64(C.work(100000)) }
	m := map[string]int{}; for i := 0; i < 300000; i++ { m[strings.Repeat("x", i%50)]++ }
	n := 0; for i := 0; i < 1000; i++ { func() { defer func() { if recover() != nil { n++ } }(); var p *int; *p = 1 }() }
	pprof.StopCPUProfile(); f.Close(); st, _ := os.Stat("cpu.pprof")
	fmt.Println(out, int(s), len(m), n, st.Size() > 0)
}' > work.go
    go build -o work work.go
}
run() { ./work; }
"$@"
