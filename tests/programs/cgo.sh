# A cgo program that recovers from nil, then recurses: Go's handler of SIGSEGV and its growing stacks. It executes others
# by instructions of its own.
# needs: go gcc
# jit
prepare() {
    export GOCACHE=$PWD/cache GO111MODULE=off HOME=$PWD
    echo 'package main
/*
#include <stdlib.h>
static int down(int n) { volatile char room[100]; room[n % 100] = n; return n ? down(n - 1) + room[n % 100] - (char)n + 1 : 0; }
extern int goCallback(int);
static int back(int n) { return goCallback(n); }
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static long sorted(int n) { int *v = malloc(n * sizeof *v); for (int i = 0; i < n; i++) v[i] = i * 7919L % 10007; qsort(v, n, sizeof *v, cmp); long s = 0; for (int i = 0; i < n; i++) s += (long)v[i] * i % 11; free(v); return s; }
*/
import "C"
import ("fmt"; "os"; "os/exec"; "runtime"; "sync"; "syscall")
//export goCallback
func goCallback(n C.int) C.int { if n == 0 { return 0 }; return C.back(n-1) + 1 }
func nilled() (r int) { defer func() { if recover() != nil { r = 1 } }(); var p *int; return *p }
func deep(n int) int { if n == 0 { return 0 }; var room [64]byte; room[n%64] = 1; return deep(n-1) + int(room[n%64]) }
func main() {
	if len(os.Args) > 1 { fmt.Println("executed"); return }
	n := 0
	for i := 0; i < 2000; i++ { n += nilled() }
	fmt.Println(n, deep(200000), C.down(10000), C.back(200))
	var wg sync.WaitGroup; out := make([]int, 8)
	for i := range out { wg.Add(1); go func(i int) { defer wg.Done(); runtime.LockOSThread(); for j := 0; j < 50; j++ { out[i] += nilled() + deep(2000+j) + int(C.down(1000)) + int(C.back(5)) }; out[i] += int(C.sorted(50000)) % 100 }(i) }
	wg.Wait(); runtime.GC()
	fmt.Println(out, deep(200000))
	said, err := exec.Command("echo", "child").Output()
	fmt.Println(string(said), err)
	fmt.Println(syscall.Exec(os.Args[0], []string{os.Args[0], "again"}, os.Environ()))
}' > work.go
    go build -o work work.go
}
run() { ./work; }
"$@"
