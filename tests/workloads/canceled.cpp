// Threads of C++ that are canceled: destructors run, catch-all blocks see the cancellation and let it
// go on. (Asynchronous cancellation is not for frames that have something to clean up: gcc leaves the
// cleanup out where it knows that nothing throws.)
#include <atomic>
#include <cstdio>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace {

std::atomic<int> destroyed, seen;
sem_t ready;

thread_local volatile unsigned long sink;
[[gnu::noinline]] void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

struct Counted {
    ~Counted() {
        burn(1000);
        destroyed++;
    }
};

using End = void (*)();

[[gnu::noinline]] int down(int frames, End end) {
    Counted guard;
    burn(20000);
    int below = 0;
    try {
        if (frames == 0)
            end();
        else
            below = down(frames - 1, end);
    } catch (...) {
        seen++;
        throw;
    }
    burn(20000);
    return below + 1;
}

void leave() { pthread_exit(nullptr); }

void wait_for_it() {
    sem_post(&ready);
    for (;;) {
        burn(1000);
        pthread_testcancel();
    }
}

void pause_for_it() {
    sem_post(&ready);
    for (;;) pause();
}

void *throwing(void *end) {
    down(20, reinterpret_cast<End>(end));
    return nullptr;
}

int run(void *(*body)(void *), End end, bool cancel) {
    pthread_t thread;
    pthread_create(&thread, nullptr, body, reinterpret_cast<void *>(end));
    if (cancel) {
        sem_wait(&ready);
        pthread_cancel(thread);
    }
    void *result;
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED;
}

} // namespace

int main() {
    sem_init(&ready, 0, 0);
    int canceled = 0;
    for (int round = 0; round < 150; round++) {
        canceled += run(throwing, leave, false);
        canceled += run(throwing, wait_for_it, true);
        canceled += run(throwing, pause_for_it, true);
    }
    std::printf("canceled %d, destroyed %d, seen %d\n", canceled, destroyed.load(), seen.load());
    return 0;
}
