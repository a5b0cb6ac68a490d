# clang and, on what it made, LLVM's optimizer.
# needs: clang g++
prepare() {
    cat > heavy.cpp <<'END'
#include <map>
#include <iostream>
int main() { std::map<std::string, int> m; m["x"] = 7; std::cout << m["x"] << "\n"; }
END
}
run() { clang++ -O2 -S -emit-llvm -o heavy.ll heavy.cpp && clang++ -O2 -o heavy heavy.cpp && ./heavy && cksum heavy.ll; }
"$@"
