# LLVM's optimizer on generated code.
# needs: clang opt g++
prepare() {
    cat > heavy.cpp <<'END'
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
int main() {
    std::map<std::string, std::vector<int>> m;
    std::unordered_map<int, std::vector<std::string>> words;
    for (int i = 0; i < 100; i++) {
        std::ostringstream out;
        out << i % 7 << ' ' << i * 0.5;
        m[out.str()].push_back(i * 31 % 17);
        words[i % 11].push_back(out.str());
    }
    std::function<bool(int, int)> is_more = [](int a, int b) { return a > b; };
    for (auto &[name, all] : m) std::stable_sort(all.begin(), all.end(), is_more);
    for (auto &[number, all] : words) std::sort(all.begin(), all.end());
    return m["3 1.5"].size() + words[3][0].size();
}
END
    clang++ -O1 -Xclang -disable-llvm-passes -S -emit-llvm -o heavy.ll heavy.cpp
}
run() { opt -O2 -S heavy.ll -o out.ll && cksum out.ll; }
"$@"
