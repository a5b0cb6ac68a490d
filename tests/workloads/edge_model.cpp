// A program that counts its own activations, to be compared with what csprof counts.
//
//     program SEED THREADS STEPS END [LIBRARY]
//
// Each thread walks at random: it calls, returns, calls in place of itself, throws to a frame far
// up, jumps to another, and takes samples of itself: it stops csprof's timer and raises the
// profiling signal just as the timer would. The handler, the walk and the trampoline are the real
// ones, only the moments are known. A shadow stack says what must come of it: each activation
// that was on the stack at a sample counts once, when it returns, for the call path that it had at
// its last sample; those left by a jump, an exception or their thread's end are lost.
//
// END is `return`, `exit` (from deep down: what is on the stack is live) or `thread` (pthread_exit from
// deep down: it is lost). With a LIBRARY, that is opened, called and closed now and then.
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "edge_model.h"

#define SEPARATE __attribute__((noinline))

// Whether the compiler makes a jump of the last call of a function.
#if defined(__clang__)
#define TAIL_CALLS 1
#define TAIL [[clang::musttail]]
#elif defined(__OPTIMIZE__)
#define TAIL_CALLS 1
#define TAIL
#else
#define TAIL_CALLS 0
#define TAIL
#endif

enum { ROOT = 14, TIDY, FUNCTIONS };
static const char *const NAMES[FUNCTIONS] = {
    "plain_a", "plain_b", "plain_c", "catch_a", "catch_b",  "land_a",    "land_b",
    "tidy_a",  "tidy_b",  "tail_a",  "tail_b",  "in_library", "in_library", "plain_d",
    "walk",    "Tidy::~Tidy()",
};

enum Trap : char { OPEN, CATCHES, LANDS, TIDIES };
enum Step { CALL, CALL_DIRECTLY, SAMPLE, LEAVE_BY_JUMP, RETURN };

struct Activation {
    int function;
    int node;
    bool sampled;
    Trap trap;
};

struct Node {
    int parent, function;
    unsigned long samples, returns;
};

struct Thrown {
    unsigned target;
};

static const char *how_to_end;
static const char *library;
static void report_and_exit();

#define DEEPEST 48

struct Walk : signal_source {
    uint64_t random;
    long budget;
    bool replaces = false;
    std::vector<Activation> stack;
    std::vector<Node> nodes{{-1, -1, 0, 0}};
    std::map<std::pair<int, int>, int> children;
    unsigned long lost = 0, sampled = 0;
    jmp_buf place[DEEPEST];
    sigjmp_buf place_with_mask[DEEPEST];

    SEPARATE unsigned below(unsigned limit) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        return (random >> 33) % limit;
    }
    SEPARATE unsigned enter(int function) {
        if (replaces)
            stack.back().function = function;
        else
            stack.push_back({function, 0, false, OPEN});
        replaces = false;
        return stack.size() - 1;
    }
    SEPARATE void leave() {
        if (stack.back().sampled)
            nodes[stack.back().node].returns++;
        stack.pop_back();
    }
    SEPARATE void set(unsigned me, Trap trap) { stack[me].trap = trap; }
    // The activations above `me` are gone, and did not return.
    SEPARATE void unwind_to(unsigned me) {
        for (; stack.size() > me + 1; stack.pop_back())
            lost += stack.back().sampled;
    }
    // A sample comes: all that is on the stack is in it.
    SEPARATE void mark() {
        int node = 0;
        for (Activation &active : stack) {
            auto found = children.try_emplace({node, active.function}, (int)nodes.size());
            if (found.second)
                nodes.push_back({node, active.function, 0, 0});
            node = found.first->second;
            sampled += !active.sampled;
            active.sampled = true;
            active.node = node;
        }
        nodes[node].samples++;
    }
    SEPARATE Step step() {
        if (budget-- <= 0) {
            if (how_to_end[0] == 'e')
                report_and_exit();
            if (how_to_end[0] == 't')
                pthread_exit(0);
            return RETURN;
        }
        unsigned choice = below(100);
        if (stack.size() > DEEPEST - 4)
            return choice < 50 ? RETURN : LEAVE_BY_JUMP;
        return choice < 22   ? CALL
               : choice < 40 ? CALL_DIRECTLY
               : choice < 65 ? SAMPLE
               : choice < 70 ? LEAVE_BY_JUMP
                             : RETURN;
    }
    SEPARATE void leave_by_jump() {
        std::vector<unsigned> catching, landing;
        for (unsigned i = 0; i < stack.size(); i++) {
            if (stack[i].trap == CATCHES)
                catching.push_back(i);
            if (stack[i].trap == LANDS)
                landing.push_back(i);
            // A jump may not leave frames that have something to tidy up.
            if (stack[i].trap == TIDIES)
                landing.clear();
        }
        if (below(2) && !catching.empty())
            throw Thrown{catching[below(catching.size())]};
        if (!landing.empty()) {
            unsigned target = landing[below(landing.size())];
            if (stack[target].function == 5)
                longjmp(place[target], 1);
            siglongjmp(place_with_mask[target], 1);
        }
    }
};

// Here, in the function that says so, and not in one that it calls.
#define TAKE_SAMPLE(walk)                                                                          \
    do {                                                                                           \
        (walk).mark();                                                                             \
        RAISE(walk);                                                                               \
    } while (0)

#define OTHER_STEPS                                                                                \
    case SAMPLE:                                                                                   \
        TAKE_SAMPLE(walk);                                                                         \
        break;                                                                                     \
    case LEAVE_BY_JUMP:                                                                            \
        walk.leave_by_jump();                                                                      \
        break;                                                                                     \
    case RETURN:                                                                                   \
        walk.leave();                                                                              \
        return sum + 1;

typedef long Function(Walk &);
static Function *any(Walk &walk);

#define PLAIN(name, number, direct, bytes)                                                         \
    extern "C" SEPARATE long direct(Walk &);                                                       \
    extern "C" SEPARATE long name(Walk &walk) {                                                    \
        volatile char frame[bytes];                                                                \
        frame[0] = 0;                                                                              \
        long sum = frame[0];                                                                       \
        walk.enter(number);                                                                        \
        for (;;)                                                                                   \
            switch (walk.step()) {                                                                 \
            case CALL:                                                                             \
                sum += any(walk)(walk);                                                            \
                break;                                                                             \
            case CALL_DIRECTLY:                                                                    \
                sum += direct(walk);                                                               \
                break;                                                                             \
                OTHER_STEPS                                                                        \
            }                                                                                      \
    }

#define CATCH(name, number, direct)                                                                \
    extern "C" SEPARATE long direct(Walk &);                                                       \
    extern "C" SEPARATE long name(Walk &walk) {                                                    \
        long sum = 0;                                                                              \
        unsigned me = walk.enter(number);                                                          \
        for (;;)                                                                                   \
            switch (walk.step()) {                                                                 \
            case CALL:                                                                             \
                walk.set(me, CATCHES);                                                             \
                try {                                                                              \
                    sum += any(walk)(walk);                                                        \
                } catch (Thrown & thrown) {                                                        \
                    walk.unwind_to(me);                                                            \
                    if (thrown.target != me)                                                       \
                        throw;                                                                     \
                }                                                                                  \
                walk.set(me, OPEN);                                                                \
                break;                                                                             \
            case CALL_DIRECTLY:                                                                    \
                sum += direct(walk);                                                               \
                break;                                                                             \
                OTHER_STEPS                                                                        \
            }                                                                                      \
    }

#define LAND(name, number, direct, setjmp_here)                                                    \
    extern "C" SEPARATE long direct(Walk &);                                                       \
    extern "C" SEPARATE long name(Walk &walk) {                                                    \
        volatile long sum = 0;                                                                     \
        const unsigned me = walk.enter(number);                                                    \
        for (;;)                                                                                   \
            switch (walk.step()) {                                                                 \
            case CALL:                                                                             \
                walk.set(me, LANDS);                                                               \
                if (setjmp_here == 0)                                                              \
                    sum = sum + any(walk)(walk);                                                   \
                else                                                                               \
                    walk.unwind_to(me);                                                            \
                walk.set(me, OPEN);                                                                \
                break;                                                                             \
            case CALL_DIRECTLY:                                                                    \
                sum = sum + direct(walk);                                                          \
                break;                                                                             \
                OTHER_STEPS                                                                        \
            }                                                                                      \
    }

// Its destructor is in samples of its own, in cleanups too.
struct Tidy {
    Walk &walk;
    unsigned owner;
    SEPARATE ~Tidy();
};

Tidy::~Tidy() {
    walk.unwind_to(owner);
    walk.set(owner, OPEN);
    walk.enter(TIDY);
    for (unsigned n = walk.below(3); n > 0; n--)
        TAKE_SAMPLE(walk);
    walk.leave();
}

#define TIDY_UP(name, number, direct)                                                              \
    extern "C" SEPARATE long direct(Walk &);                                                       \
    extern "C" SEPARATE long name(Walk &walk) {                                                    \
        long sum = 0;                                                                              \
        unsigned me = walk.enter(number);                                                          \
        for (;;)                                                                                   \
            switch (walk.step()) {                                                                 \
            case CALL: {                                                                           \
                Tidy tidy{walk, me};                                                               \
                walk.set(me, TIDIES);                                                              \
                sum += any(walk)(walk);                                                            \
                break;                                                                             \
            }                                                                                      \
            case CALL_DIRECTLY:                                                                    \
                sum += direct(walk);                                                               \
                break;                                                                             \
                OTHER_STEPS                                                                        \
            }                                                                                      \
    }

#if TAIL_CALLS
#define IN_PLACE(walk, call)                                                                       \
    walk.replaces = true;                                                                          \
    TAIL return call
#else
#define IN_PLACE(walk, call)                                                                       \
    long sum = call;                                                                               \
    walk.leave();                                                                                  \
    return sum
#endif

#define TAIL_CALL(name, number, direct)                                                            \
    extern "C" SEPARATE long direct(Walk &);                                                       \
    extern "C" SEPARATE long name(Walk &walk) {                                                    \
        walk.enter(number);                                                                        \
        if (walk.below(2))                                                                         \
            TAKE_SAMPLE(walk);                                                                     \
        if (walk.below(2)) {                                                                       \
            IN_PLACE(walk, direct(walk));                                                          \
        }                                                                                          \
        Function *next = any(walk);                                                                \
        IN_PLACE(walk, next(walk));                                                                \
    }

PLAIN(plain_a, 0, catch_a, 1)
PLAIN(plain_b, 1, plain_b, 77)
PLAIN(plain_c, 2, tail_a, 400)
PLAIN(plain_d, 13, plain_a, 8)
CATCH(catch_a, 3, land_a)
CATCH(catch_b, 4, catch_b)
LAND(land_a, 5, tidy_a, _setjmp(walk.place[me]))
LAND(land_b, 6, land_b, sigsetjmp(walk.place_with_mask[me], 1))
TIDY_UP(tidy_a, 7, tail_b)
TIDY_UP(tidy_b, 8, plain_a)
TAIL_CALL(tail_a, 9, plain_d)
TAIL_CALL(tail_b, 10, tidy_b)

static Function *any(Walk &walk) {
    static Function *const ALL[] = {plain_a, plain_b, plain_c, catch_a, catch_b, land_a,
                                    land_b,  tidy_a,  tidy_b,  tail_a,  tail_b,  plain_d};
    return ALL[walk.below(sizeof ALL / sizeof *ALL)];
}

// What the library calls back.
struct Called : Callbacks {
    Walk &walk;
    explicit Called(Walk &walk) : walk(walk) {
        in_library_enters = [](Callbacks *self) { ((Called *)self)->walk.enter(11); };
        in_library_samples = [](Callbacks *self) { ((Called *)self)->walk.mark(); };
        in_library_leaves = [](Callbacks *self) { ((Called *)self)->walk.leave(); };
        any = [](Callbacks *self) { return (long (*)(void *))::any(((Called *)self)->walk); };
        argument = &walk;
        signal = &walk;
    }
};

// The start of a thread.
extern "C" SEPARATE void *walk(void *walk_) {
    Walk &walk = *(Walk *)walk_;
    long sum = 0;
    take_over(&walk);
    walk.enter(ROOT);
    while (walk.budget > 0) {
        if (library && walk.below(2)) {
            void *opened = dlopen(library, RTLD_NOW);
            if (!opened)
                puts(dlerror()), _exit(9);
            Called called(walk);
            sum += ((InLibrary *)dlsym(opened, "in_library"))(&called);
            dlclose(opened);
        }
        sum += any(walk)(walk);
    }
    walk.leave();
    return (void *)sum;
}

static std::vector<Walk *> walks;

static void report() {
    std::map<std::string, Node> paths;
    unsigned long lost = 0, sampled = 0, samples = 0;
    for (Walk *walk : walks) {
        for (Node node : walk->nodes) {
            if (node.parent < 0)
                continue;
            std::string path = NAMES[node.function];
            for (int up = node.parent; up > 0; up = walk->nodes[up].parent)
                path = std::string(NAMES[walk->nodes[up].function]) + "/" + path;
            paths[path].samples += node.samples;
            paths[path].returns += node.returns;
            samples += node.samples;
        }
        lost += walk->lost;
        sampled += walk->sampled;
    }
    for (auto &path : paths)
        printf("%s %lu %lu\n", path.first.c_str(), path.second.samples, path.second.returns);
    printf("samples %lu sampled %lu lost %lu\n", samples, sampled, lost);
    fflush(stdout);
}

static void report_and_exit() {
    report();
    exit(0);
}

int main(int, char **arguments) {
    uint64_t seed = strtoull(arguments[1], 0, 10);
    long threads = atol(arguments[2]), steps = atol(arguments[3]);
    how_to_end = arguments[4];
    library = arguments[5];
    for (long i = 0; i <= threads; i++) {
        walks.push_back(new Walk);
        walks[i]->random = (seed * 64 + i + 1) * 0x9e3779b97f4a7c15;
        walks[i]->budget = steps;
    }
    std::vector<pthread_t> ids(threads);
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], 0, walk, walks[i + 1]);
    for (pthread_t id : ids)
        pthread_join(id, 0);
    for (Walk *ended : walks)
        if (!ended->stack.empty()) {
            ended->unwind_to(0);
            ended->lost += ended->stack[0].sampled;
            ended->stack.clear();
        }
    if (how_to_end[0] == 't')
        how_to_end = "return";
    walk(walks[0]);
    report();
    return 0;
}
