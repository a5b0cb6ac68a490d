# LLVM's optimizer on generated code.
# needs: clang opt g++
prepare() {
    cat > heavy.cpp <<'END'
#include <regex>
int main() { std::regex r("a(b|c)*d"); return std::regex_match("abcd", r); }
END
    clang++ -O1 -Xclang -disable-llvm-passes -S -emit-llvm -o heavy.ll heavy.cpp
}
run() { opt -O2 -S heavy.ll -o out.ll && cksum out.ll; }
"$@"
