//! Random hazards beside the [listed](crate::hazards) ones: C++ programs of kinds of stack, states
//! of flags, tricks of runtimes and ends, in random combinations. What they are made of is in
//! `workloads/generated/elements.h`.
//!
//! The answer of such a program is not known in advance, but it is the same each time: it prints
//! sums of all that it computed and was told. So it is run alone, twice, and then under csprof, and
//! must say the same, complain the same and end the same.
//!
//! ```text
//! CSPROF_HAZARD_SEED=7 cargo test -p csprof-tests --test system -- generated::seed_of_choice --nocapture
//! ```

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::deadline::Outcome;
use crate::hazard::quietly;
use crate::installed::find;
use crate::recording::Recording;
use crate::workshop::Workshop;

/// Knuth's linear congruential generator.
#[derive(Clone, Copy, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Puts values in another order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// A generated program that was built and run alone.
#[derive(Debug)]
pub struct Generated {
    /// What it was made from.
    pub seed: u64,
    /// Where it is.
    pub workshop: Workshop,
    alone: Outcome,
}

impl Generated {
    /// Makes, builds and runs the program of a seed, in a folder below `place`.
    ///
    /// # Panics
    ///
    /// If it does not compile, or differs from itself: then an element is at fault.
    #[must_use]
    pub fn new(place: &str, seed: u64) -> Self {
        // Seeds that follow each other shall have nothing in common.
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.below(2);
        let workshop = Workshop::new(&format!("{place}/{seed}"));
        let (source, options) = program(&mut random);
        fs::write(workshop.path("program.cpp"), source).unwrap();
        let elements = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/generated");
        let clang = find("clang++").is_some() && random.chance(4);
        let compiler = if clang { "clang++" } else { "c++" };
        workshop.compile(&format!(
            "{compiler} -std=c++17 -w -mno-red-zone -fno-strict-aliasing -fno-builtin -pthread \
             -Wl,-z,now {options} -I {} -o program program.cpp -ldl",
            elements.display()
        ));
        workshop.compile("c++ -O2 -shared -fPIC -o library.so @generated/library.cpp");
        let alone = workshop.run(&["./program"]);
        let again = workshop.run(&["./program"]);
        assert_eq!(alone, again, "seed {seed}: the program differs from itself");
        Self { seed, workshop, alone }
    }

    /// Runs it under csprof with this source, or with several, separated by spaces.
    ///
    /// # Panics
    ///
    /// If it says or does something else than alone, or the recording breaks a law.
    #[must_use]
    pub fn record(&self, source: &str) -> Recording {
        let recording = self.workshop.record_without_names(&quietly(source), &["./program"]);
        let what = format!("CSPROF_HAZARD_SEED={}, {source}", self.seed);
        let (found, alone) = (&recording.outcome, &self.alone);
        assert_eq!(found.said(), alone.said(), "{what}: {}", found.complained());
        assert_eq!(found.complained(), alone.complained(), "{what}");
        // As a shell has it, and csprof after it.
        let status = alone.status.code().or(alone.status.signal().map(|signal| 128 + signal));
        assert_eq!(found.status.code(), status, "{what}");
        recording
    }
}

/// What a block may contain, by where it is.
#[derive(Clone, Copy)]
struct Scope {
    /// Blocks around it.
    depth: usize,
    /// Bytes of stack for what is in it.
    room: usize,
    /// The state of flags, or of the process, bears computation alone.
    pure: bool,
    /// Signals may be blocked, or a handler may run.
    signals: bool,
    /// A coroutine may yield.
    yields: bool,
    /// It is not the main thread, which the kernel gives the signals of a process to.
    thread: bool,
    /// Other threads run the same block.
    shared: bool,
}

const MAIN: Scope = Scope {
    depth: 0,
    room: 1 << 20,
    pure: false,
    signals: false,
    yields: false,
    thread: false,
    shared: false,
};

/// What no trick needs more of.
const ROOMY: usize = 60_000;

/// Its text, and the options to compile it with.
fn program(random: &mut Random) -> (String, String) {
    let mut text = String::from("#include \"elements.h\"\n\nstatic volatile long foreign;\n");
    for _ in 0..random.below(4) {
        let own = random.one(OWN_NAMES);
        if !text.contains(own) {
            text += own;
            text += "\n";
        }
    }
    text += "\nint main(int count, char **words) {\nbegin(count, words);\n";
    for scene in 1..=3 + random.below(5) {
        text += &block(random, MAIN);
        text += &format!("say(\"scene\", {scene});\n");
    }
    if random.chance(10) {
        text += &format!("dispatches({});\n", 100 + random.below(1000));
    }
    if random.chance(5) {
        text += "filters();\n";
        text += &block(random, MAIN);
    }
    text += "say(\"foreign\", foreign);\n";
    text += &end(random, MAIN);
    text += "say(\"main returns\");\nreturn 7;\n}\n";
    let options = [
        random.one(&["-O0", "-O1", "-O2", "-O3"]),
        random.one(&["", "-fno-omit-frame-pointer", "-fcf-protection", "-fcf-protection=none"]),
        random.one(&["", "", "-static-libgcc -static-libstdc++", "-no-pie", "-s"]),
    ];
    (text, options.join(" "))
}

fn block(random: &mut Random, scope: Scope) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        let nests = scope.depth < 3 && !random.chance(3 + scope.depth);
        text += &if nests { nested(random, scope) } else { trick(random, scope) };
        if scope.yields && random.chance(2) {
            text += "yields();\n";
        }
    }
    text
}

fn work(random: &mut Random) -> String {
    format!("work({}, {});\n", 2 + random.below(5), 100 + random.below(1500))
}

/// A block in another state or on another stack.
fn nested(random: &mut Random, scope: Scope) -> String {
    let inner = Scope { depth: scope.depth + 1, ..scope };
    let pure = Scope { pure: true, yields: false, ..inner };
    if scope.pure || scope.room < 16_000 {
        // States of flags need little stack.
        return match random.below(4) {
            0 if !scope.pure => wrapped("with_alignment_checks(", &aligned(random)),
            1 => wrapped(rounding(random), &work(random)),
            2 => wrapped(x87(random), &work(random)),
            _ => work(random),
        };
    }
    let new_stack = |room| Scope { room, yields: false, ..inner };
    let new_thread = |room| Scope { thread: true, ..new_stack(room) };
    match random.below(18) {
        0 => wrapped("with_alignment_checks(", &aligned(random)),
        1 => wrapped(rounding(random), &block(random, inner)),
        2 => wrapped(x87(random), &block(random, inner)),
        // There are fifteen in a process.
        3 if !scope.shared => wrapped("with_protection_keys(", &block(random, pure)),
        4 => wrapped("with_errno(", &work(random)),
        5 => {
            let signals = Scope { signals: true, yields: false, ..inner };
            wrapped("with_signals_blocked(", &block(random, signals))
        }
        6 => wrapped("on_thread(16384, ", &block(random, new_thread(5_000))),
        7 => wrapped("on_thread(0, ", &block(random, new_thread(1 << 20))),
        8 => {
            let shared = Scope { shared: true, signals: true, ..new_thread(1 << 20) };
            let threads = 2 + random.below(10);
            wrapped(format!("on_threads({threads}, "), &block(random, shared))
        }
        9..=11 => {
            let size = random.one(&[4096, 6144, 8192, 16_384, 65_536, 262_144]);
            let assembly = random.one(&["false", "true"]);
            let coroutine = Scope { yields: true, ..new_stack(size - 2048) };
            wrapped(format!("on_coroutine({size}, {assembly}, "), &block(random, coroutine))
        }
        12 => wrapped("on_split_stack(", &block(random, new_stack(32_000))),
        13 if !scope.signals => {
            let size = random.one(&[8192, 16_384, 65_536]);
            let flags = random.one(&["0", "SA_NODEFER", "SA_RESTART", "SA_SIGINFO"]);
            let handler = Scope { signals: true, ..new_stack(size - 5_000) };
            wrapped(format!("on_alternate_stack({size}, {flags}, "), &block(random, handler))
        }
        14 if !scope.signals => {
            let signal = random.one(&["SIGUSR2", "SIGPROF", "SIGTRAP", "SIGRTMIN + 3", "SIGSEGV"]);
            let flags =
                random.one(&["0", "SA_NODEFER", "SA_RESTART", "SA_ONSTACK", "SA_RESETHAND"]);
            let handler = Scope { signals: true, ..new_stack(inner.room - 8_000) };
            wrapped(format!("in_handler({signal}, {flags}, "), &block(random, handler))
        }
        15 if !scope.shared => {
            let child = new_stack(inner.room);
            wrapped("in_child(BY_FORK, ", &block(random, child))
        }
        16 if !scope.shared => wrapped("in_child(BY_SYSTEM_CALL, ", &block(random, pure)),
        _ => block(random, inner),
    }
}

fn wrapped(call: impl AsRef<str>, block: &str) -> String {
    format!("{}[&] {{\n{block}}});\n", call.as_ref())
}

fn rounding(random: &mut Random) -> String {
    let bits = random.one(&["0x2000", "0x4000", "0x6000", "0x8040", "0xe040"]);
    format!("with_rounding({bits}, ")
}

fn x87(random: &mut Random) -> String {
    format!("with_x87({}, ", random.one(&["0x07f", "0x27f", "0xf7f", "0x77f", "0x37a"]))
}

/// What does not touch memory at odd places.
fn aligned(random: &mut Random) -> String {
    let times = 50 + random.below(1000);
    match random.below(4) {
        0 => format!("pops({times});\n"),
        1 => format!("asks_where({times});\n"),
        2 => format!("tail_calls({}, {});\n", 2 + random.below(5), times / 4),
        _ => work(random),
    }
}

fn trick(random: &mut Random, scope: Scope) -> String {
    let depth = 1 + random.below(if scope.room > 16_000 { 30 } else { 6 });
    let times = 20 + random.below(200);
    let kinds = match scope {
        Scope { pure: true, .. } => 5,
        Scope { room, .. } if room < 3_000 => 5,
        Scope { room, .. } if room < 16_000 => 8,
        Scope { room, .. } if room < ROOMY => 14,
        // A shared block has no signals, and no children.
        Scope { signals: true, .. } | Scope { shared: true, .. } => 17,
        _ => 28,
    };
    match random.below(kinds) {
        0 => work(random),
        1 => aligned(random),
        2 => format!("fills_x87({});\n", times),
        3 => format!("fills_wide_registers({});\n", times),
        4 => format!("with_direction_down({}, {});\n", 1 + depth / 4, times),
        5 => format!("allocates({}, {});\n", 10 + random.below((scope.room / 40).min(1000)), times),
        6 => format!("jumps({depth}, {times});\n"),
        7 => format!("runs_code_of_its_own({}, {});\n", random.one(&["true", "false"]), times * 4),
        8 => format!("copies_the_stack({depth}, {times});\n"),
        9 => format!("runs_unreadable_code({});\n", times * 4),
        10 => format!("sorts({});\n", times),
        // Side by side, numbers of files are those of whoever comes first.
        11 if !scope.shared => "asks();\n".to_owned(),
        12 => format!("jumps({depth}, {});\n", times * 4),
        13 => format!("copies_the_stack({depth}, {});\n", times * 4),
        14 => format!("throws({depth}, {});\n", times / 4),
        15 => format!("loads({});\n", 1 + random.below(4)),
        16 => format!("walks_back({});\n", times / 4),
        17 => format!("ends_threads({}, {});\n", random.below(5), 1 + random.below(5)),
        18 => "shells();\n".to_owned(),
        19 => "spawns();\n".to_owned(),
        20 => "vforks();\n".to_owned(),
        21 | 22 => {
            let interrupted = if scope.thread { "false" } else { random.one(&["true", "false"]) };
            format!("waits({}, {interrupted});\n", random.below(10))
        }
        23 => {
            let timer = random.one(&["ITIMER_REAL", "ITIMER_PROF", "ITIMER_VIRTUAL"]);
            let flags = random.one(&["0", "SA_RESTART", "SA_NODEFER", "SA_ONSTACK"]);
            format!("has_a_timer({timer}, {flags}, {});\n", 1 + random.below(8))
        }
        24 if !scope.thread => {
            format!("jumps_out_of_handlers({});\n", 1 + random.below(8))
        }
        25 => {
            // Not SIGPROF: one that a sample is already under way with is merged with it, by the
            // kernel.
            let signal = random.one(&["SIGUSR2", "SIGTRAP", "SIGRTMIN + 1", "SIGALRM"]);
            format!("sends_itself({signal}, {times});\n")
        }
        26 => "waits_for_a_signal();\n".to_owned(),
        // Only where nobody else has said where handlers run.
        _ if scope.depth == 0 => "overflows();\n".to_owned(),
        _ => work(random),
    }
}

/// How it ends, and on which stack.
fn end(random: &mut Random, scope: Scope) -> String {
    let end = ENDS[random.below(ENDS.len())];
    let place = random.below(8);
    let before = block(random, Scope { depth: 3, thread: scope.thread || place == 0, ..scope });
    let text = format!("{before}{end}\n");
    match place {
        0 => wrapped("on_thread(0, ", &text),
        1 => wrapped("on_coroutine(262144, false, ", &text),
        2 => wrapped("on_coroutine(262144, true, ", &text),
        // Signals in there would be others than those of the block.
        3 => wrapped("on_alternate_stack(262144, SA_NODEFER, ", &format!("{end}\n")),
        _ => text,
    }
}

const ENDS: &[&str] = &[
    ";",
    ";",
    "exit(4);",
    "_exit(5);",
    "quick_exit(6);",
    "abort();",
    "killed_by(SIGKILL);",
    "killed_by(SIGTERM);",
    "killed_by(SIGPROF);",
    "killed_by(SIGALRM);",
    "killed_by(SIGSEGV);",
    "mix(reads_nothing((u64 *)16));",
    "__builtin_trap();",
    "system_call(SYS_exit_group, 8);",
    "replaced();",
    "throw Thrown{1};",
    "main_thread_exits();",
];

/// Functions of a program's own with names of the C library's, which it never calls itself; who
/// else calls them is counted.
const OWN_NAMES: &[&str] = &[
    r#"extern "C" ssize_t read(int, void *, size_t) { foreign++; return -1; }"#,
    r#"extern "C" ssize_t write(int, const void *, size_t) { foreign++; return -1; }"#,
    r#"extern "C" int open(const char *, int, ...) { foreign++; return -1; }"#,
    r#"extern "C" int open64(const char *, int, ...) { foreign++; return -1; }"#,
    r#"extern "C" int close(int) { foreign++; return -1; }"#,
    r#"extern "C" int poll(pollfd *, nfds_t, int) { foreign++; return -1; }"#,
    r#"extern "C" long lseek64(int, long, int) noexcept { foreign++; return -1; }"#,
    r#"extern "C" int ioctl(int, unsigned long, ...) noexcept { foreign++; return -1; }"#,
    r#"extern "C" char *getenv(const char *) noexcept { foreign++; return nullptr; }"#,
    r#"extern "C" int access(const char *, int) noexcept { foreign++; return -1; }"#,
    r#"extern "C" int sched_yield() noexcept { foreign++; return -1; }"#,
    r#"extern "C" int dup(int) noexcept { foreign++; return -1; }"#,
    r#"extern "C" int unlink(const char *) noexcept { foreign++; return -1; }"#,
    r#"extern "C" int sigaction(int number, const struct sigaction *action, struct sigaction *before) noexcept {
    static auto next = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    return next(number, action, before);
}"#,
    r#"extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) noexcept {
    static auto next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, body, argument);
}"#,
    r#"extern "C" void *malloc(size_t size) noexcept {
    static char heap[64 << 20];
    static std::atomic<size_t> used;
    char *block = heap + used.fetch_add((size + 31) & ~15ul);
    *(size_t *)block = size;
    return block + 16;
}
extern "C" void free(void *) noexcept {}
extern "C" void *calloc(size_t count, size_t size) noexcept { return malloc(count * size); }
extern "C" void *realloc(void *old, size_t size) noexcept {
    void *block = malloc(size);
    if (old) memcpy(block, old, std::min(size, ((size_t *)old)[-2]));
    return block;
}"#,
];
