# clang and, on what it made, LLVM's optimizer.
# needs: clang g++
prepare() {
    cat > heavy.cpp <<'END'
#include <regex>
#include <map>
#include <iostream>
int main() { std::map<std::string, int> m; std::regex r("a(b|c)*d"); m["x"] = std::regex_match("abcd", r); std::cout << m["x"] << "\n"; }
END
}
run() { clang++ -O2 -S -emit-llvm -o heavy.ll heavy.cpp && clang++ -O2 -o heavy heavy.cpp && ./heavy && cksum heavy.ll; }
"$@"
