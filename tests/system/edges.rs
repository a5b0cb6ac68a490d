//! Edge counts against programs that count their own activations: for every call path, what csprof
//! shows is what happened, to the last return.

use std::collections::BTreeMap;
use std::path::Path;

use csprof_format::ids::ThreadId;
use csprof_format::profile::Profile;
use csprof_tests::installed::are_installed;
use csprof_tests::notes::skip;
use csprof_tests::paths::Rows;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// What is known of each call path, from `walk` on: samples that ended there, returns.
type Paths = BTreeMap<String, (u64, u64)>;

const GCC: &str = "c++ -g -std=c++17 -pthread -o program @edge_model.cpp -ldl";

#[test]
fn of_a_random_walk() {
    if !timers_are_listed() {
        return;
    }
    for (name, flags) in [
        ("edges_o0", "-O0"),
        ("edges_o2", "-O2"),
        ("edges_o3", "-O3 -fomit-frame-pointer -D_FORTIFY_SOURCE=2"),
    ] {
        let workshop = Workshop::new(name);
        workshop.compile(&format!("{GCC} {flags}"));
        for seed in 1..=2 {
            check(&workshop, &[], &["./program", &seed.to_string(), "3", "4000", "return"]);
        }
    }
}

#[test]
fn of_a_random_walk_by_clang() {
    if !timers_are_listed() {
        return;
    }
    if are_installed("edge counts of clang's code", &["clang++"]) {
        let workshop = Workshop::new("edges_clang");
        workshop.compile(&GCC.replace("c++ ", "clang++ -O2 "));
        check(&workshop, &[], &["./program", "4", "3", "4000", "return"]);
    }
}

#[test]
fn of_threads_that_exit_deep_down() {
    if !timers_are_listed() {
        return;
    }
    let workshop = Workshop::new("edges_thread");
    workshop.compile(&format!("{GCC} -O2"));
    check(&workshop, &[], &["./program", "5", "3", "3000", "thread"]);
}

#[test]
fn of_a_process_that_exits_deep_down() {
    if !timers_are_listed() {
        return;
    }
    let workshop = Workshop::new("edges_exit");
    workshop.compile(&format!("{GCC} -O2"));
    check(&workshop, &[], &["./program", "6", "0", "3000", "exit"]);
}

#[test]
fn through_epochs() {
    if !timers_are_listed() {
        return;
    }
    let workshop = Workshop::new("edges_epochs");
    workshop.compile(&format!("{GCC} -O2"));
    workshop.compile("c++ -g -O2 -shared -fPIC -o library.so @edge_library.cpp");
    let words = ["./program", "7", "2", "4000", "return", "./library.so"];
    let recording = check(&workshop, &["--epoch-per-load"], &words);
    assert!(recording.profile.epochs.len() > 3, "{}", recording.profile.epochs.len());
}

/// Samples of two sources take turns: whichever takes the next one, an activation is the same.
#[test]
fn of_a_random_walk_with_two_sources() {
    if !timers_are_listed() {
        return;
    }
    let workshop = Workshop::new("edges_two_sources");
    workshop.compile(&format!("{GCC} -O2"));
    let words = ["./program", "9", "3", "4000", "return"];
    let recording = check(&workshop, &["-e", "realtime@10s"], &words);
    // The main thread takes no samples.
    for thread in (1..recording.profile.threads.len()).map(ThreadId::from_index) {
        let [first, second] = [0, 1].map(|metric| recording.profile.share(thread, metric).recorded);
        // The timers might have sent one more each, before they were stopped.
        assert!(first.abs_diff(second) <= 2 && first > 100, "{first}, {second}");
    }
}

/// A sample that comes while the trampoline runs is one of the place to which it returns, whichever
/// of its instructions it meets; and the return is counted.
#[test]
fn of_returns_that_a_sample_interrupts() {
    if !timers_are_listed() {
        return;
    }
    let (rounds, rows) = single_step("sample");
    let interrupted = rows.at(&["rounds", "round_of_steps"]);
    assert_eq!((interrupted.exclusive, interrupted.edges), (rounds - 1, Some(rounds)), "{rows}");
    let stepped = rows.at(&["round_of_steps", "stepped"]);
    assert_eq!((stepped.exclusive, stepped.edges), (rounds, Some(rounds)), "{rows}");
    assert_eq!(rows.inclusive_of("rounds"), 2 * rounds - 1);
}

/// As above, with a handler of the program in between, which the sample meets.
#[test]
fn of_returns_that_a_handler_interrupts() {
    if !timers_are_listed() {
        return;
    }
    let (rounds, rows) = single_step("nested");
    let interrupted = rows.at(&["rounds", "round_of_steps"]);
    assert_eq!((interrupted.exclusive, interrupted.edges), (0, Some(rounds)), "{rows}");
    assert_eq!(interrupted.inclusive, 2 * rounds - 1, "{rows}");
    let stepped = rows.at(&["round_of_steps", "stepped"]);
    assert_eq!((stepped.exclusive, stepped.edges), (rounds, Some(rounds)), "{rows}");
}

/// The parent counts its returns; the child comes to the end of what it interrupted, and counts
/// nothing of its parent's.
#[test]
fn of_returns_that_a_fork_interrupts() {
    if !timers_are_listed() {
        return;
    }
    let (rounds, rows) = single_step("fork");
    let stepped = rows.at(&["round_of_steps", "stepped"]);
    assert_eq!((stepped.exclusive, stepped.edges), (rounds, Some(rounds)), "{rows}");
    assert_eq!(rows.at(&["rounds", "round_of_steps"]).edges, Some(rounds), "{rows}");
}

/// A backtrace in the middle of a return shows the caller.
#[test]
fn of_returns_that_a_backtrace_interrupts() {
    if !timers_are_listed() {
        return;
    }
    let (rounds, rows) = single_step("trace");
    assert_eq!(rows.at(&["round_of_steps", "stepped"]).exclusive, rounds, "{rows}");
}

/// Either the return had been counted, or it never happens.
#[test]
fn of_returns_that_a_jump_interrupts() {
    if !timers_are_listed() {
        return;
    }
    let (rounds, rows) = single_step("jump");
    let stepped = rows.at(&["round_of_steps", "stepped"]);
    assert_eq!(stepped.exclusive, rounds, "{rows}");
    assert!((2..rounds).contains(&stepped.edges.unwrap()), "{rows}");
    // The last round ends without a jump.
    assert_eq!(rows.at(&["rounds", "round_of_steps"]).edges, Some(1), "{rows}");
}

/// Rounds of the program, and its tree. It has found its registers as they were.
fn single_step(what: &str) -> (u64, Rows) {
    let workshop = Workshop::new(&format!("edges_step_{what}"));
    workshop.compile("cc -g -O2 -o program @single_step.c -ldl");
    let recording = workshop.record(&UNDISTURBED, &["./program", what]);
    let said = recording.outcome.said();
    let instructions = said.trim_end().strip_suffix(" instructions, 0 wrong");
    let instructions: u64 = instructions.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    assert!(instructions > 40, "{said}");
    let samples = recording.samples();
    assert_eq!((samples.recorded, samples.partial), (samples.delivered, 0));
    (instructions + 1, recording.rows())
}

/// Whether a program can find the timer for which it stands in.
fn timers_are_listed() -> bool {
    let listed = Path::new("/proc/self/timers").exists();
    if !listed {
        skip("edge counts", "no /proc/self/timers (CONFIG_CHECKPOINT_RESTORE)");
    }
    listed
}

/// The programs stop the timer long before its first sample is due, and take samples themselves.
const UNDISTURBED: [&str; 2] = ["-e", "cputime@10s"];

/// An unwinder in the program itself tells nobody where an exception goes on. What returns is then
/// not always seen, but nothing is counted that did not return.
#[test]
fn with_a_static_unwinder_are_never_too_high() {
    if !timers_are_listed() {
        return;
    }
    let workshop = Workshop::new("edges_static");
    workshop.compile(&format!("{GCC} -O2 -static-libgcc -static-libstdc++"));
    let (recording, happened, sampled) =
        record(&workshop, &[], &["./program", "8", "1", "3000", "return"]);
    let counted = paths_of(&recording.profile);
    for (path, &(samples, returns)) in &happened {
        let (counted_samples, counted_returns) = counted.get(path).copied().unwrap_or_default();
        assert_eq!(counted_samples, samples, "{path}");
        assert!(counted_returns <= returns, "{path}: {counted_returns} of {returns}");
    }
    let returned: u64 = counted.values().map(|(_, returns)| returns).sum();
    let lost: u64 = recording.profile.threads.iter().map(|thread| thread.lost_returns).sum();
    assert!(returned > 0 && returned + lost <= sampled.sampled, "{returned}, {lost}, {sampled:?}");
}

fn check(workshop: &Workshop, options: &[&str], words: &[&str]) -> Recording {
    let (recording, happened, sums) = record(workshop, options, words);
    let counted = paths_of(&recording.profile);
    let differ: Vec<String> = counted
        .keys()
        .chain(happened.keys())
        .filter(|path| counted.get(*path) != happened.get(*path))
        .map(|path| format!("{path}: {:?}, not {:?}", counted.get(path), happened.get(path)))
        .collect();
    assert!(
        differ.is_empty(),
        "{words:?}: (samples, returns) of {} paths differ: {:#?}",
        differ.len(),
        &differ[..differ.len().min(10)]
    );
    let threads = &recording.profile.threads;
    let lost: u64 = threads.iter().map(|thread| thread.lost_returns).sum();
    assert_eq!(lost, sums.lost, "{words:?}: lost returns");
    assert_eq!(recording.info["edges"]["mode"], "every-return");
    recording
}

/// What the program says of all its activations.
#[derive(Debug)]
struct Sums {
    /// Those that were in a sample.
    sampled: u64,
    /// Those of them that were left without returning.
    lost: u64,
}

/// Records the program, and reads what it says happened.
fn record(workshop: &Workshop, options: &[&str], words: &[&str]) -> (Recording, Paths, Sums) {
    let recording = workshop.record(&[&UNDISTURBED, options].concat(), words);
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    let said = recording.outcome.said();
    let (paths, sums) = said.trim_end().rsplit_once('\n').unwrap();
    let mut sums = sums.split(' ').filter_map(|word| word.parse().ok());
    let mut next = || sums.next().unwrap();
    let (samples, sampled, lost): (u64, u64, u64) = (next(), next(), next());
    // The timer might have sent one more, before it was stopped.
    assert!(recording.samples().recorded >= samples);
    (recording, paths.lines().map(model_path).collect(), Sums { sampled, lost })
}

/// What the program says of one path: `walk/plain_a 3 1`.
fn model_path(line: &str) -> (String, (u64, u64)) {
    let mut words = line.rsplitn(3, ' ');
    let mut number = || words.next().unwrap().parse().unwrap();
    let (returns, samples) = (number(), number());
    (words.next().unwrap().to_owned(), (samples, returns))
}

/// The call paths below `walk`, by names of functions, over all threads and epochs; but not what
/// a timer sampled while the program stopped it.
fn paths_of(profile: &Profile) -> Paths {
    let nodes = &profile.nodes;
    let mut names: Vec<Option<String>> = Vec::with_capacity(nodes.len());
    let mut paths = Paths::new();
    for node in 0..nodes.len() {
        let function = profile.sites.rows(nodes.frame[node]).next_back().map(|row| {
            let function = profile.sites.function[row];
            &*profile.strings[profile.functions[function.index()].name.index()]
        });
        let parent = nodes.parent[node] as usize;
        let above = names.get(parent).cloned().flatten();
        let name = match (above, function) {
            (None, Some("walk")) => Some("walk".to_owned()),
            (None, _) => None,
            (_, Some(name)) if name.starts_with("take_over(") => None,
            (Some(above), function) => Some(format!("{above}/{}", function.unwrap_or("?"))),
        };
        if let Some(name) = &name {
            let path = paths.entry(name.clone()).or_default();
            path.0 += nodes.samples[node];
            path.1 += nodes.edges[node];
        }
        names.push(name);
    }
    paths
}
