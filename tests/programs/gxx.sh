# The C++ compiler on many templates.
# needs: g++
prepare() {
    cat > heavy.cpp <<'END'
#include <map>
#include <functional>
#include <iostream>
template <int N> struct S { static std::function<int(int)> f() { return [](int x) { return S<N - 1>::f()(x) + N; }; } };
template <> struct S<0> { static std::function<int(int)> f() { return [](int x) { return x; }; } };
int main() { std::cout << S<60>::f()(1) << "\n"; }
END
}
run() { g++ -O2 -o heavy heavy.cpp && ./heavy; }
"$@"
