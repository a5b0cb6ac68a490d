# The C++ compiler on many templates.
# needs: g++
prepare() {
    cat > heavy.cpp <<'END'
#include <functional>
#include <cstdio>
template <int N> struct S { static std::function<int(int)> f() { return [](int x) { return S<N - 1>::f()(x) + N; }; } };
template <> struct S<0> { static std::function<int(int)> f() { return [](int x) { return x; }; } };
int main() { std::printf("%d\n", S<12>::f()(1)); }
END
}
run() { g++ -O2 -o heavy heavy.cpp && ./heavy; }
"$@"
