# clang and, on what it made, LLVM's optimizer.
# needs: clang g++
prepare() {
    cat > heavy.cpp <<'END'
#include <cstdio>
#include <map>
int main() { std::map<int, int> m; m[3] = 7; std::printf("%d\n", m[3]); }
END
}
run() { clang++ -O2 -S -emit-llvm -o heavy.ll heavy.cpp && clang++ -O2 -o heavy heavy.cpp && ./heavy && cksum heavy.ll; }
"$@"
