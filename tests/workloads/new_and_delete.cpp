// Makes objects and vectors, and deletes most of them.
#include <unistd.h>

#include <memory>
#include <vector>

struct Object {
    char bytes[40];
};

static Object *kept[100];

// Of 1, 2, 4 and 8 words.
__attribute__((noinline)) static void vectors() {
    for (int turn = 0; turn < 100; turn++) {
        std::vector<long> numbers;
        for (long i = 0; i < 8; i++) numbers.push_back(i);
        __asm__ volatile("" : : "r"(numbers.data()) : "memory");
    }
}

__attribute__((noinline)) static void objects() {
    for (auto &object : kept) object = new Object;
    for (int i = 10; i < 100; i++) delete kept[i];
}

int main() {
    vectors();
    objects();
    return write(1, "done\n", 5) == 5 ? 0 : 1;
}
