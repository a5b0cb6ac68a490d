// Work for the compiler: templates that instantiate each other, and standard containers of them.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <int N> struct Fibonacci { static constexpr long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value; };
template <> struct Fibonacci<0> { static constexpr long value = 0; };
template <> struct Fibonacci<1> { static constexpr long value = 1; };

template <int N> struct Tagged {
    std::string name = std::to_string(N * Fibonacci<N % 80>::value);
    bool operator<(const Tagged &other) const { return name < other.name; }
};

template <int N> std::size_t work(const std::vector<std::string> &words) {
    std::map<std::string, Tagged<N>> by_name;
    std::unordered_map<std::string, std::shared_ptr<Tagged<N>>> shared;
    for (const auto &word : words) {
        by_name.emplace(word, Tagged<N>{});
        shared[word] = std::make_shared<Tagged<N>>();
    }
    std::vector<std::pair<std::string, Tagged<N>>> sorted(by_name.begin(), by_name.end());
    std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return b < a; });
    std::variant<int, std::string, Tagged<N>> either = sorted.empty() ? Tagged<N>{} : sorted[0].second;
    std::function<std::size_t()> size = [&] {
        return std::visit([](auto &value) { return sizeof value; }, either) + shared.size();
    };
    return size();
}

template <int... N> std::size_t all(const std::vector<std::string> &words, std::integer_sequence<int, N...>) {
    return (work<N>(words) + ...);
}

std::size_t run(const std::vector<std::string> &words) {
    return all(words, std::make_integer_sequence<int, 3>());
}
