//! What one sample costs, by depth of the stack, with and without the trampoline.
//!
//! `cargo bench -p csprof-collector --bench sample`
//!
//! This program runs itself with the collector preloaded, as any profiled program. Each sample is a
//! profiling signal that it queues to itself in the form in which the kernel's timer sends it. The
//! same is done with an empty handler; the difference is what csprof adds (net). Between two
//! samples the leaf returns and is called again, so with the trampoline there is one return to
//! count and one new frame. Runs with and without the trampoline alternate, each in a process of
//! its own; medians.
//!
//! A *first* sample is one below [`HOPS`] functions that no sample has met: their recipes are
//! looked up, and nodes are added. What both handlers pay, cold code of the program's own, is
//! subtracted.
//!
//! A *request* is a call of malloc(3) and free(3), none of which is sampled: without the collector,
//! and by way of its stubs.
//!
//! A *firing* is a return through the trampoline, which counts it: after one sample below
//! [`RETURNS`] frames, all of them return.

#![expect(unsafe_code, reason = "sends signals to itself")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::process::Command;

use csprof_format::launch;

const DEPTHS: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
const ROUNDS: usize = 5;
const BATCHES: u64 = 10;
/// Frames that return after one sample, to measure a return.
const RETURNS: u32 = 1_000;
const MEASURE: &str = "--measure";
const MEASURE_REQUESTS: &str = "--measure-requests";

fn main() {
    if std::env::args().nth(1).as_deref() == Some(MEASURE) {
        // Enough stack for the deepest measurement.
        let worker = std::thread::Builder::new().stack_size(64 << 20).spawn(measure);
        worker.expect("a thread").join().expect("the measurement");
        return;
    }
    if std::env::args().nth(1).as_deref() == Some(MEASURE_REQUESTS) {
        println!("{}", requests());
        return;
    }
    // One row for each depth, one for a first sample, and the last for a return.
    let mut with = vec![Vec::new(); DEPTHS.len() + 2];
    let mut without = with.clone();
    for _ in 0..ROUNDS {
        for (trampoline, results) in [(true, &mut with), (false, &mut without)] {
            for (all, net) in results.iter_mut().zip(run(trampoline)) {
                all.push(net);
            }
        }
    }
    println!("net cost of one sample, ns (median of {ROUNDS} alternating runs)");
    println!("{:>8} {:>14} {:>14} {:>8}", "depth", "trampoline", "without", "ratio");
    for (depth, (with, without)) in DEPTHS.iter().zip(with.iter_mut().zip(&mut without)) {
        let (with, without) = (median(with), median(without));
        println!("{depth:>8} {with:>14.0} {without:>14.0} {:>7.1}x", without / with);
    }
    if let ([.., first, last], [.., other_first, other_last]) = (&mut with[..], &mut without[..]) {
        let (with, without) = (median(first), median(other_first));
        println!(
            "a first sample below {HOPS} functions: {with:.0} ns, without trampoline {without:.0}"
        );
        let (with, without) = (median(last), median(other_last));
        println!("a return through the trampoline: {with:.1} ns, an ordinary one: {without:.1} ns");
    }
    println!("malloc and free of 100 bytes, not sampled:");
    let sources = ["cputime:10000000000", "alloc:10000000000", "leak:10000000000"];
    for source in std::iter::once(None).chain(sources.map(Some)) {
        let mut times: Vec<f64> = (0..ROUNDS).map(|_| run_requests(source)).collect();
        println!("{:>22}: {:.2} ns", source.unwrap_or("without csprof"), median(&mut times));
    }
}

/// Nanoseconds of a request and what gives it back, in a process that is sampled by a source.
fn run_requests(source: Option<&str>) -> f64 {
    let folder = tempfile::tempdir().expect("a folder for the arena");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg(MEASURE_REQUESTS);
    if let Some(source) = source {
        command.env(launch::LD_PRELOAD, collector());
        command.env(launch::RUN_DIR, folder.path()).env(launch::SOURCE, source);
    }
    let output = command.output().expect("a process to measure in");
    let text = String::from_utf8(output.stdout).expect("a number");
    text.trim().parse().expect("a number")
}

/// The least of several batches.
fn requests() -> f64 {
    const REQUESTS: u32 = 1_000_000;
    let batch = || {
        let start = cpu_ns();
        for _ in 0..REQUESTS {
            // SAFETY: asks for memory, and gives it back.
            unsafe { libc::free(black_box(libc::malloc(black_box(100)))) };
        }
        (cpu_ns() - start) as f64 / f64::from(REQUESTS)
    };
    (0..BATCHES).map(|_| batch()).fold(f64::MAX, f64::min)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Net nanoseconds per sample for each depth, measured in a new process.
fn run(trampoline: bool) -> Vec<f64> {
    let folder = tempfile::tempdir().expect("a folder for the arena");
    let output = Command::new(std::env::current_exe().expect("this program"))
        .arg(MEASURE)
        .env(launch::LD_PRELOAD, collector())
        .env(launch::RUN_DIR, folder.path())
        // The clock's own signals would disturb: one in ten seconds.
        .env(launch::SOURCE, "cputime:10000000000")
        .env(launch::NO_TRAMPOLINE, if trampoline { "0" } else { "1" })
        .output()
        .expect("a process to measure in");
    let text = String::from_utf8(output.stdout).expect("numbers");
    let numbers: Vec<f64> = text.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(numbers.len(), DEPTHS.len() + 2, "{}", String::from_utf8_lossy(&output.stderr));
    numbers
}

/// The library that cargo built beside this program.
fn collector() -> std::path::PathBuf {
    let program = std::env::current_exe().expect("this program");
    program.with_file_name("libcsprof_collector.so")
}

fn measure() {
    let cookie = cookie();
    empty_handler(libc::SIGUSR1);
    for depth in DEPTHS {
        let samples = (20_000_000 / (u64::from(depth) + 1_000)).clamp(200, 20_000);
        // Warm-up: new nodes are added here.
        descend(depth, 2, libc::SIGPROF, cookie);
        // The least of several alternating batches: what the machine did meanwhile only adds.
        let (mut floor, mut gross) = (f64::MAX, f64::MAX);
        for _ in 0..BATCHES {
            floor = floor.min(descend(depth, samples / BATCHES, libc::SIGUSR1, cookie));
            gross = gross.min(descend(depth, samples / BATCHES, libc::SIGPROF, cookie));
        }
        println!("{}", gross - floor);
    }
    println!("{}", first_samples(cookie));
    let returns = (0..BATCHES * 20).map(|_| {
        let sampled = descend(RETURNS, 0, libc::SIGPROF, cookie);
        (cpu_ns() as f64 - sampled) / f64::from(RETURNS)
    });
    println!("{}", returns.fold(f64::MAX, f64::min));
}

/// Functions of a way that no sample has met.
const HOPS: usize = 16;
const WAYS: usize = 64;

/// A function pointer that may lie in a list of its own kind.
#[derive(Clone, Copy)]
struct Hops(fn(&[Self], i32, u64) -> usize);

/// One of many functions that call the next one, and at last for a sample.
#[inline(never)]
fn hop<const NUMBER: usize>(way: &[Hops], signal: i32, cookie: u64) -> usize {
    match way {
        [Hops(next), rest @ ..] => next(rest, signal, cookie) + black_box(NUMBER),
        [] => leaf(signal, cookie) as usize,
    }
}

macro_rules! ways {
    ($($way:literal)*) => { [$([
        Hops(hop::<{ $way * 16 }>), Hops(hop::<{ $way * 16 + 1 }>),
        Hops(hop::<{ $way * 16 + 2 }>), Hops(hop::<{ $way * 16 + 3 }>),
        Hops(hop::<{ $way * 16 + 4 }>), Hops(hop::<{ $way * 16 + 5 }>),
        Hops(hop::<{ $way * 16 + 6 }>), Hops(hop::<{ $way * 16 + 7 }>),
        Hops(hop::<{ $way * 16 + 8 }>), Hops(hop::<{ $way * 16 + 9 }>),
        Hops(hop::<{ $way * 16 + 10 }>), Hops(hop::<{ $way * 16 + 11 }>),
        Hops(hop::<{ $way * 16 + 12 }>), Hops(hop::<{ $way * 16 + 13 }>),
        Hops(hop::<{ $way * 16 + 14 }>), Hops(hop::<{ $way * 16 + 15 }>),
    ]),*] };
}

static WAY: [[Hops; HOPS]; WAYS] = ways!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
);

/// Nanoseconds of CPU time that a first sample adds: the median of every second way, less that of
/// the others.
fn first_samples(cookie: u64) -> f64 {
    let mut costs = [Vec::new(), Vec::new()];
    for (number, way) in WAY.iter().enumerate() {
        let signal = if number % 2 == 0 { libc::SIGPROF } else { libc::SIGUSR1 };
        let start = cpu_ns();
        black_box(hop::<{ HOPS * WAYS }>(way, signal, cookie));
        costs[number % 2].push((cpu_ns() - start) as f64);
    }
    let [mut gross, mut floor] = costs;
    median(&mut gross) - median(&mut floor)
}

/// Takes `samples` signals below `depth` frames; nanoseconds of CPU time for each. With no samples
/// but the first: when it was taken, by the thread's clock.
#[inline(never)]
fn descend(depth: u32, samples: u64, signal: i32, cookie: u64) -> f64 {
    if depth > 0 {
        return black_box(descend(depth - 1, samples, signal, cookie)) + 0.0;
    }
    // The first sample on a new stack walks all of it, trampoline or not.
    leaf(signal, cookie);
    let start = cpu_ns();
    if samples == 0 {
        return start as f64;
    }
    for _ in 0..samples {
        black_box(leaf(signal, cookie));
    }
    (cpu_ns() - start) as f64 / samples as f64
}

/// CPU time of this thread, in nanoseconds.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What tells the collector that a signal is from this thread's timer: the value of the timer that
/// signals this thread (proc_pid_timers(5)).
fn cookie() -> u64 {
    // SAFETY: takes nothing, changes nothing.
    let tid = unsafe { libc::gettid() };
    let timers = std::fs::read_to_string("/proc/self/timers").expect("/proc/self/timers");
    let this_thread = format!("notify: signal/tid.{tid}\n");
    let before = timers.split(&this_thread).next().expect("this thread's timer");
    let signal = before.lines().rfind(|line| line.starts_with("signal: ")).expect("its signal");
    let value = signal.split('/').nth(1).expect("its value");
    u64::from_str_radix(value, 16).expect("a number")
}

#[inline(never)]
fn leaf(signal: i32, cookie: u64) -> i64 {
    /// `siginfo_t` of a timer (include/uapi/asm-generic/siginfo.h).
    #[repr(C)]
    struct Queued {
        signo: i32,
        errno: i32,
        code: i32,
        pad: i32,
        timer: i32,
        overrun: i32,
        value: u64,
        rest: [u64; 12],
    }
    let queued = Queued {
        signo: signal,
        errno: 0,
        code: libc::SI_TIMER,
        pad: 0,
        timer: 0,
        overrun: 0,
        value: cookie,
        rest: [0; 12],
    };
    // SAFETY: a siginfo_t of full size; a process may queue any signal to itself
    // (rt_tgsigqueueinfo(2)).
    unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            libc::getpid(),
            libc::gettid(),
            signal,
            &raw const queued,
        )
    }
}

fn empty_handler(signal: i32) {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(signal, nothing as *const () as libc::sighandler_t) };
}
