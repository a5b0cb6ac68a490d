//! Edge counts against programs that count their own activations: for every call path, what csprof
//! shows is what happened, to the last return.

use std::collections::BTreeMap;

use csprof_format::profile::Profile;
use csprof_tests::installed::are_installed;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// What is known of each call path, from `walk` on: samples that ended there, returns.
type Paths = BTreeMap<String, (u64, u64)>;

const GCC: &str = "c++ -g -std=c++17 -pthread -o program @edge_model.cpp -ldl";

#[test]
fn of_a_random_walk() {
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
    if are_installed("edge counts of clang's code", &["clang++"]) {
        let workshop = Workshop::new("edges_clang");
        workshop.compile(&GCC.replace("c++ ", "clang++ -O2 "));
        check(&workshop, &[], &["./program", "4", "3", "4000", "return"]);
    }
}

#[test]
fn of_threads_that_exit_deep_down() {
    let workshop = Workshop::new("edges_thread");
    workshop.compile(&format!("{GCC} -O2"));
    check(&workshop, &[], &["./program", "5", "3", "3000", "thread"]);
}

#[test]
fn of_a_process_that_exits_deep_down() {
    let workshop = Workshop::new("edges_exit");
    workshop.compile(&format!("{GCC} -O2"));
    check(&workshop, &[], &["./program", "6", "0", "3000", "exit"]);
}

#[test]
fn through_epochs() {
    let workshop = Workshop::new("edges_epochs");
    workshop.compile(&format!("{GCC} -O2"));
    workshop.compile("c++ -g -O2 -shared -fPIC -o library.so @edge_library.cpp");
    let words = ["./program", "7", "2", "4000", "return", "./library.so"];
    let recording = check(&workshop, &["--epoch-per-load"], &words);
    assert!(recording.profile.epochs.len() > 3, "{}", recording.profile.epochs.len());
}

fn check(workshop: &Workshop, options: &[&str], words: &[&str]) -> Recording {
    // The timer is stopped long before its first sample is due.
    let recording = workshop.record(&[&["-e", "cputime@10s"], options].concat(), words);
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    let said = recording.outcome.said();
    let (paths, sums) = said.trim_end().rsplit_once('\n').unwrap();
    let happened: Paths = paths.lines().map(model_path).collect();
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
    assert!(sums.ends_with(&format!(" lost {lost}")), "{words:?}: {lost} lost, not {sums}");
    assert_eq!(recording.info["edges"]["mode"], "every-return");
    recording
}

/// What the program says of one path: `walk/plain_a 3 1`.
fn model_path(line: &str) -> (String, (u64, u64)) {
    let mut words = line.rsplitn(3, ' ');
    let mut number = || words.next().unwrap().parse().unwrap();
    let (returns, samples) = (number(), number());
    (words.next().unwrap().to_owned(), (samples, returns))
}

/// The call paths below `walk`, by names of functions, over all threads and epochs.
fn paths_of(profile: &Profile) -> Paths {
    let nodes = &profile.nodes;
    let mut names: Vec<Option<String>> = Vec::with_capacity(nodes.len());
    let mut paths = Paths::new();
    for node in 0..nodes.len() {
        let function = profile.sites.rows(nodes.frame[node]).next_back().map(|row| {
            let function = profile.sites.function[row];
            profile.strings[profile.functions[function.index()].name.index()].as_str()
        });
        let parent = nodes.parent[node] as usize;
        let above = names.get(parent).cloned().flatten();
        let name = match (above, function) {
            (None, Some("walk")) => Some("walk".to_owned()),
            (None, _) => None,
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
